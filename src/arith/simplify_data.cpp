// Data types: only what holds bit for bit. Integers wrap, so x + 1 > x is not a truth; floats are folded when
// both operands are literals, in their own type, and otherwise left alone (x + 0.0 changes -0, x * 0.0 a
// NaN).

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

bool is_literal(const Expr& e) { return e.kind() == ExprKind::IntImm || e.kind() == ExprKind::FloatImm; }
std::int64_t int_of(const Expr& e) { return static_cast<const IntImm&>(*e).value; }

Expr fold(BinaryOp op, const Expr& x, const Expr& y) {
  const DataType t = x.dtype();
  if (t.is_float()) {
    const double v =
        float_op(t, op, static_cast<const FloatImm&>(*x).value, static_cast<const FloatImm&>(*y).value);
    return is_comparison(op) ? make_int(boolean, v != 0) : make_float(t, v);
  }
  const std::int64_t v = integer_op(t, op, int_of(x), int_of(y));
  return make_int(is_comparison(op) ? boolean : t, v);
}

/// Division by the literal 0 is defined, but it is most likely a mistake: it is left to be seen.
bool divides_by_zero(BinaryOp op, const Expr& y) {
  const bool division =
      op == BinaryOp::Div || op == BinaryOp::Mod || op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod;
  return division && !y.dtype().is_float() && is_int(y, 0);
}

/// x op y for data integers and Bool where one operand decides; nothing otherwise.
Expr integer_identity(BinaryOp op, const Expr& x, const Expr& y) {
  const DataType t = x.dtype();
  switch (op) {
    case BinaryOp::Add:
      if (is_int(y, 0)) return x;
      if (is_int(x, 0)) return y;
      // (x + c) + d = x + (c + d), modulo 2^n
      if (const Binary* b = as_binary(x, BinaryOp::Add); b && is_literal(y) && is_literal(b->b)) {
        return Expr(new Binary(BinaryOp::Add, b->a, fold(BinaryOp::Add, b->b, y)));
      }
      break;
    case BinaryOp::Sub:
      if (is_int(y, 0)) return x;
      if (same(x, y)) return make_int(t, 0);
      break;
    case BinaryOp::Mul:
      if (is_int(y, 1) || is_int(x, 0)) return x;
      if (is_int(x, 1) || is_int(y, 0)) return y;
      if (const Binary* b = as_binary(x, BinaryOp::Mul); b && is_literal(y) && is_literal(b->b)) {
        return Expr(new Binary(BinaryOp::Mul, b->a, fold(BinaryOp::Mul, b->b, y)));
      }
      break;
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
      if (is_int(y, 1)) return x;
      break;
    case BinaryOp::Mod:
    case BinaryOp::FloorMod:
      if (is_int(y, 1)) return make_int(t, 0);
      break;
    case BinaryOp::Min:
    case BinaryOp::Max:
      if (same(x, y)) return x;
      break;
    case BinaryOp::Eq:
    case BinaryOp::Le:
    case BinaryOp::Ge:
      if (same(x, y)) return true_expr();
      break;
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Gt:
      if (same(x, y)) return make_int(boolean, 0);
      break;
    default: break;
  }
  return {};
}

}  // namespace

Expr Simplifier::simplify_data(const Binary& b, const Expr& self) {
  const int impure = impure_;
  const Expr x = simplify(b.a), y = simplify(b.b);
  if (is_literal(x) && is_literal(y) && !divides_by_zero(b.op, y)) return fold(b.op, x, y);
  if (!x.dtype().is_float() && impure_ == impure) {
    if (Expr r = integer_identity(b.op, x, y)) return r;
  }
  return x.same_as(b.a) && y.same_as(b.b) ? self : Expr(new Binary(b.op, x, y));
}

/// Lane by lane: broadcasts meet, and a ramp takes what keeps it a ramp.
Expr Simplifier::simplify_vector(const Binary& b, const Expr& self) {
  const Expr x = simplify(b.a), y = simplify(b.b);
  const auto *bx = x.as<Broadcast>(), *by = y.as<Broadcast>();
  const auto *rx = x.as<Ramp>(), *ry = y.as<Ramp>();
  const int lanes = x.dtype().lanes;
  auto scalar = [&](BinaryOp op, const Expr& p, const Expr& q) {
    return simplify(Expr(new Binary(op, p, q)));
  };
  if (bx && by) return broadcast(scalar(b.op, bx->value, by->value), lanes);
  if (x.dtype().is_index() && (rx || ry)) {
    if (b.op == BinaryOp::Add || b.op == BinaryOp::Sub) {
      const Expr zero = make_index(0);
      const bool linear = (rx || bx) && (ry || by);
      if (linear) {
        return simplify(ramp(scalar(b.op, rx ? rx->base : bx->value, ry ? ry->base : by->value),
                             scalar(b.op, rx ? rx->stride : zero, ry ? ry->stride : zero), lanes));
      }
    } else if (b.op == BinaryOp::Mul && ((rx && by) || (bx && ry))) {
      const Ramp& r = rx ? *rx : *ry;
      const Expr& factor = rx ? by->value : bx->value;
      return simplify(ramp(scalar(b.op, r.base, factor), scalar(b.op, r.stride, factor), lanes));
    }
  }
  if (is_comparison(b.op) && b.a.dtype().is_index()) {
    // Decided for all lanes at once?
    const ConstBound p = bound_of(x.get()), q = bound_of(y.get());
    auto all = [&](bool value) { return broadcast(make_int(boolean, value), lanes); };
    const bool lt = p.max < q.min, ge = p.min >= q.max && !is_inf(p.min);
    const bool gt = p.min > q.max, le = p.max <= q.min && !is_inf(p.max);
    if (b.op == BinaryOp::Lt && (lt || ge)) return all(lt);
    if (b.op == BinaryOp::Ge && (lt || ge)) return all(ge);
    if (b.op == BinaryOp::Gt && (gt || le)) return all(gt);
    if (b.op == BinaryOp::Le && (gt || le)) return all(le);
  }
  if (b.op == BinaryOp::And || b.op == BinaryOp::Or) {
    const std::optional<std::int64_t> left = as_int(x), right = as_int(y);
    const std::int64_t neutral = b.op == BinaryOp::And;
    if (left) return *left == neutral ? y : x;
    if (right && *right == neutral) return x;
  }
  return x.same_as(b.a) && y.same_as(b.b) ? self : Expr(new Binary(b.op, x, y));
}

Expr Simplifier::simplify_cast(const Cast& c, const Expr& self) {
  const Expr a = simplify(c.a);
  const DataType to = c.dtype;
  if (a.dtype() == to) return a;
  if (!to.is_vector()) {
    if (a.kind() == ExprKind::IntImm && !to.is_float()) return make_int(to, int_of(a));
    if (a.kind() == ExprKind::IntImm && to.is_float() && a.dtype() != u64) {
      // Only where the integer is exact in double: then the value is rounded once.
      const std::int64_t v = int_of(a);
      if (v >= -(std::int64_t{1} << 53) && v <= (std::int64_t{1} << 53)) {
        return make_float(to, static_cast<double>(v));
      }
    }
    if (const FloatImm* f = a.as<FloatImm>()) {
      return to.is_float() ? make_float(to, f->value) : make_int(to, float_to_integer(to, f->value));
    }
  }
  return a.same_as(c.a) ? self : Expr(new Cast(to, a));
}

}  // namespace lathe::arith
