// Constant bounds.

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

constexpr int kMaxBoundsDepth = 96;

ConstBound of_type(DataType t) {
  if (t.is_bool()) return {0, 1};
  if (t.is_data_int() && t.bits < 64) {
    return t.is_unsigned()
               ? ConstBound{0, (std::int64_t{1} << t.bits) - 1}
               : ConstBound{-(std::int64_t{1} << (t.bits - 1)), (std::int64_t{1} << (t.bits - 1)) - 1};
  }
  return {};
}

ConstBound product_bound(ConstBound a, ConstBound b) {
  const std::int64_t ends[] = {mul_end(a.min, b.min), mul_end(a.min, b.max), mul_end(a.max, b.min),
                               mul_end(a.max, b.max)};
  return interval(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
}

std::int64_t div_end(std::int64_t x, std::int64_t d) {  // d > 0, finite
  return is_inf(x) ? x : floor_div(x, d);
}

ConstBound div_bound(ConstBound a, ConstBound d) {
  if (d.is_const() && d.min > 0) return {div_end(a.min, d.min), div_end(a.max, d.min)};
  if (d.min >= 0) {
    // Whatever the divisor (x / 0 = 0 included), the quotient lies between 0 and the dividend by the
    // smallest.
    const std::int64_t least = std::max<std::int64_t>(d.min, 1);
    return {a.min < 0 ? div_end(a.min, least) : 0, a.max > 0                ? div_end(a.max, least)
                                                   : d.min > 0 && a.max < 0 ? -1
                                                                            : 0};
  }
  const std::int64_t m = a.bounded() ? std::max(magnitude(a.min), magnitude(a.max)) : kPlusInf;
  return m == kPlusInf ? ConstBound{} : ConstBound{-m, m};
}

ConstBound mod_bound(ConstBound a, ConstBound d) {
  if (d.is_const() && d.min > 0 && a.bounded() && floor_div(a.min, d.min) == floor_div(a.max, d.min)) {
    return {floor_mod(a.min, d.min), floor_mod(a.max, d.min)};
  }
  if (d.min >= 0) {
    if (d.min > 0 && a.min >= 0 && a.max < d.min) return a;
    std::int64_t high = d.max == kPlusInf ? kPlusInf : std::max<std::int64_t>(d.max - 1, 0);
    if (a.min >= 0) high = std::min(high, a.max);
    return {0, high};
  }
  ConstBound b;
  b.min = d.min == kMinusInf ? kMinusInf : d.min + 1;
  b.max = d.max == kPlusInf ? kPlusInf : std::max<std::int64_t>(d.max - 1, 0);
  return b;
}

ConstBound truncated(BinaryOp op, ConstBound a, ConstBound d) {
  // Only the common case: both non-negative, where it is floor division.
  if (a.min >= 0 && d.min >= 0) return op == BinaryOp::Div ? div_bound(a, d) : mod_bound(a, d);
  return {};
}

}  // namespace

ConstBound Simplifier::plain_bound(const Sum& s) const {
  ConstBound b{s.constant, s.constant};
  for (const Term& t : s.terms) b = b + scaled(bound_of(t.atom), t.coefficient);
  return b;
}

