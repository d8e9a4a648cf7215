#pragma once
// Expressions.
//
// Numbers.  `index_type` values do not overflow (an overflow is an error that the interpreter reports) and
//   divide by floor.
//   Data integers wrap at their width. Truncating and floor division are separate operators with a defined
//   result: x / 0 = 0, x % 0 = 0 (both kinds), INT_MIN / -1 = INT_MIN, INT_MIN % -1 = 0, in simplifier,
//   interpreter and code alike. A shift by the width or more gives 0 (or the sign for an arithmetic right
//   shift). Floats are IEEE 754; Min and Max propagate NaN and order -0 below +0. A float-to-integer cast
//   truncates and saturates, NaN gives 0; an integer-to-integer cast wraps. A Bool is 0 or 1; bool + bool is
//   refused (use ||).
// Select   evaluates the condition and then only the taken side, lane by lane: a load or a division on the
//   side not taken does not happen. And and Or evaluate their right side only when it decides.
// Literals in C++ expressions are weak: they take the type of the other operand (`x * 2`, `max(x, 0.f)`).
//   Two values of different types never mix: cast one.
// Depth    of an expression that a compute takes: kMaxExprDepth at most; a longer chain is refused (LTH-D013). Passes and
//   rules walk expressions recursively, and may make them somewhat deeper.
//
// Operators on expressions: + - * / % and comparisons as in C++, with these meanings of / and %:
//   index_type: floor;  data integers: truncating, as in C;  floats: division (% is refused).

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lathe/dtype.h"
#include "lathe/error.h"
#include "lathe/ref.h"

namespace lathe {

/// Every kind of expression node, in the order of ExprKind. Visitors are made from this list.
#define LATHE_EXPR_KINDS(X) \
  X(IntImm) X(FloatImm) X(Var) X(Binary) X(Not) X(Cast) X(Select) X(Load) X(Call) X(Ramp) X(Broadcast)

enum class ExprKind : std::uint8_t {
#define X(name) name,
  LATHE_EXPR_KINDS(X)
#undef X
};

inline constexpr int kMaxExprDepth = 500;

struct ExprNode : Node {
  ExprKind kind;
  DataType dtype;
  std::uint16_t depth = 0;  ///< of the operands below; no more than UINT16_MAX is told
  ExprNode(ExprKind k, DataType t) : kind(k), dtype(t) {}

 protected:
  /// Every operand passes through this.
  template <class E>
  void lies_on(const E& operand) {
    if (!operand.get()) return;
    const int below = operand.get()->depth;
    if (depth <= below) depth = static_cast<std::uint16_t>(below + (below < UINT16_MAX));
  }
  template <class E>
  void lies_on(const std::vector<E>& operands) {
    for (const E& e : operands) lies_on(e);
  }
};

/// A handle on an immutable expression. A default-constructed one is undefined.
class Expr : public Ref<ExprNode> {
 public:
  Expr() = default;
  Expr(std::nullptr_t) {}
  explicit Expr(const ExprNode* node) : Ref(node) {}
  /// Literals. An integer literal is of index_type, a float of f32, a double of f64, a bool of boolean, until
  /// an operator gives it the type of its other operand.
  template <std::integral T>
  Expr(T value) : Expr(literal(static_cast<std::int64_t>(value), std::same_as<T, bool>)) {}
  Expr(float value);
  Expr(double value);

  DataType dtype() const { return get()->dtype; }
  ExprKind kind() const { return get()->kind; }

  /// The node as a T, or null when it is of another kind.
  template <class T>
  const T* as() const {
    return get() && get()->kind == T::Kind ? static_cast<const T*>(get()) : nullptr;
  }

 private:
  static Expr literal(std::int64_t value, bool is_bool);
};

/// A literal of an integer type, index_type or Bool (u64 as its bit pattern). Always reduced to its width.
struct IntImm : ExprNode {
  static constexpr ExprKind Kind = ExprKind::IntImm;
  std::int64_t value;
  IntImm(DataType t, std::int64_t v) : ExprNode(Kind, t), value(v) {}
};

/// A literal of a float type; the value is already rounded to the type.
struct FloatImm : ExprNode {
  static constexpr ExprKind Kind = ExprKind::FloatImm;
  double value;
  FloatImm(DataType t, double v) : ExprNode(Kind, t), value(v) {}
};

/// A variable. Its identity is the node, its name is for people.
struct VarNode : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Var;
  std::string name;
  VarNode(std::string n, DataType t) : ExprNode(Kind, t), name(std::move(n)) {}
};

