// Floor division and remainder.
//
// By a constant c > 0, for a sum s:
//   split      (c*q + r) // c = q + r // c                   (c*q + r) % c = r % c
//              (terms that c divides and the constant; never part of a coefficient: (32*o + i) // 30 and
//              (32*o + i) % 30 must still be seen to be quotient and remainder of one index)
//   range      c*j <= r < c*(j+1)  =>  r // c = j,  r % c = r - c*j
//   content    (g*r + s) // (g*c) = r // c  for 0 <= s < g   (g*r + s) % (g*c) = g*(r % c) + s
//   buckets    s = d*A + T, d divides c, T in [d*j, d*j + d):
//              s // c = (A + j) // (c/d)                     s % c = d*((A + j) % (c/d)) + T - d*j
//   nesting    (x//m + k) // c = (x + m*k) // (m*c)          (a*(x%m) + y) % c = (a*x + y) % c  if c | a*m
//              (x%m) // c = (x//c) % (m/c)  if c | m
// Division by an expression d uses split and range where d != 0, 0 <= r < d are proved. Division by the
// constant 0 is left as it is.

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

/// The constant divisor of a div or mod atom, if it has one.
std::int64_t divisor_of(const Term& t) {
  const auto c = as_int(static_cast<const Binary*>(t.atom)->b);
  return c ? *c : 0;
}

/// Is a bounded interval inside one bucket of width d? Then which.
bool one_bucket(ConstBound b, std::int64_t d, std::int64_t& j) {
  if (!b.bounded()) return false;
  j = floor_div(b.min, d);
  return j == floor_div(b.max, d);
}

}  // namespace

std::optional<Simplifier::Split> Simplifier::split_by_range(const Sum& rest, std::int64_t c) {
  InlineVector<std::int64_t, 8> candidates;
  auto candidate = [&](std::int64_t d) {
    if (d <= 1 || (c != 0 && d >= c)) return;
    std::size_t i = 0;
    while (i < candidates.size() && candidates[i] > d) ++i;
    if (i < candidates.size() && candidates[i] == d) return;
    if (candidates.size() < 12) candidates.insert(i, d);
  };
  for (const Term& t : rest.terms) candidate(gcd(t.coefficient, c));
  const std::size_t single = candidates.size();
  for (std::size_t i = 0; i < single && single > 1; ++i) {
    for (std::size_t k = i + 1; k < single; ++k) candidate(gcd(candidates[i], candidates[k]));
  }
  for (const std::int64_t d : candidates) {
    Split split{d, {}, {}};
    split.low.constant = rest.constant;
    for (const Term& t : rest.terms) {
      if (t.coefficient % d == 0) {
        split.high.terms.push_back({t.atom, t.coefficient / d, t.key});
      } else {
        split.low.terms.push_back(t);
      }
    }
    if (split.high.terms.empty() || split.low.terms.empty()) continue;
    std::int64_t j, shift;
    if (!one_bucket(bound(split.low), d, j) || !checked_mul(j, d, shift) ||
        !checked_sub(split.low.constant, shift, split.low.constant)) {
      continue;
    }
    split.high.constant = j;
    return split;
  }
  return std::nullopt;
}

Sum Simplifier::floordiv(const Sum& s, std::int64_t c, const Expr& hint) {
  if (c == 1) return s;
  if (s.is_constant()) return Sum(floor_div(s.constant, c));
  Sum quotient, rest;
  for (const Term& t : s.terms) {
    if (t.coefficient % c == 0) {
      quotient.terms.push_back({t.atom, t.coefficient / c, t.key});
    } else {
      rest.terms.push_back(t);
    }
  }
  quotient.constant = floor_div(s.constant, c);
  rest.constant = floor_mod(s.constant, c);
  if (rest.terms.empty()) return quotient;
  const Sum inner = floordiv_reduced(std::move(rest), c, hint);
  Sum whole = quotient;
  if (!accumulate(whole, inner, 1)) return binary_atom(BinaryOp::FloorDiv, s, Sum(c), hint);
  return whole;
}

