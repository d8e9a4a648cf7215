#include "lathe/expr.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "ir/numbers.h"
#include "support/error_codes/te.h"

namespace lathe {

// ---- names
// -------------------------------------------------------------------------------------------------------

const char* spelling(BinaryOp op) {
  static const char* const names[] = {"+",  "-",  "*", "/",  "%", "floordiv", "floormod", "min", "max",
                                      "==", "!=", "<", "<=", ">", ">=",       "&&",       "||"};
  return names[static_cast<int>(op)];
}

const char* spelling(Scope scope) {
  static const char* const names[] = {"global", "shared", "local", "fragment"};
  return names[static_cast<int>(scope)];
}

namespace {

struct IntrinsicInfo {
  const char* text;
  int arity;
};
constexpr IntrinsicInfo kIntrinsics[] = {
#define X(name, arity, text) {text, arity},
    LATHE_INTRINSICS(X)
#undef X
};

[[noreturn]] void refuse(Code code, std::string text, Site site) {
  throw UserError(
      code, Message([=] { return text + "\n  at " + site.file_name() + ":" + std::to_string(site.line()); }));
}

bool is_literal(const Expr& e) { return e.kind() == ExprKind::IntImm || e.kind() == ExprKind::FloatImm; }

/// Gives the literal `e` the type `t`; refuses when the value has no representation there.
Expr convert_literal(const Expr& e, DataType t, Site site) {
  t = t.element();
  auto does_not_fit = [&](const std::string& value) {
    refuse(code::D003, "the literal " + value + " does not fit " + t.str(), site);
  };
  const auto rounded = [&](double value, const std::string& text) {
    if (std::isfinite(value) && !std::isfinite(round_to(t, value))) does_not_fit(text);
    return make_float(t, value);
  };
  if (const FloatImm* f = e.as<FloatImm>()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", f->value);
    if (!t.is_float()) does_not_fit(text);
    return rounded(f->value, text);
  }
  const std::int64_t value = e.as<IntImm>()->value;
  if (e.dtype().is_bool() != t.is_bool()) {
    refuse(code::D001, "operands of types " + e.dtype().str() + " and " + t.str() + " do not mix", site);
  }
  if (t.is_float()) return rounded(static_cast<double>(value), std::to_string(value));
  if (wrap_integer(t, value) != value || (t == u64 && value < 0)) does_not_fit(std::to_string(value));
  return make_int(t, value);
}

/// Brings two operands to one type: a literal takes the other's type (an integer literal that of a float
/// literal), a scalar is broadcast against a vector.
void unify(Expr& a, Expr& b, const char* what, Site site) {
  if (a.dtype().element() != b.dtype().element()) {
    const bool b_yields = is_literal(b) && !(is_literal(a) && b.dtype().is_float() && !a.dtype().is_float());
    if (b_yields) {
      b = convert_literal(b, a.dtype(), site);
    } else if (is_literal(a)) {
      a = convert_literal(a, b.dtype(), site);
    } else {
      const std::string left = a.dtype().str(), right = b.dtype().str();
      refuse(code::D001,
             std::string("operator ") + what + ": operands have types " + left + " and " + right +
                 "; cast one of them, for example cast(" + left + ", …)",
             site);
    }
  }
  const int lanes = std::max(a.dtype().lanes, b.dtype().lanes);
  if (a.dtype().lanes != lanes) a = broadcast(a, lanes);
  if (b.dtype().lanes != lanes) b = broadcast(b, lanes);
}

/// What passes may make of an expression of kMaxExprDepth.
constexpr int kDeepest = 4 * kMaxExprDepth;

void need_defined(const Expr& e, const char* what, Site site) {
  if (!e.defined()) refuse(code::D004, std::string(what) + ": an operand is an empty Expr", site);
  if (e.get()->depth < kDeepest) return;
  refuse(code::D013,
         std::string(what) + ": the operand is a chain of " + std::to_string(kDeepest) +
             " operations or more; sum with a reduction, or put parts into computes of their own",
         site);
}

}  // namespace

const char* spelling(Intrinsic op) { return kIntrinsics[static_cast<int>(op)].text; }
int arity(Intrinsic op) { return kIntrinsics[static_cast<int>(op)].arity; }

std::optional<Intrinsic> intrinsic_named(std::string_view text) {
  for (int i = 0; i < static_cast<int>(std::size(kIntrinsics)); ++i) {
    if (text == kIntrinsics[i].text) return static_cast<Intrinsic>(i);
  }
  return std::nullopt;
}

bool is_pure(Intrinsic op) { return op < Intrinsic::Prefetch; }

// ---- literals
// ----------------------------------------------------------------------------------------------------

Expr Expr::literal(std::int64_t value, bool is_bool) {
  return make_int(is_bool ? boolean : index_type, value);
}
Expr::Expr(float value) : Expr(make_float(f32, value)) {}
Expr::Expr(double value) : Expr(make_float(f64, value)) {}

Expr make_int(DataType t, std::int64_t value) {
  if (t.is_vector()) return broadcast(make_int(t.element(), value), t.lanes);
  constexpr std::int64_t kFirst = -8, kLast = 64;  // shared, because schedules make them by the million
  if (t == index_type && value >= kFirst && value <= kLast) {
    static const std::vector<Expr> small = [] {
      std::vector<Expr> all;
      for (std::int64_t v = kFirst; v <= kLast; ++v) all.push_back(Expr(new IntImm(index_type, v)));
      return all;
    }();
    return small[value - kFirst];
  }
  return Expr(new IntImm(t, wrap_integer(t, value)));
}

Expr make_float(DataType t, double value) {
  if (t.is_vector()) return broadcast(make_float(t.element(), value), t.lanes);
  return Expr(new FloatImm(t, round_to(t, value)));
}

Expr make_const(DataType t, double value) {
  return t.is_float() ? make_float(t, value) : make_int(t, static_cast<std::int64_t>(value));
}

std::optional<std::int64_t> as_int(const Expr& e) {
  if (const IntImm* i = e.as<IntImm>()) return i->value;
  if (const Broadcast* b = e.as<Broadcast>()) return as_int(b->value);
  return std::nullopt;
}

// ---- nodes
// -------------------------------------------------------------------------------------------------------

Binary::Binary(BinaryOp o, Expr x, Expr y)
    : ExprNode(Kind, is_comparison(o) ? boolean.with_lanes(x.dtype().lanes) : x.dtype()),
      op(o),
      a(std::move(x)),
      b(std::move(y)) {
  lies_on(a);
  lies_on(b);
}

namespace {

int lanes_of(const std::vector<Expr>& indices) {
  int lanes = 1;
  for (const Expr& i : indices) lanes = std::max<int>(lanes, i.dtype().lanes);
  return lanes;
}

}  // namespace

Load::Load(Buffer b, std::vector<Expr> i, Expr m)
    : ExprNode(Kind, b->dtype.with_lanes(lanes_of(i))),
      buffer(std::move(b)),
      indices(std::move(i)),
      mask(std::move(m)) {
  lies_on(indices);
  lies_on(mask);
}

Buffer::Buffer(std::string name, DataType dtype, std::vector<Expr> shape, Scope scope) {
  auto* node = new BufferNode;
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  node->scope = scope;
  *this = Buffer(node);
}

// ---- checked construction
// ----------------------------------------------------------------------------------------

namespace {

/// Throws unless `op` is defined on operands of type `t`; gives `/` and `%` of index_type their floor
/// meaning.
BinaryOp check_operator(BinaryOp op, DataType t, Site site) {
  auto not_for = [&](const char* way_out) {
    refuse(code::D002, std::string("operator ") + spelling(op) + " is not defined for " + t.str() + way_out,
           site);
  };
  switch (op) {
    case BinaryOp::And:
    case BinaryOp::Or:
      if (!t.is_bool()) not_for("; compare first");
      return op;
    case BinaryOp::Eq:
    case BinaryOp::Ne: return op;
    case BinaryOp::Mod:
      if (t.is_float()) not_for("; use the intrinsic fmod");
      break;
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
      if (t.is_float()) not_for("; use / and floor");
      break;
    default: break;
  }
  if (t.is_bool()) not_for("; use && or ||, or cast");
  if (t.is_index() && op == BinaryOp::Div) return BinaryOp::FloorDiv;
  if (t.is_index() && op == BinaryOp::Mod) return BinaryOp::FloorMod;
  return op;
}

}  // namespace

Expr binary(BinaryOp op, Expr a, Expr b, Site site) {
  need_defined(a, spelling(op), site);
  need_defined(b, spelling(op), site);
  if (a.dtype() != b.dtype()) unify(a, b, spelling(op), site);
  op = check_operator(op, a.dtype(), site);
  return Expr(new Binary(op, std::move(a), std::move(b)));
}

Expr operator-(Operand operand) {
  Expr& a = operand.expr;
  need_defined(a, "-", operand.site);
  if (const FloatImm* f = a.as<FloatImm>()) return make_float(a.dtype(), -f->value);
  const IntImm* i = a.as<IntImm>();
  if (i && a.dtype().is_index() && i->value != INT64_MIN) return make_index(-i->value);
  // (-0) - x for floats, so that the sign of a zero is right.
  Expr zero = a.dtype().is_float() ? make_float(a.dtype(), -0.0) : make_int(a.dtype(), 0);
  return binary(BinaryOp::Sub, std::move(zero), std::move(a), operand.site);
}

Expr cast(DataType t, Expr a, Site site) {
  need_defined(a, "cast", site);
  t = t.with_lanes(a.dtype().lanes);
  return a.dtype() == t ? a : Expr(new Cast(t, std::move(a)));
}

Expr select(Expr condition, Expr if_true, Expr if_false, Site site) {
  need_defined(condition, "select", site);
  need_defined(if_true, "select", site);
  need_defined(if_false, "select", site);
  if (!condition.dtype().is_bool()) {
    refuse(code::D002,
           "select: the condition has type " + condition.dtype().str() + ", not bool; compare first", site);
  }
  unify(if_true, if_false, "select", site);
  const int lanes = std::max(condition.dtype().lanes, if_true.dtype().lanes);
  for (Expr* e : {&condition, &if_true, &if_false}) {
    if (e->dtype().lanes != lanes) *e = broadcast(*e, lanes);
  }
  return Expr(new Select(std::move(condition), std::move(if_true), std::move(if_false)));
}

Expr call(Intrinsic op, std::vector<Expr> args, Site site) {
  const std::string name = spelling(op);
  if (arity(op) >= 0 && static_cast<int>(args.size()) != arity(op)) {
    refuse(code::D004,
           name + " takes " + std::to_string(arity(op)) + " arguments, not " + std::to_string(args.size()),
           site);
  }
  for (const Expr& a : args) need_defined(a, name.c_str(), site);
  if (op != Intrinsic::Extern) {
    // Twice, because the first argument may be the literal that has to take a later one's type.
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 1; i < args.size(); ++i) unify(args[0], args[i], name.c_str(), site);
    }
  }
  DataType t = args.empty() ? boolean : args[0].dtype();
  auto need = [&](bool fits, const char* wanted) {
    if (!fits) refuse(code::D002, name + " needs " + wanted + ", not " + t.str(), site);
  };
  if (op <= Intrinsic::IsFinite) {
    need(t.is_float(), "a float");
    if (op >= Intrinsic::IsNan) t = boolean.with_lanes(t.lanes);
  } else if (op == Intrinsic::Abs) {
    need(!t.is_bool(), "a number");
  } else if (op <= Intrinsic::CountLeadingZeros) {
    need(t.is_integral() || (t.is_bool() && op <= Intrinsic::BitNot), "an integer");
  } else if (op >= Intrinsic::VectorSum && op <= Intrinsic::VectorMax) {
    t = t.element();
  }
  return Expr(new Call(t, op, std::move(args)));
}