class Var : public Expr {
 public:
  Var() = default;
  explicit Var(std::string name, DataType type = index_type) : Expr(new VarNode(std::move(name), type)) {}
  explicit Var(const VarNode* node) : Expr(node) {}
  const VarNode* node() const { return static_cast<const VarNode*>(get()); }
  const VarNode* operator->() const { return node(); }
  const std::string& name() const { return node()->name; }
  /// A new variable of the same type.
  Var renamed(std::string name) const { return Var(std::move(name), dtype()); }
};

enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,       ///< floats: division; data integers: truncating (C). Never index_type.
  Mod,       ///< data integers: remainder of Div. Never index_type, never floats.
  FloorDiv,  ///< index_type and data integers
  FloorMod,  ///< index_type and data integers; has the sign of the divisor
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,  ///< operands of one type, result Bool
  And,
  Or  ///< operands and result Bool
};
/// Is the result Bool although the operands need not be?
constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }
/// "+", "floordiv", "min", …
const char* spelling(BinaryOp op);

struct Binary : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Binary;
  BinaryOp op;
  Expr a, b;
  Binary(BinaryOp o, Expr x, Expr y);
};

struct Not : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Not;
  Expr a;
  explicit Not(Expr x) : ExprNode(Kind, x.dtype()), a(std::move(x)) { lies_on(a); }
};

struct Cast : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Cast;
  Expr a;
  Cast(DataType to, Expr x) : ExprNode(Kind, to), a(std::move(x)) { lies_on(a); }
};

struct Select : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Select;
  Expr condition, if_true, if_false;
  Select(Expr c, Expr t, Expr f)
      : ExprNode(Kind, t.dtype()), condition(std::move(c)), if_true(std::move(t)), if_false(std::move(f)) {
    lies_on(condition);
    lies_on(if_true);
    lies_on(if_false);
  }
};

/// Where a buffer lives, and who sees it.
enum class Scope : std::uint8_t {
  Global,   ///< memory that every thread sees
  Shared,   ///< one instance a GPU block
  Local,    ///< one instance a thread; registers where indices are constant after unrolling
  Fragment  ///< tensor-core registers, distributed over a warp
};
const char* spelling(Scope scope);

/// A multi-dimensional array. Its identity is the node. Elements are addressed by one subscript a dimension.
struct BufferNode : Node {
  std::string name;
  DataType dtype;
  std::vector<Expr> shape;  ///< elements; index_type
  Scope scope = Scope::Global;
  std::vector<Expr> strides;  ///< elements a step of each dimension; empty means compact row-major
  int alignment = 64;         ///< bytes that the base address is a multiple of
  int rank() const { return static_cast<int>(shape.size()); }
};

class Buffer : public Ref<BufferNode> {
 public:
  Buffer() = default;
  Buffer(std::nullptr_t) {}
  explicit Buffer(const BufferNode* node) : Ref(node) {}
  Buffer(std::string name, DataType dtype, std::vector<Expr> shape, Scope scope = Scope::Global);
};

/// A read of one element (after vectorisation: of one element a lane).
struct Load : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Load;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr mask;  ///< Bool vector, only after vectorisation; undefined means all lanes. A lane that is off reads
              ///< nothing, gives 0.
  Load(Buffer b, std::vector<Expr> i, Expr m = {});
};

