#include "arith/interval.h"

#include "arith/variables.h"

namespace lathe::arith {
namespace {

/// The smallest and largest value of s mod c over all outer values, from what is known of s modulo c.
struct Phases {
  std::int64_t least, most;
};
Phases phases(ModularSet m, std::int64_t c) {
  if (m.coefficient == 0) return {floor_mod(m.base, c), floor_mod(m.base, c)};
  const std::int64_t g = gcd(m.coefficient, c);
  const std::int64_t base = floor_mod(m.base, g);
  return {base, c - g + base};
}

}  // namespace

std::uint64_t IntervalFinder::uses(const ExprNode* e) const {
  std::uint64_t bits = 0;
  any_variable(e, [&](const VarNode* v) {
    for (std::size_t i = 0; i < over_.size(); ++i) {
      if (over_[i].node() == v) bits |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
    }
    return false;
  });
  return bits;
}

std::optional<Interval> IntervalFinder::by_bound(const Sum& s) const {
  const ConstBound b = s_.bound(s);
  std::int64_t width;
  if (!b.bounded() || !checked_sub(b.max, b.min, width)) return std::nullopt;
  Interval r;
  r.low = Sum(b.min);
  r.width = Sum(width);
  r.gap = Interval::kUnknownGap;
  r.tight = false;
  for (const Term& t : s.terms) r.uses |= uses(t.atom);
  if (width == 0) {
    r.gap = 0;
    r.tight = true;
  }
  return r;
}

std::optional<Interval> IntervalFinder::of(const Sum& sum) {
  Sum steady(sum.constant), varying;
  for (const Term& t : sum.terms) (uses(t.atom) ? varying : steady).terms.push_back(t);
  if (varying.terms.empty()) {
    Interval point;
    point.low = sum;
    return point;
  }
  auto r = of_varying(varying);
  if (!r || !s_.accumulate(r->low, steady, 1)) return by_bound(sum);
  return r;
}

std::optional<Interval> IntervalFinder::of_varying(const Sum& varying) {
  Interval r;
  std::vector<Step> steps;
  std::uint64_t shared = 0;
  for (const Term& t : varying.terms) {
    const auto part = of_atom(t);
    const std::int64_t c = t.coefficient, size = magnitude(c);
    if (!part || !s_.accumulate(r.low, part->low, c) || !s_.accumulate(r.width, part->width, size) ||
        (c < 0 && !s_.accumulate(r.low, part->width, c))) {
      return by_bound(varying);
    }
    const std::uint64_t bits = uses(t.atom);
    shared |= r.uses & bits;
    r.uses |= bits;
    r.tight &= part->tight;
    r.narrowed |= part->narrowed;
    if (part->gap == 0) continue;
    Step step;
    if (part->gap == Interval::kUnknownGap || !checked_mul(part->gap, size, step.stride)) {
      step.stride = Interval::kUnknownGap;
    }
    if (part->width.is_constant()) step.reach = mul_end(part->width.constant, size);
    steps.push_back(step);
  }
  r.gap = largest_gap(std::move(steps));
  if (shared) {
    r.gap = Interval::kUnknownGap;
    r.tight = false;
  }
  narrow(r, varying);
  return r;
}

/// The largest step that sums of multiples of the strides leave: j*2 + r with r in 0..3 is contiguous.
std::int64_t IntervalFinder::largest_gap(std::vector<Step> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.stride < b.stride; });
  std::int64_t gap = 0, reach = 0;
  for (const Step& s : steps) {
    if (s.stride == Interval::kUnknownGap) return Interval::kUnknownGap;
    gap = std::max(gap, std::max<std::int64_t>(1, s.stride - reach));
    reach = add_high(reach, s.reach);
  }
  return gap;
}

/// Conditions on sums of several variables may say more than the ranges do. What they clip is no longer
/// known to be tight; the caller may know better.
void IntervalFinder::narrow(Interval& r, const Sum& varying) {
  if (!r.low.is_constant() || !r.width.is_constant()) return;
  const ConstBound b = s_.bound(varying);
  const std::int64_t low = r.low.constant, high = add_high(low, r.width.constant);
  const std::int64_t l = std::max(low, b.min), h = std::min(high, b.max);
  if (l == low && h == high) return;
  r.low = Sum(l);
  r.width = Sum(h < l ? -1 : h - l);
  r.narrowed = true;
}

