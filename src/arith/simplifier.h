#pragma once
// What stands behind Analyzer: the knowledge about variables, and the rules.
//
// One class, because rules, bounds and proofs call each other; one file a concept:
//   knowledge.cpp          variables, ranges, assumptions
//   order.cpp              keys of atoms and their comparison
//   sum.cpp                arithmetic on sums, sums to expressions and back
//   bounds.cpp             constant bounds          modular.cpp   congruences       prove.cpp   sum >= 0 ?
//   simplify.cpp           dispatch by node
//   simplify_divmod.cpp    floordiv and floormod    simplify_cancel.cpp  c*(x//c) + x%c = x
//   simplify_minmax.cpp    simplify_compare.cpp     simplify_logic.cpp
//   simplify_select.cpp    simplify_data.cpp        (wrapping integers, floats, casts, vectors)
//
// Functions that may overflow 64 bits return false (or nothing) and leave the caller to keep the expression
// as it was.

#include <algorithm>
#include <vector>

#include "arith/sum.h"

namespace lathe::arith {

/// An affine inequality known to hold: sum >= 0.
struct Fact {
  Sum sum;
  std::vector<Expr> owned;       ///< keeps the atoms alive
  const VarNode* var = nullptr;  ///< the variable whose range this is, if it is one
};

class Simplifier {
 public:
  // ---- knowledge -----------------------------------------------------------------------------------------
  void bind(const Var& var, const Range& range);
  void bind_value(const Var& var, const Expr& value);
  void bind_size(const Var& var);
  /// The condition holds until `retract` is called with the returned mark.
  struct Mark {
    std::size_t facts, truths, undo;
  };
  Mark assume(const Expr& condition);
  Mark assume_simplified(const Expr& condition);
  void retract(const Mark& mark);