/// No coefficient divisible by c, constant in [0, c).
Sum Simplifier::floordiv_reduced(Sum rest, std::int64_t c, const Expr& hint) {
  std::int64_t j;
  if (one_bucket(bound(rest), c, j)) return Sum(j);
  const std::int64_t g = gcd(rest.content(), c);
  if (g > 1) {
    for (Term& t : rest.terms) t.coefficient /= g;
    rest.constant = floor_div(rest.constant, g);
    return floordiv(rest, c / g, hint);
  }
  if (auto split = split_by_range(rest, c)) return floordiv(split->high, c / split->d, hint);
  if (const ExprNode* only = rest.single_atom(); only && rest.terms[0].atom_class() == AtomClass::Mod) {
    const std::int64_t m = divisor_of(rest.terms[0]);
    if (m > 0 && m % c == 0) {
      return floormod(floordiv(read_sum(static_cast<const Binary*>(only)->a), c), m / c);
    }
  }
  if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 &&
      rest.terms[0].atom_class() == AtomClass::Div) {
    const Term& t = rest.terms[0];
    const std::int64_t m = divisor_of(t);
    std::int64_t both;
    Sum inner;  // x + m*k
    if (m > 0 && checked_mul(m, c, both) && checked_mul(rest.constant, m, inner.constant) &&
        accumulate(inner, read_sum(static_cast<const Binary*>(t.atom)->a), 1)) {
      return floordiv(inner, both, hint);
    }
  }
  return binary_atom(BinaryOp::FloorDiv, rest, Sum(c), hint);
}

Sum Simplifier::floormod(const Sum& s, std::int64_t c, const Expr& hint) {
  if (c == 1) return Sum(0);
  if (s.is_constant()) return Sum(floor_mod(s.constant, c));
  std::int64_t j, shift;
  if (one_bucket(bound(s), c, j) && checked_mul(j, c, shift)) {
    Sum shifted = s;
    if (checked_sub(s.constant, shift, shifted.constant)) return shifted;
  }
  Sum rest;
  rest.constant = floor_mod(s.constant, c);
  for (const Term& t : s.terms) {
    if (t.coefficient % c != 0) rest.terms.push_back(t);
  }
  if (rest.terms.empty()) return Sum(rest.constant);
  for (const Term& t : rest.terms) {
    if (t.atom_class() != AtomClass::Mod) continue;
    const std::int64_t m = divisor_of(t);
    if (m <= 0 || static_cast<std::int64_t>(static_cast<__int128>(t.coefficient) * m % c) != 0) continue;
    Sum without = rest;
    if (!accumulate(without, atom_with_key(t.atom, t.key), -t.coefficient) ||
        !accumulate(without, read_sum(static_cast<const Binary*>(t.atom)->a), t.coefficient)) {
      continue;
    }
    return floormod(without, c, hint);
  }
  const ModularSet m = modular(rest);
  if (m.coefficient % c == 0) return Sum(floor_mod(m.base, c));
  if (one_bucket(bound(rest), c, j) && checked_mul(j, c, shift) &&
      checked_sub(rest.constant, shift, rest.constant)) {
    return rest;
  }
  const std::int64_t g = gcd(rest.content(), c);
  if (g > 1) {
    const std::int64_t low = floor_mod(rest.constant, g);
    for (Term& t : rest.terms) t.coefficient /= g;
    rest.constant = floor_div(rest.constant, g);
    Sum out(low);
    if (accumulate(out, floormod(rest, c / g, hint), g)) return out;
    return binary_atom(BinaryOp::FloorMod, s, Sum(c), hint);
  }
  if (auto split = split_by_range(rest, c)) {
    Sum out = split->low;
    if (accumulate(out, floormod(split->high, c / split->d, hint), split->d)) {
      cancel(out);
      return out;
    }
  }
  return binary_atom(BinaryOp::FloorMod, rest, Sum(c), hint);
}

namespace {

/// The factors of a product, last first.
InlineVector<const ExprNode*, 8> factors_of(const ExprNode* e) {
  InlineVector<const ExprNode*, 8> factors;
  for (;;) {
    const auto* m = e->kind == ExprKind::Binary ? static_cast<const Binary*>(e) : nullptr;
    if (!m || m->op != BinaryOp::Mul) break;
    factors.push_back(m->b.get());
    e = m->a.get();
  }
  factors.push_back(e);
  return factors;
}

/// Takes each of `divisors` out of `factors` once; false when one is not there.
bool take_out(InlineVector<const ExprNode*, 8>& factors, const InlineVector<const ExprNode*, 8>& divisors) {
  for (const ExprNode* d : divisors) {
    std::size_t i = 0;
    while (i < factors.size() && !same(factors[i], d)) ++i;
    if (i == factors.size()) return false;
    factors.erase(i);
  }
  return true;
}

}  // namespace