std::optional<Interval> IntervalFinder::of_atom(const Term& t) {
  switch (t.atom_class()) {
    case AtomClass::Var: return of_variable(t);
    case AtomClass::Div: return of_division(binary_of(t));
    case AtomClass::Mod: return of_remainder(binary_of(t));
    case AtomClass::Product: return of_product(t);
    case AtomClass::Min:
    case AtomClass::Max: return of_extremum(binary_of(t));
    case AtomClass::Select: return of_select(*static_cast<const Select*>(t.atom));
    case AtomClass::Other: break;
  }
  return by_bound(s_.term(t));
}

std::optional<Interval> IntervalFinder::of_variable(const Term& t) {
  Interval r;
  r.gap = 1;
  r.uses = uses(t.atom);
  const auto range = s_.range_of(static_cast<const VarNode*>(t.atom));
  if (!range) return std::nullopt;
  r.low = range->first;
  r.width = range->second;
  return r;
}

std::optional<Interval> IntervalFinder::of_division(const Binary& b) {
  const Sum divisor = s_.read_sum(b.b);
  const auto x = of(s_.read_sum(b.a));
  if (!x) return std::nullopt;
  Interval r;
  r.uses = x->uses | uses(b.b.get());
  if (!divisor.is_constant() || divisor.constant <= 0) {
    if (uses(b.b.get()) != 0) return std::nullopt;
    if (s_.bound(divisor).min < 1 && !s_.nonzero(divisor)) return std::nullopt;
    Sum high = x->low;
    if (!s_.accumulate(high, x->width, 1)) return std::nullopt;
    r.low = s_.floordiv(x->low, divisor);
    r.width = s_.floordiv(high, divisor);
    if (!s_.accumulate(r.width, r.low, -1)) return std::nullopt;
    r.gap = x->gap <= 1 ? 1 : Interval::kUnknownGap;
    r.tight = x->tight;
    r.narrowed = x->narrowed;
    return r;
  }
  const std::int64_t c = divisor.constant;
  const Phases p = phases(s_.modular(x->low), c);
  r.low = s_.floordiv(x->low, c);
  if (x->width.is_constant() && x->width.constant >= 0) {
    const std::int64_t w = x->width.constant;
    r.width = Sum(floor_div(add_high(p.most, w), c));
    r.narrowed = x->narrowed;
    r.tight = x->tight && floor_div(add_high(p.least, w), c) == r.width.constant;
  } else {
    Sum most = x->width, least = x->width;
    if (!checked_add(most.constant, p.most, most.constant)) return std::nullopt;
    r.width = s_.floordiv(most, c);
    r.narrowed = x->narrowed;
    r.tight = x->tight && p.least == p.most;
  }
  if (x->gap == Interval::kUnknownGap) {
    r.gap = Interval::kUnknownGap;
  } else {
    r.gap = r.width.is_constant(0) ? 0 : std::max<std::int64_t>(1, (x->gap + c - 1) / c);
  }
  return r;
}