  // ---- questions. Each is one call from outside, or nested in one
  // -------------------------------------------
  /// Brackets a call from outside: forgets, at its end, the nodes kept and the variables met during it.
  class Session {
   public:
    explicit Session(Simplifier& s) : s_(s) { s_.open(); }
    ~Session() { s_.close(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    Simplifier& s_;
  };

  Expr simplify(const Expr& e);  ///< any type
  Sum sum_of(const Expr& e);     ///< scalar index_type: simplified, as a sum
  /// A simplified scalar index expression as a sum, atoms taken as they are.
  Sum read_sum(const Expr& e);
  ConstBound bound(const Sum& s);                ///< uses all facts
  ConstBound plain_bound(const Sum& s) const;    ///< intervals only
  ConstBound bound_of(const ExprNode* e) const;  ///< of a scalar index or Bool expression, by structure
  ModularSet modular(const Sum& s) const;
  ModularSet modular_of(const ExprNode* e) const;
  bool nonnegative(const Sum& s);  ///< proved that s >= 0
  bool nonzero(const Sum& s);      ///< proved that s != 0

  /// First value and (last - first) of a variable's range, where both ends are known.
  std::optional<std::pair<Sum, Sum>> range_of(const VarNode* v) const;

  // ---- sums ----------------------------------------------------------------------------------------------
  Sum atom(const Expr& e);  ///< keeps `e`
  Sum atom_with_key(const ExprNode* e, std::uint64_t key) const;
  Sum term(const Term& t) const { return atom_with_key(t.atom, t.key); }  ///< without its coefficient
  bool accumulate(Sum& into, const Sum& s, std::int64_t factor);
  bool add_term(Sum& into, Term t);
  std::optional<Sum> product(const Sum& a, const Sum& b, const Expr& hint = {});
  /// The expression; `hint` itself when that already has the canonical shape.
  Expr to_expr(const Sum& s, const Expr& hint = {});
  int compare(const Sum& a, const Sum& b) const;
  bool equal(const Sum& a, const Sum& b) const { return compare(a, b) == 0 && identical(a, b); }

  Sum floordiv(const Sum& s, std::int64_t c, const Expr& hint = {});
  Sum floormod(const Sum& s, std::int64_t c, const Expr& hint = {});
  Sum floordiv(const Sum& a, const Sum& b, const Expr& hint = {});
  Sum floormod(const Sum& a, const Sum& b, const Expr& hint = {});
  /// a = b*quotient + rest; false on overflow.
  bool divide_by_sum(const Sum& a, const Sum& b, Sum& quotient, Sum& rest);
  /// Cancels between the atoms of the sum.
  void cancel(Sum& s);
  Sum extremum(BinaryOp op, const Sum& a, const Sum& b, const Expr& hint = {});
  /// The condition s >= 0, s == 0 or s != 0 as a Bool expression.
  Expr nonnegative_condition(Sum s, const Expr& hint = {});
  Expr equality_condition(Sum s, BinaryOp op, const Expr& hint = {});
  /// For a simplified index comparison: the sum that is >= 0 exactly when it holds (Lt, Le, Gt, Ge).
  std::optional<Sum> as_nonnegative(const Expr& comparison);
  Expr negation(const Expr& condition);  ///< of a simplified condition

 private:
  friend class Session;

  struct Variable {
    const VarNode* node;
    Var owner;  ///< keeps the node alive while it is known here
    ConstBound bound;
    ModularSet modular;
    Expr value;  ///< what it equals, when that is known
  };
  struct Undo {
    std::uint32_t rank;
    ConstBound bound;
    ModularSet modular;
  };
  static constexpr std::uint32_t kNone = 0xffffff;

  void open();
  void close();

  std::uint32_t find(const VarNode* v) const;  ///< rank, or kNone
  std::uint32_t rank(const VarNode* v);        ///< enters it when it is new
  Variable& entry(const Var& v);               ///< enters it for good
  void forget_from(std::uint32_t first);
  void rehash();
  void drop_ranges(const VarNode* v);
  void add_fact(Sum s, std::vector<Fact>& to, const VarNode* var);
  void note(const Expr& conjunct);
  void note_nonnegative(const Sum& s);
  void note_equal(const Sum& s);
  void save(std::uint32_t rank);

  std::uint64_t key_of(const ExprNode* e);
  std::uint32_t min_rank(const ExprNode* e);
  std::uint32_t buffer_rank(const BufferNode* b) const;
  int compare_nodes(const ExprNode* a, const ExprNode* b, int depth) const;
  static bool identical(const Sum& a, const Sum& b);

  const ExprNode* keep(Expr e);
  Sum opaque(const Expr& e);  ///< an atom, whatever it is
  Sum binary_atom(BinaryOp op, const Sum& a, const Sum& b, const Expr& hint);
  const ExprNode* product_atom(const ExprNode* x, const ExprNode* y, const Expr& hint);
  Expr piece(const Term& t, std::int64_t magnitude);
  bool matches(const Sum& s, const Expr& hint) const;

  Sum sum_of_binary(const Binary& b, const Expr& self);
  Sum sum_of_select(const Select& s, const Expr& self);
  Sum floordiv_reduced(Sum rest, std::int64_t c, const Expr& hint);
  /// Splits rest = d*A + T where T stays in one bucket [d*j, d*j + d): gives A + j, T - d*j and d.
  struct Split {
    std::int64_t d;
    Sum high, low;
  };
  std::optional<Split> split_by_range(const Sum& rest, std::int64_t c);
  bool just_below_zero(const Sum& s, const Sum& b);
  bool wins(BinaryOp op, const Sum& x, const Sum& y);
  void collect_operands(BinaryOp op, const Sum& s, std::vector<Sum>& out);
  bool undo_exact_division(Sum& s);
  bool cancel_one_remainder(Sum& s);
  bool absorb_extremum(Sum& s);

  Expr simplify_compare(const Binary& b, const Expr& self);
  Expr simplify_junction(const Binary& b, const Expr& self);
  Expr join(BinaryOp op, const Expr& left, const Expr& right, const Expr& hint);
  Expr simplify_not(const Not& n, const Expr& self);
  Expr simplify_select(const Select& s, const Expr& self);
  Expr simplify_data(const Binary& b, const Expr& self);
  Expr simplify_vector(const Binary& b, const Expr& self);
  Expr simplify_cast(const Cast& c, const Expr& self);
  Expr simplify_load(const Load& l, const Expr& self);
  Expr simplify_call(const Call& c, const Expr& self);
  Expr known_truth(const Expr& condition);
  bool implied_by(const Expr& condition, const Expr& fact);

  bool prove(const Sum& s, int depth);
  bool prove_by_facts(const Sum& s, const std::vector<Fact>& facts, int depth);
  bool prove_by_factor(const Sum& s, int depth);
  bool prove_by_division(const Sum& s, int depth);
  bool prove_by_cases(const Sum& s, int depth);
  std::int64_t refine_high(const Sum& s, std::int64_t high) const;

  std::vector<Variable> variables_;   ///< by rank
  std::vector<std::uint32_t> slots_;  ///< open addressing: rank + 1, 0 is free
  std::uint32_t permanent_ = 0;       ///< variables below this rank stay between calls
  std::vector<Fact> ranges_, assumed_;
  std::vector<Expr> truths_;  ///< conditions assumed that are not affine inequalities
  std::vector<Undo> undo_;
  mutable std::vector<const BufferNode*> buffers_;
  std::vector<Expr> kept_;
  int sessions_ = 0, depth_ = 0, budget_ = 0;
  int steps_ = 0;  ///< left to the proof in progress; 0 when there is none
  static constexpr int kSteps = 20000, kVisits = 50000;
  mutable int visits_ = 0;  ///< nodes looked at in this session
  int impure_ = 0;          ///< calls with effects met so far: what contains one is not rearranged
};

}  // namespace lathe::arith