/// name, number of arguments, spelling. Argument and result types: see `call`.
// clang-format off
#define LATHE_INTRINSICS(X)                                                                                \
  /* float -> the same float */                                                                            \
  X(Exp, 1, "exp") X(Exp2, 1, "exp2") X(Expm1, 1, "expm1")                                                 \
  X(Log, 1, "log") X(Log2, 1, "log2") X(Log10, 1, "log10") X(Log1p, 1, "log1p")                            \
  X(Sin, 1, "sin") X(Cos, 1, "cos") X(Tan, 1, "tan") X(Asin, 1, "asin") X(Acos, 1, "acos")                 \
  X(Atan, 1, "atan") X(Atan2, 2, "atan2") X(Sinh, 1, "sinh") X(Cosh, 1, "cosh") X(Tanh, 1, "tanh")         \
  X(Erf, 1, "erf") X(Sigmoid, 1, "sigmoid") X(Sqrt, 1, "sqrt") X(Rsqrt, 1, "rsqrt") X(Pow, 2, "pow")       \
  X(Floor, 1, "floor") X(Ceil, 1, "ceil") X(Round, 1, "round") X(Trunc, 1, "trunc")                        \
  X(CopySign, 2, "copysign") X(FloatMod, 2, "fmod")                                                        \
  X(Fma, 3, "fma") /* a*b + c rounded once; made by lowering, or asked for */                              \
  /* float -> Bool */                                                                                      \
  X(IsNan, 1, "isnan") X(IsInf, 1, "isinf") X(IsFinite, 1, "isfinite")                                     \
  /* number -> the same number */                                                                          \
  X(Abs, 1, "abs")                                                                                         \
  /* integer -> the same integer */                                                                        \
  X(BitAnd, 2, "bitand") X(BitOr, 2, "bitor") X(BitXor, 2, "bitxor") X(BitNot, 1, "bitnot")                \
  X(ShiftLeft, 2, "shl") X(ShiftRight, 2, "shr") X(Popcount, 1, "popcount") X(CountLeadingZeros, 1, "clz") \
  /* any -> any of the same width */                                                                       \
  X(Reinterpret, 1, "reinterpret")                                                                         \
  /* vector -> its element */                                                                              \
  X(VectorSum, 1, "vsum") X(VectorProd, 1, "vprod") X(VectorMin, 1, "vmin") X(VectorMax, 1, "vmax")        \
  /* effects, used in Evaluate */                                                                          \
  X(Prefetch, 1, "prefetch") /* argument: a Load; its address is brought near, its value is not read */    \
  X(BarrierBlock, 0, "barrier_block") X(BarrierWarp, 0, "barrier_warp")                                    \
  X(Extern, -1, "extern") /* a user-declared function or tensor intrinsic, named by `symbol` */
// clang-format on

enum class Intrinsic : std::uint8_t {
#define X(name, arity, text) name,
  LATHE_INTRINSICS(X)
#undef X
};
const char* spelling(Intrinsic op);
int arity(Intrinsic op);  ///< -1: any
std::optional<Intrinsic> intrinsic_named(std::string_view text);
/// May the call be moved, repeated or dropped? (All but the effects and Extern.)
bool is_pure(Intrinsic op);

struct Call : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Call;
  Intrinsic op;
  std::vector<Expr> args;
  std::string symbol;  ///< Extern only
  Call(DataType t, Intrinsic o, std::vector<Expr> a, std::string s = {})
      : ExprNode(Kind, t), op(o), args(std::move(a)), symbol(std::move(s)) {
    lies_on(args);
  }
};

/// base, base + stride, … (lanes elements of an integral type). Made by vectorisation.
struct Ramp : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Ramp;
  Expr base, stride;
  Ramp(Expr b, Expr s, int lanes)
      : ExprNode(Kind, b.dtype().with_lanes(lanes)), base(std::move(b)), stride(std::move(s)) {
    lies_on(base);
    lies_on(stride);
  }
  int lanes() const { return dtype.lanes; }
};

/// One scalar in every lane.
struct Broadcast : ExprNode {
  static constexpr ExprKind Kind = ExprKind::Broadcast;
  Expr value;
  Broadcast(Expr v, int lanes) : ExprNode(Kind, v.dtype().with_lanes(lanes)), value(std::move(v)) {
    lies_on(value);
  }
  int lanes() const { return dtype.lanes; }
};

// ---- Making expressions. All check their operands and throw UserError (LTH-D…) at `site`.
// ------------------------