Expr reinterpret(DataType t, Expr a, Site site) {
  need_defined(a, "reinterpret", site);
  if (t.bits != a.dtype().bits) {
    refuse(code::D002, "reinterpret: " + a.dtype().str() + " and " + t.str() + " have different widths",
           site);
  }
  t = t.with_lanes(a.dtype().lanes);  // before `a` is moved from
  return Expr(new Call(t, Intrinsic::Reinterpret, {std::move(a)}));
}

Expr load(Buffer buffer, std::vector<Expr> indices, Site site) {
  if (static_cast<int>(indices.size()) != buffer->rank()) {
    refuse(code::D004,
           buffer->name + " has " + std::to_string(buffer->rank()) + " dimensions, not " +
               std::to_string(indices.size()),
           site);
  }
  for (Expr& i : indices) {
    need_defined(i, "subscript", site);
    if (!i.dtype().is_integral()) {
      refuse(code::D002,
             "a subscript of " + buffer->name + " has type " + i.dtype().str() + "; cast it to index_type",
             site);
    }
    if (!i.dtype().is_index()) i = cast(index_type, i);
  }
  return Expr(new Load(std::move(buffer), std::move(indices)));
}

Expr ramp(Expr base, Expr stride, int lanes) {
  return Expr(new Ramp(std::move(base), std::move(stride), lanes));
}

Expr broadcast(Expr value, int lanes) {
  if (lanes == 1) return value;
  internal_check(!value.dtype().is_vector(), "broadcast of a vector");
  return Expr(new Broadcast(std::move(value), lanes));
}

Expr logical_not(Expr a, Site site) {
  need_defined(a, "!", site);
  if (!a.dtype().is_bool())
    refuse(code::D002, "operator ! is not defined for " + a.dtype().str() + "; compare first", site);
  return Expr(new Not(std::move(a)));
}

}  // namespace lathe