std::optional<Interval> IntervalFinder::of_remainder(const Binary& b) {
  const Sum divisor = s_.read_sum(b.b);
  Interval r;
  r.uses = uses(b.a.get()) | uses(b.b.get());
  if (!divisor.is_constant() || divisor.constant <= 0) {
    if (uses(b.b.get()) != 0 || (s_.bound(divisor).min < 1 && !s_.nonzero(divisor))) return std::nullopt;
    if (s_.bound(divisor).min < 0) return std::nullopt;
    r.width = divisor;
    r.gap = Interval::kUnknownGap;
    r.tight = false;
    if (!checked_sub(r.width.constant, 1, r.width.constant)) return std::nullopt;
    // A full period reaches every remainder.
    if (const auto x = of(s_.read_sum(b.a)); x && x->exact()) {
      Sum spare = x->width;
      if (s_.accumulate(spare, r.width, -1) && s_.nonnegative(spare)) {
        r.gap = 1;
        r.tight = true;
      }
    }
    return r;
  }
  const std::int64_t c = divisor.constant;
  const auto x = of(s_.read_sum(b.a));
  if (x && x->width.is_constant() && x->width.constant >= 0) {
    const Phases p = phases(s_.modular(x->low), c);
    if (add_high(p.most, x->width.constant) < c) {
      r.low = s_.floormod(x->low, c);
      r.width = x->width;
      r.gap = x->gap;
      r.tight = x->tight;
      r.narrowed = x->narrowed;
      return r;
    }
  }
  r.width = Sum(c - 1);
  r.gap = Interval::kUnknownGap;
  r.tight = false;
  if (x && x->exact()) {
    Sum spare = x->width;
    if (checked_sub(spare.constant, c - 1, spare.constant) && s_.nonnegative(spare)) {
      r.gap = 1;
      r.tight = true;
    }
  }
  return r;
}

/// A varying factor times others that do not vary and are not negative.
std::optional<Interval> IntervalFinder::of_product(const Term& t) {
  Sum steady(1), varying(1);
  int count = 0;
  for (const ExprNode* e = t.atom;;) {
    const auto* m = e->kind == ExprKind::Binary ? static_cast<const Binary*>(e) : nullptr;
    const bool chain = m && m->op == BinaryOp::Mul;
    const Expr factor(chain ? m->b.get() : e);
    Sum& side = uses(factor.get()) ? varying : steady;
    count += &side == &varying;
    auto p = s_.product(side, s_.atom(factor));
    if (!p) return std::nullopt;
    side = std::move(*p);
    if (!chain) break;
    e = m->a.get();
  }
  if (count != 1 || !s_.nonnegative(steady)) return by_bound(s_.term(t));
  const auto x = of(varying);
  if (!x) return std::nullopt;
  auto low = s_.product(x->low, steady), width = s_.product(x->width, steady);
  if (!low || !width) return std::nullopt;
  Interval r = *x;
  r.low = std::move(*low);
  r.width = std::move(*width);
  r.gap = x->gap == 0 ? 0 : Interval::kUnknownGap;
  return r;
}

std::optional<Interval> IntervalFinder::hull(BinaryOp low, BinaryOp high, const Interval& a,
                                             const Interval& b) {
  Sum high_a = a.low, high_b = b.low;
  if (!s_.accumulate(high_a, a.width, 1) || !s_.accumulate(high_b, b.width, 1)) return std::nullopt;
  Interval r;
  r.uses = a.uses | b.uses;
  r.low = s_.extremum(low, a.low, b.low);
  r.width = s_.extremum(high, high_a, high_b);
  if (!s_.accumulate(r.width, r.low, -1)) return std::nullopt;
  s_.cancel(r.width);
  r.gap = Interval::kUnknownGap;
  r.tight = false;
  return r;
}

std::optional<Interval> IntervalFinder::of_extremum(const Binary& b) {
  const auto x = of(s_.read_sum(b.a)), y = of(s_.read_sum(b.b));
  if (!x || !y) return std::nullopt;
  auto r = hull(b.op, b.op, *x, *y);
  if (r && (x->uses == 0 || y->uses == 0)) {  // a clamp keeps what is contiguous contiguous
    const Interval& inner = x->uses == 0 ? *y : *x;
    r->gap = inner.gap <= 1 ? inner.gap : Interval::kUnknownGap;
    r->tight = inner.tight;
    r->narrowed = inner.narrowed;
  }
  return r;
}

std::optional<Interval> IntervalFinder::of_select(const Select& s) {
  auto side = [&](const Expr& condition, const Expr& value) {
    const auto mark = s_.assume(condition);
    auto r = of(s_.read_sum(value));
    s_.retract(mark);
    return r;
  };
  const auto x = side(s.condition, s.if_true), y = side(s_.negation(s.condition), s.if_false);
  if (!x || !y) return std::nullopt;
  auto r = hull(BinaryOp::Min, BinaryOp::Max, *x, *y);
  if (r) r->uses |= uses(s.condition.get());
  return r;
}

}  // namespace lathe::arith