/// A literal of type `t` with the value, reduced to its width; for floats the nearest value.
Expr make_int(DataType t, std::int64_t value);
Expr make_float(DataType t, double value);
/// A literal of any type (vectors: broadcast).
Expr make_const(DataType t, double value);
/// An index_type literal.
inline Expr make_index(std::int64_t value) { return make_int(index_type, value); }
/// The value of an integer, index or Bool literal (broadcasts looked through).
std::optional<std::int64_t> as_int(const Expr& e);
inline bool is_int(const Expr& e, std::int64_t value) {
  auto v = as_int(e);
  return v && *v == value;
}
/// The node as a Binary of this operator, else null.
inline const Binary* as_binary(const Expr& e, BinaryOp op) {
  const Binary* b = e.as<Binary>();
  return b && b->op == op ? b : nullptr;
}

/// Converts weak literals, checks types, broadcasts a scalar against a vector, and builds the node; folds
/// nothing.
Expr binary(BinaryOp op, Expr a, Expr b, Site site = Site::current());
Expr cast(DataType t, Expr a, Site site = Site::current());
Expr select(Expr condition, Expr if_true, Expr if_false, Site site = Site::current());
Expr call(Intrinsic op, std::vector<Expr> args, Site site = Site::current());
Expr reinterpret(DataType t, Expr a, Site site = Site::current());
Expr load(Buffer buffer, std::vector<Expr> indices, Site site = Site::current());
Expr ramp(Expr base, Expr stride, int lanes);
Expr broadcast(Expr value, int lanes);
Expr logical_not(Expr a, Site site = Site::current());

/// An operand of an operator, with the line on which the operator stands: an operator has no room for a Site
/// of its own.
struct Operand {
  Expr expr;
  Site site;
  template <class T>
  requires std::convertible_to<T, Expr> Operand(T&& value, Site s = Site::current())
      : expr(std::forward<T>(value)), site(s) {}
};

