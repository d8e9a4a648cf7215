#pragma once
// The tensor-expression language: what is computed, without a word on how.
//
//     Tensor a = placeholder("a", {m, k}, f32), b = placeholder("b", {k, n}, f32, Constant);
//     Axis r = reduce_axis(k, "r");
//     Tensor c = compute("c", {m, n}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
//     Program p = program("matmul", {a, b}, {c});
//
// `compute` gives every element of a tensor as an expression of its position: one loop a dimension round one
// block. The result of its lambda is an expression; a reduction; or a tuple or vector of expressions, which
// makes several tensors over one domain. A reduction is a type of its own and cannot be a part of an
// expression: `sum(…) / n` does not compile. Give the sum a compute of its own and divide in a second one; a
// schedule can fuse the two.
//
// Elements   Any data type; sums accumulate in the type of their expression: for an f16 or i8 product summed
// in f32 or i32, cast the factors. Index arithmetic has index_type; cast it to make it data.
// Extents    Integers, `size("n")` variables (parameters of the program, known at run time), and arithmetic
// of them. 0 is allowed.
// Errors     UserError LTH-D…, thrown by the call that is wrong, with the line of that call.

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lathe/program.h"

namespace lathe {

/// The role of a placeholder that is the same at every call (weights); a schedule may lay it out anew.
inline constexpr ParamRole Constant = ParamRole::Constant;

// ---- Tensors

/// A parameter or the result of a compute. Copies are the same tensor.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Buffer buffer) : buffer_(std::move(buffer)) {}

  bool defined() const { return buffer_.defined(); }
  const std::string& name() const { return buffer_->name; }
  DataType dtype() const { return buffer_->dtype; }
  /// Elements in each dimension.
  const std::vector<Expr>& shape() const { return buffer_->shape; }
  int rank() const { return buffer_->rank(); }
  const Buffer& buffer() const { return buffer_; }
  bool same_as(const Tensor& other) const { return buffer_.same_as(other.buffer_); }

  /// The element at a position: one index a dimension (LTH-D004), of an integer type (LTH-D002).
  Expr operator()(std::vector<Expr> indices, Site site = Site::current()) const;
  /// A template, so that a braced list means expressions.
  template <std::same_as<Var> V>
  Expr operator()(const std::vector<V>& indices, Site site = Site::current()) const {
    return at({indices.begin(), indices.end()}, site);
  }
  Expr operator()(Site site = Site::current()) const { return at({}, site); }
  Expr operator()(Expr a, Site site = Site::current()) const { return at({a}, site); }
  Expr operator()(Expr a, Expr b, Site site = Site::current()) const { return at({a, b}, site); }
  Expr operator()(Expr a, Expr b, Expr c, Site site = Site::current()) const { return at({a, b, c}, site); }
  Expr operator()(Expr a, Expr b, Expr c, Expr d, Site site = Site::current()) const {
    return at({a, b, c, d}, site);
  }
  Expr operator()(Expr a, Expr b, Expr c, Expr d, Expr e, Site site = Site::current()) const {
    return at({a, b, c, d, e}, site);
  }
  Expr operator()(Expr a, Expr b, Expr c, Expr d, Expr e, Expr f, Site site = Site::current()) const {
    return at({a, b, c, d, e, f}, site);
  }
  Expr operator()(Expr a, Expr b, Expr c, Expr d, Expr e, Expr f, Expr g, Site site = Site::current()) const {
    return at({a, b, c, d, e, f, g}, site);
  }
  Expr operator()(Expr a, Expr b, Expr c, Expr d, Expr e, Expr f, Expr g, Expr h,
                  Site site = Site::current()) const {
    return at({a, b, c, d, e, f, g, h}, site);
  }

 private:
  Expr at(std::vector<Expr> indices, Site site) const;
  Buffer buffer_;
};

/// A scalar parameter of index_type, >= 0, known at run time, for use in shapes and expressions.
Var size(std::string name);

/// A tensor that the caller of the program gives. `role` is Input or Constant.
Tensor placeholder(std::string name, std::vector<Expr> shape, DataType dtype,
                   ParamRole role = ParamRole::Input, Site site = Site::current());

/// x at `indices` where they are inside x, else `otherwise` (a literal takes x's type). Nothing is read
/// outside.
Expr if_inside(const Tensor& x, std::vector<Expr> indices, Expr otherwise, Site site = Site::current());

