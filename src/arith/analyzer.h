#pragma once
// Integer analysis of `index_type` (and Bool) expressions: simplification, constant bounds, congruences,
// proofs.
//
// All of it rests on two facts of index_type alone: no overflow (a program whose index arithmetic overflows
// is in error, and the interpreter says so) and floor division. Data integers wrap, so they only get rules
// that hold modulo 2^n; floats only get constant folding in their own type and nothing that changes a bit. A
// constant whose computation would overflow is left unfolded. Work is limited in depth and steps: on very
// large expressions the answer is a weaker one, never a wrong one.

#include <cstdint>
#include <memory>
#include <optional>

#include "ir/visitor.h"

namespace lathe::arith {

/// min <= value <= max; the sentinels mean unbounded.
struct ConstBound {
  static constexpr std::int64_t kMinusInf = INT64_MIN, kPlusInf = INT64_MAX;
  std::int64_t min = kMinusInf, max = kPlusInf;
  bool is_const() const { return min == max && bounded(); }
  bool bounded() const { return min != kMinusInf && max != kPlusInf; }
};

/// value = coefficient * k + base for some integer k; 0 <= base < coefficient. coefficient 0: the constant
/// `base`. (1, 0): nothing is known.
struct ModularSet {
  std::int64_t coefficient = 1, base = 0;
};

class Simplifier;

class Analyzer {
 public:
  Analyzer();
  ~Analyzer();
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;

  /// `var` ranges over min .. min + extent. A second bind replaces the first.
  void bind(const Var& var, const Range& range);
  /// `var` in 0 .. extent.
  void bind_extent(const Var& var, const Expr& extent) { bind(var, {0, extent}); }
  /// `var` equals `value`.
  void bind_value(const Var& var, const Expr& value);
  /// `var` is a run-time size: >= 0.
  void bind_size(const Var& var);

  /// The condition holds until the returned guard dies. Guards die in reverse order.
  class [[nodiscard]] Assumption {
   public:
    Assumption(Assumption&& other) noexcept;
    ~Assumption();

   private:
    friend class Analyzer;
    Assumption(Analyzer* owner, std::size_t size);
    Analyzer* owner_;
    std::size_t size_;
  };
  Assumption assume(const Expr& condition);

  /// An equal expression, at best in canonical form: a sum of products sorted deterministically (not by
  /// address), div/mod reduced where ranges and congruences allow. Idempotent. Expressions of all types may
  /// be given; Loads, Calls and the rest are simplified inside.
  Expr simplify(const Expr& e);

  ConstBound bound(const Expr& e);
  ModularSet modular(const Expr& e);

  /// True only when `condition` (Bool) is proved for all values of its variables.
  bool can_prove(const Expr& condition);
  bool can_prove_equal(const Expr& a, const Expr& b);
  bool can_prove_ge(const Expr& e, std::int64_t low);   ///< e >= low
  bool can_prove_lt(const Expr& e, std::int64_t high);  ///< e < high

  /// What stands behind it, for the files of src/arith alone.
  Simplifier& simplifier();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `e` simplified without knowing anything of its variables.
Expr simplify(const Expr& e);
/// a * b, a + b, … of index_type with the obvious folding (0, 1, constants): what passes build indices with.
Expr add(const Expr& a, const Expr& b);
Expr sub(const Expr& a, const Expr& b);
Expr mul(const Expr& a, const Expr& b);
/// Conjunction; true operands vanish.
Expr conjunction(const Expr& a, const Expr& b);
/// The operands of a chain of &&, in order; empty for the literal true.
std::vector<Expr> conjuncts(const Expr& e);
/// ceil(a / b) for b > 0.
Expr ceil_div(const Expr& a, const Expr& b);
/// Product of all; 1 when empty.
Expr product(const std::vector<Expr>& factors);

/// e = sum of coefficient[i] * vars[i] + rest, where `rest` mentions none of `vars`; nothing when `e` is not
/// affine in them.
struct Affine {
  std::vector<std::int64_t> coefficients;
  Expr rest;
};
std::optional<Affine> affine(const Expr& e, const std::vector<Var>& vars);

}  // namespace lathe::arith