ConstBound Simplifier::bound_of(const ExprNode* e) const {
  struct Walk {
    const Simplifier& s;
    ConstBound operator()(const ExprNode* e, int depth) const {
      if (depth > kMaxBoundsDepth || e->dtype.is_float() || ++s.visits_ > 4 * kVisits)
        return of_type(e->dtype);
      ++depth;
      switch (e->kind) {
        case ExprKind::IntImm: {
          const std::int64_t v = static_cast<const IntImm*>(e)->value;
          if (e->dtype == u64 && v < 0) return {};
          return {v, v};
        }
        case ExprKind::Var: {
          const std::uint32_t r = s.find(static_cast<const VarNode*>(e));
          if (r == kNone) return of_type(e->dtype);
          const Variable& v = s.variables_[r];
          return intersect(v.value ? (*this)(v.value.get(), depth) : v.bound, of_type(e->dtype));
        }
        case ExprKind::Binary: return binary(static_cast<const Binary*>(e), depth);
        case ExprKind::Select: {
          const auto* x = static_cast<const Select*>(e);
          return unite((*this)(x->if_true.get(), depth), (*this)(x->if_false.get(), depth));
        }
        case ExprKind::Cast: {
          const Expr& a = static_cast<const Cast*>(e)->a;
          if (!a.dtype().is_integral() && !a.dtype().is_bool()) return of_type(e->dtype);
          if (a.dtype() == u64) return of_type(e->dtype);
          const ConstBound inner = (*this)(a.get(), depth), own = of_type(e->dtype);
          const bool fits = e->dtype == u64 ? inner.min >= 0 : inner.min >= own.min && inner.max <= own.max;
          return fits ? inner : own;  // else it wraps
        }
        case ExprKind::Ramp: {
          const auto* x = static_cast<const Ramp*>(e);
          const ConstBound steps = product_bound((*this)(x->stride.get(), depth), {0, x->lanes() - 1});
          return e->dtype.is_index() ? (*this)(x->base.get(), depth) + steps : of_type(e->dtype);
        }
        case ExprKind::Broadcast: return (*this)(static_cast<const Broadcast*>(e)->value.get(), depth);
        default: return of_type(e->dtype);
      }
    }
    ConstBound binary(const Binary* b, int depth) const {
      const DataType t = b->dtype;
      if (t.is_bool() || t == u64) return of_type(t);
      const ConstBound x = (*this)(b->a.get(), depth), y = (*this)(b->b.get(), depth);
      ConstBound r;
      switch (b->op) {
        case BinaryOp::Add: r = x + y; break;
        case BinaryOp::Sub: r = x + scaled(y, -1); break;
        case BinaryOp::Mul: r = product_bound(x, y); break;
        case BinaryOp::FloorDiv: r = div_bound(x, y); break;
        case BinaryOp::FloorMod: r = mod_bound(x, y); break;
        case BinaryOp::Div:
        case BinaryOp::Mod: r = truncated(b->op, x, y); break;
        case BinaryOp::Min: return {std::min(x.min, y.min), std::min(x.max, y.max)};
        case BinaryOp::Max: return {std::max(x.min, y.min), std::max(x.max, y.max)};
        default: return of_type(t);
      }
      if (t.is_index()) return r;
      const ConstBound own = of_type(t);  // a data integer wraps when it leaves its range
      const bool wide = own.min == kMinusInf;
      return r.min >= own.min && r.max <= own.max && (!wide || r.bounded()) ? r : own;
    }
  };
  return Walk{*this}(e, 0);
}

/// The least upper bound that one known inequality gives: for a fact f >= 0 and m > 0, s <= s + m*f; m is
/// chosen to cancel a term.
std::int64_t Simplifier::refine_high(const Sum& s, std::int64_t high) const {
  auto* self = const_cast<Simplifier*>(this);
  auto use = [&](const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) {
      for (const Term& f : fact.sum.terms) {
        for (const Term& t : s.terms) {
          if (t.key != f.key || (t.coefficient < 0) == (f.coefficient < 0) ||
              t.coefficient % f.coefficient != 0 || !same(t.atom, f.atom)) {
            continue;
          }
          Sum better = s;
          if (self->accumulate(better, fact.sum, -(t.coefficient / f.coefficient))) {
            high = std::min(high, plain_bound(better).max);
          }
        }
      }
    }
  };
  use(assumed_);
  use(ranges_);
  return high;
}

ConstBound Simplifier::bound(const Sum& s) {
  ConstBound b = plain_bound(s);
  if ((assumed_.empty() && ranges_.empty()) || b.is_const()) return b;
  b.max = refine_high(s, b.max);
  Sum opposite;
  if (accumulate(opposite, s, -1)) {
    const std::int64_t high = refine_high(opposite, b.min == kMinusInf ? kPlusInf : -b.min);
    if (!is_inf(high)) b.min = std::max(b.min, -high);
  }
  return b;
}

}  // namespace lathe::arith