/// x with `before[d]` and `after[d]` more elements at the ends of dimension d, which have the value `value`.
Tensor pad(const Tensor& x, std::vector<Expr> before, std::vector<Expr> after, Expr value,
           std::string name = "padded", Site site = Site::current());

/// max(x, 0) in x's type; NaN stays NaN.
Expr relu(Expr x, Site site = Site::current());
/// min(max(x, low), high); NaN stays NaN.
Expr clamp(Expr x, Expr low, Expr high, Site site = Site::current());

// ---- Reductions

/// A variable of a reduction, ranging over 0 .. extent. It may serve any number of reductions.
class Axis : public Var {
 public:
  Axis() = default;
  explicit Axis(const VarNode* node) : Var(node) {}
  const Expr& extent() const;
};
Axis reduce_axis(Expr extent, std::string name = "r", Site site = Site::current());

/// What may be said of a reduction besides its axes.
struct ReduceOptions {
  Expr where = {};                 ///< Bool; elements for which it is false are left out (and not evaluated)
  std::vector<Expr> initial = {};  ///< values to begin with instead of the reducer's identity
};
inline ReduceOptions where(Expr condition) { return {std::move(condition), {}}; }
inline ReduceOptions initial(Expr value) { return {{}, {std::move(value)}}; }

/// A reduction as written. `compute` turns it into a block; nothing else can be done with it.
struct ReductionSpec {
  Reducer reducer;
  std::vector<Expr> values;
  std::vector<Axis> axes;
  ReduceOptions options;
  Site site;
};

/// A reduction to N values (AnyNumber: known at run time). Not an Expr: to go on computing with its result,
/// give it a compute of its own and use the resulting tensor.
inline constexpr int AnyNumber = -1;
template <int N>
struct Reductions {
  ReductionSpec spec;
};
using Reduction = Reductions<1>;

// So that a compiler's message says what to do.
#define LATHE_NO_OPERATOR(op)                                                                        \
  template <int N, class T>                                                                          \
  void operator op(const Reductions<N>& give_the_reduction_a_compute_of_its_own, const T&) = delete; \
  template <class T, int N>                                                                          \
  void operator op(const T&, const Reductions<N>& give_the_reduction_a_compute_of_its_own) = delete
LATHE_NO_OPERATOR(+);
LATHE_NO_OPERATOR(-);
LATHE_NO_OPERATOR(*);
LATHE_NO_OPERATOR(/);
#undef LATHE_NO_OPERATOR

using Axes = std::initializer_list<Axis>;

// Each also takes its axes as a std::vector<Axis>.
#define LATHE_REDUCTIONS(X) X(sum, 1) X(prod, 1) X(min, 1) X(max, 1) X(argmin, 2) X(argmax, 2)
#define X(name, n)                                                                    \
  Reductions<n> name(Expr value, std::vector<Axis> axes, ReduceOptions options = {},  \
                     Site site = Site::current());                                    \
  inline Reductions<n> name(Expr value, Axes axes, ReduceOptions options = {},        \
                            Site site = Site::current()) {                            \
    return name(std::move(value), std::vector<Axis>(axes), std::move(options), site); \
  }
// sum, prod     in the type of `value`; from 0, from 1.
// min, max      NaN wins, as in lathe/expr.h; from the type's largest and lowest value (floats: +inf, -inf).
// argmin, argmax   the value, and its position as i64: over several axes the row-major one, in the order of
//   the axes given. Of equal values the smallest position wins, whatever order the schedule takes; a NaN
//   beats every number, and the first NaN the others (as in NumPy); -0 and +0 are equal. Over no elements:
//   the identity of min or max, and the largest i64.
LATHE_REDUCTIONS(X)
#undef X

struct ReducerProperties {
  bool associative = false, commutative = false;
};
using Values = std::vector<Expr>;
/// Declares a way to combine n-tuples. `combine` maps (a: so far, b: new) to the n new values; `identity` is
/// what combine(identity, b) = b holds for. Properties that are not declared forbid the schedules that need
/// them: rfactor, reordering of reduce loops, parallel reductions.
Reducer reducer(std::string name, std::vector<DataType> dtypes,
                const std::function<Values(const Values& a, const Values& b)>& combine, Values identity,
                ReducerProperties properties = {}, Site site = Site::current());