Sum Simplifier::floordiv(const Sum& a, const Sum& b, const Expr& hint) {
  if (b.is_constant()) {
    if (b.constant > 0) return floordiv(a, b.constant, hint);
    if (b.constant == 0 || b.constant == INT64_MIN) return binary_atom(BinaryOp::FloorDiv, a, b, hint);
    Sum negated;
    if (!accumulate(negated, a, -1)) return binary_atom(BinaryOp::FloorDiv, a, b, hint);
    return floordiv(negated, -b.constant, hint);
  }
  if (a.is_constant(0)) return a;
  Sum quotient, rest;
  if (divide_by_sum(a, b, quotient, rest)) {
    Sum gap;  // b - 1 - rest
    const bool below = accumulate(gap, b, 1) && accumulate(gap, rest, -1) && accumulate(gap, Sum(1), -1) &&
                       nonnegative(rest) && nonnegative(gap);
    if (below) return quotient;
    if (just_below_zero(rest, b)) {
      Sum out = quotient;
      if (checked_sub(quotient.constant, 1, out.constant)) return out;
    }
    if (!quotient.is_constant(0) && nonzero(b)) {
      Sum out = quotient;
      if (rest.is_constant(0)) return out;
      if (accumulate(out, binary_atom(BinaryOp::FloorDiv, rest, b, {}), 1)) return out;
    }
  }
  return binary_atom(BinaryOp::FloorDiv, a, b, hint);
}

Sum Simplifier::floormod(const Sum& a, const Sum& b, const Expr& hint) {
  if (b.is_constant()) {
    if (b.constant > 0) return floormod(a, b.constant, hint);
    if (b.constant == 0 || b.constant == INT64_MIN) return binary_atom(BinaryOp::FloorMod, a, b, hint);
    Sum negated, out;  // a % -c = -(-a % c)
    if (!accumulate(negated, a, -1)) return binary_atom(BinaryOp::FloorMod, a, b, hint);
    if (!accumulate(out, floormod(negated, -b.constant, hint), -1)) {
      return binary_atom(BinaryOp::FloorMod, a, b, hint);
    }
    return out;
  }
  if (a.is_constant(0)) return a;
  Sum quotient, rest;
  if (divide_by_sum(a, b, quotient, rest)) {
    Sum gap;
    const bool below = accumulate(gap, b, 1) && accumulate(gap, rest, -1) && accumulate(gap, Sum(1), -1) &&
                       nonnegative(rest) && nonnegative(gap);
    if (below) return rest;
    if (just_below_zero(rest, b)) {
      Sum out = rest;
      if (accumulate(out, b, 1)) return out;
    }
    // (b*q + r) % b = r % b; for b = 0 both sides are 0.
    if (!quotient.is_constant(0)) {
      return rest.is_constant(0) ? rest : binary_atom(BinaryOp::FloorMod, rest, b, {});
    }
  }
  return binary_atom(BinaryOp::FloorMod, a, b, hint);
}

/// -b <= s < 0?
bool Simplifier::just_below_zero(const Sum& s, const Sum& b) {
  if (plain_bound(s).max >= 0) return false;  // the interval decides: this is asked often
  Sum gap = b;
  return accumulate(gap, s, 1) && nonnegative(gap);
}

/// a = b*quotient + rest, term by term, for a divisor of one term (a size, a product of sizes) or, when the
/// whole of `a` is a constant multiple of it, of several.
bool Simplifier::divide_by_sum(const Sum& a, const Sum& b, Sum& quotient, Sum& rest) {
  if (b.terms.size() == 1 && b.constant == 0) {
    const Term& d = b.terms[0];
    const auto divisors = factors_of(d.atom);
    rest.constant = a.constant;
    for (const Term& t : a.terms) {
      auto factors = factors_of(t.atom);
      if (t.coefficient % d.coefficient != 0 || !take_out(factors, divisors)) {
        rest.terms.push_back(t);
        continue;
      }
      Sum q(t.coefficient / d.coefficient);
      for (std::size_t i = factors.size(); i-- > 0;) {
        auto p = product(q, atom(Expr(factors[i])));
        if (!p) return false;
        q = std::move(*p);
      }
      if (!accumulate(quotient, q, 1)) return false;
    }
    return true;
  }
  // A divisor of several terms: a whole multiple only.
  if (a.terms.size() == b.terms.size() && !b.terms.empty() && b.terms[0].coefficient != 0) {
    const std::int64_t k = a.terms[0].coefficient / b.terms[0].coefficient;
    Sum left = a;
    if (k != 0 && accumulate(left, b, -k) && left.is_constant()) {
      quotient = Sum(k);
      rest = left;
      return true;
    }
  }
  rest = a;
  return true;
}

}  // namespace lathe::arith
