// Comparisons of index expressions.
//
// Every inequality is s >= 0 for one sum s, and is written with the positive terms of s on the right and the
// negative ones on the left, constants positive:   i*8 + j < n,   y >= 1,   x + 3 < y.
//   content   g*s + k >= 0   <=>  s + k // g >= 0
//   buckets   d*A + T >= 0   <=>  A + j >= 0      for T in [d*j, d*j + d)
//   content   g*s + k == 0   is false unless g divides k

#include "arith/simplifier.h"

namespace lathe::arith {

std::optional<Sum> Simplifier::as_nonnegative(const Expr& comparison) {
  const Binary* b = comparison.as<Binary>();
  if (!b || b->a.dtype() != index_type) return std::nullopt;
  const bool greater = b->op == BinaryOp::Gt || b->op == BinaryOp::Ge;
  const bool strict = b->op == BinaryOp::Lt || b->op == BinaryOp::Gt;
  if (!greater && b->op != BinaryOp::Lt && b->op != BinaryOp::Le) return std::nullopt;
  Sum s = read_sum(greater ? b->a : b->b);
  if (!accumulate(s, read_sum(greater ? b->b : b->a), -1)) return std::nullopt;
  if (strict && !checked_sub(s.constant, 1, s.constant)) return std::nullopt;
  cancel(s);
  return s;
}

Expr Simplifier::simplify_compare(const Binary& b, const Expr& self) {
  const int impure = impure_;
  const Sum x = sum_of(b.a), y = sum_of(b.b);
  auto rebuilt = [&]() -> Expr {
    Expr p = to_expr(x, b.a), q = to_expr(y, b.b);
    return p.same_as(b.a) && q.same_as(b.b) ? self : Expr(new Binary(b.op, std::move(p), std::move(q)));
  };
  if (impure_ != impure) return rebuilt();
  Sum s;
  const bool greater = b.op == BinaryOp::Gt || b.op == BinaryOp::Ge;
  if (!accumulate(s, greater ? x : y, 1) || !accumulate(s, greater ? y : x, -1)) return rebuilt();
  const bool strict = b.op == BinaryOp::Lt || b.op == BinaryOp::Gt;
  if (strict && !checked_sub(s.constant, 1, s.constant)) return rebuilt();
  cancel(s);
  const Expr r = b.op == BinaryOp::Eq || b.op == BinaryOp::Ne ? equality_condition(std::move(s), b.op, self)
                                                              : nonnegative_condition(std::move(s), self);
  return known_truth(r);
}

namespace {

/// The positive terms of `s` in `right`, the negative ones, turned, in `left`.
void separate(const Sum& s, Sum& left, Sum& right) {
  for (const Term& t : s.terms) {
    if (t.coefficient > 0) {
      right.terms.push_back(t);
    } else {
      left.terms.push_back({t.atom, -t.coefficient, t.key});
    }
  }
}

}  // namespace

Expr Simplifier::nonnegative_condition(Sum s, const Expr& hint) {
  for (;;) {
    if (s.is_constant()) return make_int(boolean, s.constant >= 0);
    const std::int64_t g = s.content();
    if (g > 1) {
      for (Term& t : s.terms) t.coefficient /= g;
      s.constant = floor_div(s.constant, g);
    }
    auto split = split_by_range(s, 0);
    if (!split) break;
    s = std::move(split->high);
  }
  if (nonnegative(s)) return true_expr();
  Sum opposite;  // -s - 1 >= 0: never
  if (accumulate(opposite, s, -1) && checked_sub(opposite.constant, 1, opposite.constant) &&
      nonnegative(opposite)) {
    return make_int(boolean, 0);
  }

  // left <= right + k
  Sum left, right;
  separate(s, left, right);
  const std::int64_t k = s.constant;
  BinaryOp op;
  if (left.terms.empty() && k != INT64_MIN) {
    op = BinaryOp::Ge;
    std::swap(left, right);
    right.constant = -k;
  } else if (k == 0 || k == INT64_MAX || k == INT64_MIN) {
    op = BinaryOp::Le;
    right.constant = k;
  } else {
    op = BinaryOp::Lt;
    if (k < -1 && !right.terms.empty()) {
      left.constant = -(k + 1);
    } else {
      right.constant = k + 1;
    }
  }
  if (right.terms.empty() && op == BinaryOp::Le && k == 0) {  // x <= 0 as x < 1
    op = BinaryOp::Lt;
    right.constant = 1;
  }
  const Binary* h = hint ? as_binary(hint, op) : nullptr;
  Expr a = to_expr(left, h ? h->a : Expr()), b = to_expr(right, h ? h->b : Expr());
  if (h && a.same_as(h->a) && b.same_as(h->b)) return hint;
  return Expr(new Binary(op, std::move(a), std::move(b)));
}

Expr Simplifier::equality_condition(Sum s, BinaryOp op, const Expr& hint) {
  const bool equal = op == BinaryOp::Eq;
  auto decided = [&](bool is_zero) { return make_int(boolean, is_zero == equal); };
  if (s.is_constant()) return decided(s.constant == 0);
  const std::int64_t g = s.content();
  if (s.constant % g != 0) return decided(false);
  const std::int64_t factor = s.terms[0].coefficient < 0 && s.constant != INT64_MIN ? -g : g;
  for (Term& t : s.terms) t.coefficient /= factor;
  s.constant /= factor;
  const ModularSet m = modular(s);
  if (m.base != 0) return decided(false);
  const ConstBound b = bound(s);
  if (b.min > 0 || b.max < 0) return decided(false);
  if (b.min == 0 && b.max == 0) return decided(true);
  if (!assumed_.empty() || !ranges_.empty()) {
    if (nonzero(s)) return decided(false);
    Sum opposite;
    if (nonnegative(s) && accumulate(opposite, s, -1) && nonnegative(opposite)) return decided(true);
  }
  // left == right: the leading term is on the left, constants are positive where they can be.
  Sum left, right;
  separate(s, right, left);
  (right.terms.empty() || s.constant < 0 ? right : left).constant =
      right.terms.empty() || s.constant < 0 ? (s.constant == INT64_MIN ? 0 : -s.constant) : s.constant;
  if (s.constant == INT64_MIN) left.constant = s.constant;
  const Binary* h = hint ? as_binary(hint, op) : nullptr;
  Expr x = to_expr(left, h ? h->a : Expr()), y = to_expr(right, h ? h->b : Expr());
  if (h && x.same_as(h->a) && y.same_as(h->b)) return hint;
  return Expr(new Binary(op, std::move(x), std::move(y)));
}

}  // namespace lathe::arith