/// The same for one value: `combine` maps two expressions to one.
template <class F>
requires std::is_invocable_r_v<Expr, F, Expr, Expr> Reducer reducer(std::string name, DataType dtype,
                                                                    F combine, Expr identity,
                                                                    ReducerProperties properties = {},
                                                                    Site site = Site::current()) {
  auto tuple = [&](const Values& a, const Values& b) { return Values{combine(a[0], b[0])}; };
  return reducer(std::move(name), std::vector<DataType>{dtype}, tuple, Values{std::move(identity)},
                 properties, site);
}

/// Reduces `values`, one for each value of the reducer, over `axes`.
Reductions<AnyNumber> reduce(const Reducer& reducer, Values values, std::vector<Axis> axes,
                             ReduceOptions options = {}, Site site = Site::current());
template <std::size_t N>
Reductions<static_cast<int>(N)> reduce(const Reducer& reducer, const Expr (&values)[N], Axes axes,
                                       ReduceOptions options = {}, Site site = Site::current()) {
  return {
      reduce(reducer, Values(values, values + N), std::vector<Axis>(axes), std::move(options), site).spec};
}

// ---- Computes

/// What the lambda of a compute returned.
struct ComputeResult {
  std::vector<Expr> values;
  std::vector<ReductionSpec> reduction;  ///< one, or none
};

namespace detail {

std::vector<Var> index_variables(const std::string& name, std::vector<Expr>& shape,
                                 const std::vector<std::string>& loop_names, Site site);
std::vector<Tensor> finish_compute(std::string name, std::vector<Expr> shape, std::vector<Var> indices,
                                   ComputeResult result, Site site);
[[noreturn]] void wrong_lambda(const std::string& name, std::size_t rank, const std::string& takes,
                               Site site);

template <class T>
struct Outcome;  // how a lambda's result becomes tensors
template <std::convertible_to<Expr> T>
struct Outcome<T> {
  static ComputeResult take(T value) { return {{Expr(std::move(value))}, {}}; }
  static Tensor give(std::vector<Tensor> tensors) { return tensors[0]; }
};
template <>
struct Outcome<Reduction> {
  static ComputeResult take(Reduction r) { return {{}, {std::move(r.spec)}}; }
  static Tensor give(std::vector<Tensor> tensors) { return tensors[0]; }
};
template <int N>
requires(N > 1) struct Outcome<Reductions<N>> {
  static ComputeResult take(Reductions<N> r) { return {{}, {std::move(r.spec)}}; }
  static std::array<Tensor, N> give(std::vector<Tensor> tensors) {
    std::array<Tensor, N> out;
    std::move(tensors.begin(), tensors.end(), out.begin());
    return out;
  }
};
template <>
struct Outcome<Reductions<AnyNumber>> {
  static ComputeResult take(Reductions<AnyNumber> r) { return {{}, {std::move(r.spec)}}; }
  static std::vector<Tensor> give(std::vector<Tensor> tensors) { return tensors; }
};
template <>
struct Outcome<std::vector<Expr>> {
  static ComputeResult take(std::vector<Expr> values) { return {std::move(values), {}}; }
  static std::vector<Tensor> give(std::vector<Tensor> tensors) { return tensors; }
};
/// std::tuple, std::pair and std::array of expressions.
template <class T>
requires requires { std::tuple_size<T>::value; }
struct Outcome<T> {
  static constexpr std::size_t N = std::tuple_size_v<T>;
  static ComputeResult take(T values) {
    return std::apply([](auto&&... e) { return ComputeResult{{Expr(e)...}, {}}; }, std::move(values));
  }
  static std::array<Tensor, N> give(std::vector<Tensor> tensors) {
    std::array<Tensor, N> out;
    std::move(tensors.begin(), tensors.end(), out.begin());
    return out;
  }
};

constexpr std::size_t MaxArity = 8;
template <std::size_t>
using VarAt = Var;
template <class F, std::size_t... I>
constexpr bool takes_vars(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, VarAt<I>...>;
}
template <class F, std::size_t N>
inline constexpr bool Takes = takes_vars<F>(std::make_index_sequence<N>());
template <class F, std::size_t... I>
auto call_vars(F& f, const std::vector<Var>& vars, std::index_sequence<I...>) {
  return f(vars[I]...);
}

/// The result type of the first form of call that F has.
template <class F, std::size_t N = 0>
auto result_of() {
  if constexpr (N > MaxArity) {
    static_assert(std::is_invocable_v<F&, const std::vector<Var>&>,
                  "the lambda of a compute takes 0 to 8 Vars, or one const std::vector<Var>&");
    return std::type_identity<std::decay_t<std::invoke_result_t<F&, const std::vector<Var>&>>>();
  } else if constexpr (Takes<F, N>) {
    using R = decltype(call_vars(std::declval<F&>(), std::declval<const std::vector<Var>&>(),
                                 std::make_index_sequence<N>()));
    return std::type_identity<std::decay_t<R>>();
  } else {
    return result_of<F, N + 1>();
  }
}

template <class F, std::size_t N = 0>
ComputeResult call_lambda(F& f, const std::vector<Var>& vars, const std::string& name, std::string takes,
                          Site site) {
  using Result = typename decltype(result_of<F>())::type;
  if constexpr (N > MaxArity) {
    if constexpr (!Takes<F, 1> && std::is_invocable_v<F&, const std::vector<Var>&>) {
      return Outcome<Result>::take(f(vars));
    } else {
      wrong_lambda(name, vars.size(), takes, site);
    }
  } else {
    if constexpr (Takes<F, N>) {
      if (vars.size() == N) {
        return Outcome<Result>::take(call_vars(f, vars, std::make_index_sequence<N>()));
      }
      takes += (takes.empty() ? "" : " or ") + std::to_string(N);
    }
    return call_lambda<F, N + 1>(f, vars, name, std::move(takes), site);
  }
}

}  // namespace detail

