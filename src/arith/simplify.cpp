// Dispatch by node.

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

constexpr int kMaxSimplifiedDepth = 160;  // deeper expressions are left as they are

class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(++depth) {}
  ~Deeper() { --depth_; }

 private:
  int& depth_;
};

/// Calls `f` on each and says whether one came back changed.
template <class F>
bool map_all(const std::vector<Expr>& in, std::vector<Expr>& out, F f) {
  bool changed = false;
  out.reserve(in.size());
  for (const Expr& e : in) {
    out.push_back(f(e));
    changed |= !out.back().same_as(e);
  }
  return changed;
}

}  // namespace

Expr Simplifier::simplify(const Expr& e) {
  if (!e.defined()) return e;
  Session session(*this);
  if (depth_ > kMaxSimplifiedDepth || ++visits_ > kVisits) return e;
  Deeper deeper(depth_);
  switch (e.kind()) {
    case ExprKind::IntImm:
    case ExprKind::FloatImm: return e;
    case ExprKind::Var: {
      if (e.dtype() == index_type) return to_expr(sum_of(e), e);
      const std::uint32_t r = rank(static_cast<const VarNode*>(e.get()));
      if (variables_[r].value) return variables_[r].value;
      return e.dtype().is_bool() ? known_truth(e) : e;
    }
    case ExprKind::Binary: {
      const auto& b = static_cast<const Binary&>(*e);
      if (e.dtype() == index_type) return to_expr(sum_of(e), e);
      if (e.dtype().is_vector() || b.a.dtype().is_vector()) return simplify_vector(b, e);
      if (b.op == BinaryOp::And || b.op == BinaryOp::Or) return simplify_junction(b, e);
      if (is_comparison(b.op) && b.a.dtype() == index_type) return simplify_compare(b, e);
      const Expr r = simplify_data(b, e);
      return r.dtype().is_bool() ? known_truth(r) : r;
    }
    case ExprKind::Not: return simplify_not(static_cast<const Not&>(*e), e);
    case ExprKind::Select:
      if (e.dtype() == index_type) return to_expr(sum_of(e), e);
      return simplify_select(static_cast<const Select&>(*e), e);
    case ExprKind::Cast: return simplify_cast(static_cast<const Cast&>(*e), e);
    case ExprKind::Load: return simplify_load(static_cast<const Load&>(*e), e);
    case ExprKind::Call: return simplify_call(static_cast<const Call&>(*e), e);
    case ExprKind::Ramp: {
      const auto& r = static_cast<const Ramp&>(*e);
      Expr base = simplify(r.base), stride = simplify(r.stride);
      if (is_int(stride, 0)) return broadcast(base, r.lanes());
      if (base.same_as(r.base) && stride.same_as(r.stride)) return e;
      return ramp(std::move(base), std::move(stride), r.lanes());
    }
    case ExprKind::Broadcast: {
      const auto& b = static_cast<const Broadcast&>(*e);
      Expr value = simplify(b.value);
      return value.same_as(b.value) ? e : broadcast(std::move(value), b.lanes());
    }
  }
  return e;
}

Sum Simplifier::sum_of(const Expr& e) {
  Session session(*this);
  if (depth_ > kMaxSimplifiedDepth || ++visits_ > kVisits) return opaque(e);
  Deeper deeper(depth_);
  switch (e.kind()) {
    case ExprKind::IntImm: return Sum(static_cast<const IntImm*>(e.get())->value);
    case ExprKind::Var: {
      const std::uint32_t r = rank(static_cast<const VarNode*>(e.get()));
      const Variable& v = variables_[r];
      if (v.value) return sum_of(Expr(v.value));
      if (v.bound.is_const()) return Sum(v.bound.min);
      return atom_with_key(e.get(), std::uint64_t{r} << 8);
    }
    case ExprKind::Binary: return sum_of_binary(static_cast<const Binary&>(*e), e);
    case ExprKind::Select: return sum_of_select(static_cast<const Select&>(*e), e);
    case ExprKind::Cast: return atom(simplify_cast(static_cast<const Cast&>(*e), e));
    case ExprKind::Load: return atom(simplify_load(static_cast<const Load&>(*e), e));
    case ExprKind::Call: {
      const Expr simple = simplify_call(static_cast<const Call&>(*e), e);
      return simple.kind() == ExprKind::Call ? atom(simple) : read_sum(simple);
    }
    default: return opaque(e);
  }
}

Sum Simplifier::read_sum(const Expr& e) {
  Sum out;
  auto add = [&](auto&& self, const Expr& x, std::int64_t factor, int depth) -> bool {
    const Binary* b = x.as<Binary>();
    if (const IntImm* c = x.as<IntImm>()) return accumulate(out, Sum(c->value), factor);
    if (b && depth < kMaxSimplifiedDepth && (b->op == BinaryOp::Add || b->op == BinaryOp::Sub)) {
      return factor != INT64_MIN && self(self, b->a, factor, depth + 1) &&
             self(self, b->b, b->op == BinaryOp::Add ? factor : -factor, depth + 1);
    }
    if (const IntImm* c = b && b->op == BinaryOp::Mul ? b->b.as<IntImm>() : nullptr) {
      std::int64_t product;
      return checked_mul(factor, c->value, product) && self(self, b->a, product, depth + 1);
    }
    return accumulate(out, atom_with_key(x.get(), key_of(x.get())), factor);
  };
  keep(e);
  return add(add, e, 1, 0) ? out : opaque(e);
}

Sum Simplifier::sum_of_binary(const Binary& b, const Expr& self) {
  const int impure = impure_;
  Sum x = sum_of(b.a);
  const Sum y = sum_of(b.b);
  // An effect must happen exactly as often as it is written: nothing round it is merged or dropped.
  if (impure_ != impure) return binary_atom(b.op, x, y, self);
  switch (b.op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      Sum sum = x;
      if (!accumulate(sum, y, b.op == BinaryOp::Add ? 1 : -1)) return binary_atom(b.op, x, y, self);
      cancel(sum);
      return sum;
    }
    case BinaryOp::Mul:
      if (auto p = product(x, y, self)) {
        cancel(*p);
        return std::move(*p);
      }
      return binary_atom(b.op, x, y, self);
    case BinaryOp::FloorDiv: return floordiv(x, y, self);
    case BinaryOp::FloorMod: return floormod(x, y, self);
    case BinaryOp::Min:
    case BinaryOp::Max: return extremum(b.op, x, y, self);
    default: return binary_atom(b.op, x, y, self);
  }
}

Expr Simplifier::simplify_load(const Load& l, const Expr& self) {
  std::vector<Expr> indices;
  bool changed = map_all(l.indices, indices, [&](const Expr& x) { return simplify(x); });
  const Expr mask = simplify(l.mask);
  changed |= !mask.same_as(l.mask);
  buffer_rank(l.buffer.get());
  return changed ? Expr(new Load(l.buffer, std::move(indices), mask)) : self;
}

Expr Simplifier::simplify_call(const Call& c, const Expr& self) {
  std::vector<Expr> args;
  const bool changed = map_all(c.args, args, [&](const Expr& x) { return simplify(x); });
  if (!is_pure(c.op)) ++impure_;
  if (c.op == Intrinsic::Abs && c.dtype == index_type) {
    const ConstBound b = bound_of(args[0].get());
    Sum negated;
    if (b.min >= 0) return args[0];
    if (b.max <= 0 && accumulate(negated, sum_of(args[0]), -1)) return to_expr(negated);
  }
  return changed ? Expr(new Call(c.dtype, c.op, std::move(args), c.symbol)) : self;
}

}  // namespace lathe::arith