inline Expr operator+(Operand a, Operand b) {
  return binary(BinaryOp::Add, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator-(Operand a, Operand b) {
  return binary(BinaryOp::Sub, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator*(Operand a, Operand b) {
  return binary(BinaryOp::Mul, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator/(Operand a, Operand b) {
  return binary(BinaryOp::Div, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator%(Operand a, Operand b) {
  return binary(BinaryOp::Mod, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator==(Operand a, Operand b) {
  return binary(BinaryOp::Eq, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator!=(Operand a, Operand b) {
  return binary(BinaryOp::Ne, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator<(Operand a, Operand b) {
  return binary(BinaryOp::Lt, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator<=(Operand a, Operand b) {
  return binary(BinaryOp::Le, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator>(Operand a, Operand b) {
  return binary(BinaryOp::Gt, std::move(a.expr), std::move(b.expr), a.site);
}
inline Expr operator>=(Operand a, Operand b) {
  return binary(BinaryOp::Ge, std::move(a.expr), std::move(b.expr), a.site);
}
Expr operator-(Operand a);
// By Expr, because the built-in operators take what converts to bool in a condition, and must not be as good.
inline Expr operator&&(Expr a, Expr b) { return binary(BinaryOp::And, std::move(a), std::move(b)); }
inline Expr operator||(Expr a, Expr b) { return binary(BinaryOp::Or, std::move(a), std::move(b)); }
inline Expr operator!(Expr a) { return logical_not(std::move(a)); }

inline Expr min(Expr a, Expr b, Site s = Site::current()) {
  return binary(BinaryOp::Min, std::move(a), std::move(b), s);
}
inline Expr max(Expr a, Expr b, Site s = Site::current()) {
  return binary(BinaryOp::Max, std::move(a), std::move(b), s);
}
inline Expr floordiv(Expr a, Expr b, Site s = Site::current()) {
  return binary(BinaryOp::FloorDiv, std::move(a), std::move(b), s);
}
inline Expr floormod(Expr a, Expr b, Site s = Site::current()) {
  return binary(BinaryOp::FloorMod, std::move(a), std::move(b), s);
}
inline Expr truncdiv(Expr a, Expr b, Site s = Site::current()) {
  return binary(BinaryOp::Div, std::move(a), std::move(b), s);
}
inline Expr truncmod(Expr a, Expr b, Site s = Site::current()) {
  return binary(BinaryOp::Mod, std::move(a), std::move(b), s);
}

inline Expr exp(Expr a, Site s = Site::current()) { return call(Intrinsic::Exp, {std::move(a)}, s); }
inline Expr exp2(Expr a, Site s = Site::current()) { return call(Intrinsic::Exp2, {std::move(a)}, s); }
inline Expr expm1(Expr a, Site s = Site::current()) { return call(Intrinsic::Expm1, {std::move(a)}, s); }
inline Expr log(Expr a, Site s = Site::current()) { return call(Intrinsic::Log, {std::move(a)}, s); }
inline Expr log2(Expr a, Site s = Site::current()) { return call(Intrinsic::Log2, {std::move(a)}, s); }
inline Expr log10(Expr a, Site s = Site::current()) { return call(Intrinsic::Log10, {std::move(a)}, s); }
inline Expr log1p(Expr a, Site s = Site::current()) { return call(Intrinsic::Log1p, {std::move(a)}, s); }
inline Expr sin(Expr a, Site s = Site::current()) { return call(Intrinsic::Sin, {std::move(a)}, s); }
inline Expr cos(Expr a, Site s = Site::current()) { return call(Intrinsic::Cos, {std::move(a)}, s); }
inline Expr tan(Expr a, Site s = Site::current()) { return call(Intrinsic::Tan, {std::move(a)}, s); }
inline Expr asin(Expr a, Site s = Site::current()) { return call(Intrinsic::Asin, {std::move(a)}, s); }
inline Expr acos(Expr a, Site s = Site::current()) { return call(Intrinsic::Acos, {std::move(a)}, s); }
inline Expr atan(Expr a, Site s = Site::current()) { return call(Intrinsic::Atan, {std::move(a)}, s); }
inline Expr atan2(Expr a, Expr b, Site s = Site::current()) {
  return call(Intrinsic::Atan2, {std::move(a), std::move(b)}, s);
}
inline Expr sinh(Expr a, Site s = Site::current()) { return call(Intrinsic::Sinh, {std::move(a)}, s); }
inline Expr cosh(Expr a, Site s = Site::current()) { return call(Intrinsic::Cosh, {std::move(a)}, s); }
inline Expr tanh(Expr a, Site s = Site::current()) { return call(Intrinsic::Tanh, {std::move(a)}, s); }
inline Expr erf(Expr a, Site s = Site::current()) { return call(Intrinsic::Erf, {std::move(a)}, s); }
inline Expr sigmoid(Expr a, Site s = Site::current()) { return call(Intrinsic::Sigmoid, {std::move(a)}, s); }
inline Expr sqrt(Expr a, Site s = Site::current()) { return call(Intrinsic::Sqrt, {std::move(a)}, s); }
inline Expr rsqrt(Expr a, Site s = Site::current()) { return call(Intrinsic::Rsqrt, {std::move(a)}, s); }
inline Expr pow(Expr a, Expr b, Site s = Site::current()) {
  return call(Intrinsic::Pow, {std::move(a), std::move(b)}, s);
}
inline Expr floor(Expr a, Site s = Site::current()) { return call(Intrinsic::Floor, {std::move(a)}, s); }
inline Expr ceil(Expr a, Site s = Site::current()) { return call(Intrinsic::Ceil, {std::move(a)}, s); }
/// To the nearest integer, halves to even.
inline Expr round(Expr a, Site s = Site::current()) { return call(Intrinsic::Round, {std::move(a)}, s); }
inline Expr trunc(Expr a, Site s = Site::current()) { return call(Intrinsic::Trunc, {std::move(a)}, s); }
inline Expr abs(Expr a, Site s = Site::current()) { return call(Intrinsic::Abs, {std::move(a)}, s); }
inline Expr fma(Expr a, Expr b, Expr c, Site s = Site::current()) {
  return call(Intrinsic::Fma, {std::move(a), std::move(b), std::move(c)}, s);
}
inline Expr isnan(Expr a, Site s = Site::current()) { return call(Intrinsic::IsNan, {std::move(a)}, s); }

}  // namespace lathe