/// A tensor of extents `shape` whose element at (i, j, …) is f(i, j, …). f takes one Var a dimension (up to
/// 8), or all of them as `const std::vector<Var>&`, and is called once. It returns
///   an expression or a reduction with one value:  the result is a Tensor, called `name`;
///   a tuple, pair or array of N expressions, or a reduction with N values (argmax):  std::array<Tensor, N>;
///   a std::vector<Expr>, or a reduction with a number of values known at run time:  std::vector<Tensor>.
/// Several tensors are called name_0, name_1, …  Loops are called i, j, k, l, i4, … unless `loop_names` says
/// otherwise (C++ does not tell the names of the lambda's parameters).
template <class F>
auto compute(std::string name, std::vector<Expr> shape, F&& f, std::vector<std::string> loop_names = {},
             Site site = Site::current()) {
  using Function = std::remove_reference_t<F>;
  using Result = typename decltype(detail::result_of<Function>())::type;
  static_assert(
      requires { &detail::Outcome<Result>::take; },
      "the lambda of a compute returns an Expr, a reduction, or a tuple or vector of Exprs");
  std::vector<Var> indices = detail::index_variables(name, shape, loop_names, site);
  ComputeResult result = detail::call_lambda<Function>(f, indices, name, "", site);
  return detail::Outcome<Result>::give(
      detail::finish_compute(std::move(name), std::move(shape), std::move(indices), std::move(result), site));
}

// ---- Programs

/// An input of a program: a placeholder or a size.
struct ProgramInput {
  Tensor tensor;
  Var size;
  ProgramInput(Tensor t) : tensor(std::move(t)) {}
  ProgramInput(Var s) : size(std::move(s)) {}
};

/// The program that computes `outputs`, with the parameters `inputs` and then `outputs`, in this order. It
/// holds the computes that the outputs need, each after what it reads; inputs need not be used. Parameters,
/// intermediates and blocks whose names clash get the names x, x_1, … Errors: a placeholder or size that is
/// used but not listed, anything listed twice, an output that is a placeholder (LTH-D008, LTH-D009).
Program program(std::string name, std::vector<ProgramInput> inputs, std::vector<Tensor> outputs,
                Site site = Site::current());

/// The block of `program` that computes `tensor`, and the buffer that holds it; undefined when the program,
/// made by the function above, does not have it. The label stays valid through all scheduling.
Label label_of(const Program& program, const Tensor& tensor);
Buffer buffer_of(const Program& program, const Tensor& tensor);

}  // namespace lathe
