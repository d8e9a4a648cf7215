// Proofs of s >= 0.
//
// A search, depth- and step-limited, over these steps (each makes a sum whose non-negativity implies that of
// s):
//   bounds    the interval of s
//   facts     s = m*f + r for a known f >= 0, m > 0: enough that r >= 0. m cancels a term (Fourier-Motzkin)
//   division  c*(x // c) <= x <= c*(x // c) + c - 1
//   cases     min(x, y) is x or y; a select is one of its sides, under its condition
//   factor    s = v*q + k with v >= 0, k >= 0: enough that q >= 0
// The range of a variable is used only where the variable occurs: `i in 0..n` does not prove n > 0, because
// the loop may run zero times and the question may be asked outside it.

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

constexpr int kMaxProofDepth = 5, kProofSteps = 160;

void divide_content(Sum& s) {
  const std::int64_t g = s.content();
  if (g <= 1) return;
  for (Term& t : s.terms) t.coefficient /= g;
  s.constant = floor_div(s.constant, g);
}

}  // namespace

bool Simplifier::nonnegative(const Sum& s) {
  const ConstBound b = plain_bound(s);
  if (b.min >= 0) return true;
  if (b.max < 0 || s.is_constant()) return false;
  bool compound = false;
  for (const Term& t : s.terms) compound |= t.atom_class() != AtomClass::Var;
  if (!compound && assumed_.empty() && ranges_.empty()) return false;
  if (steps_ > 0) return prove(s, kMaxProofDepth - 1);  // asked from inside a proof
  if (budget_ <= 0) return false;
  steps_ = kProofSteps;
  Sum reduced = s;
  divide_content(reduced);
  const bool proved = prove(reduced, kMaxProofDepth);
  steps_ = 0;
  return proved;
}

bool Simplifier::nonzero(const Sum& s) {
  const ConstBound b = plain_bound(s);
  if (b.min > 0 || b.max < 0) return true;
  const ModularSet m = modular(s);
  if (m.base != 0) return true;
  Sum above = s, below;
  return (checked_sub(s.constant, 1, above.constant) && nonnegative(above)) ||
         (accumulate(below, s, -1) && checked_sub(below.constant, 1, below.constant) && nonnegative(below));
}

bool Simplifier::prove(const Sum& given, int depth) {
  Sum s = given;
  divide_content(s);
  const ConstBound b = plain_bound(s);
  if (b.min >= 0) return true;
  if (b.max < 0 || depth == 0 || steps_ <= 1) return false;
  --steps_;
  --budget_;
  --depth;
  return prove_by_facts(s, assumed_, depth) || prove_by_facts(s, ranges_, depth) ||
         prove_by_factor(s, depth) || prove_by_division(s, depth) || prove_by_cases(s, depth);
}

bool Simplifier::prove_by_facts(const Sum& s, const std::vector<Fact>& facts, int depth) {
  // By index: a case distinction further down adds to the list and may move it.
  for (std::size_t i = facts.size(); i-- > 0;) {
    for (std::size_t k = 0; k < facts[i].sum.terms.size(); ++k) {
      const Term f = facts[i].sum.terms[k];
      if (facts[i].var && f.atom != facts[i].var) continue;
      for (const Term& t : s.terms) {
        if (t.key != f.key || (t.coefficient < 0) != (f.coefficient < 0) || !same(t.atom, f.atom)) continue;
        const std::int64_t g = gcd(t.coefficient, f.coefficient);
        Sum rest;
        if (accumulate(rest, s, magnitude(f.coefficient) / g) &&
            accumulate(rest, facts[i].sum, -(magnitude(t.coefficient) / g)) && prove(rest, depth)) {
          return true;
        }
        if (steps_ <= 1) return false;
      }
    }
  }
  return false;
}

bool Simplifier::prove_by_factor(const Sum& s, int depth) {
  if (s.constant < 0 || s.terms[0].atom_class() != AtomClass::Product) return false;
  Sum products = s;
  products.constant = 0;
  const ExprNode* e = s.terms[0].atom;
  for (;;) {
    const auto* m = e->kind == ExprKind::Binary ? static_cast<const Binary*>(e) : nullptr;
    const bool chain = m && m->op == BinaryOp::Mul;
    const Sum factor = atom(Expr(chain ? m->b.get() : e));
    Sum quotient, rest;
    if (plain_bound(factor).min >= 0 && divide_by_sum(products, factor, quotient, rest) &&
        rest.is_constant(0) && prove(quotient, depth)) {
      return true;
    }
    if (!chain) return false;
    e = m->a.get();
  }
}

bool Simplifier::prove_by_division(const Sum& s, int depth) {
  for (const Term& t : s.terms) {
    if (t.atom_class() != AtomClass::Div && t.atom_class() != AtomClass::Mod) continue;
    const auto c = as_int(binary_of(t).b);
    if (!c || *c <= 0) continue;
    const Sum x = read_sum(binary_of(t).a);
    Sum rest = s;
    if (!accumulate(rest, atom_with_key(t.atom, t.key), -t.coefficient)) continue;
    Sum weaker;
    if (t.atom_class() == AtomClass::Div) {
      // c*s = c*rest + a*(c*(x//c)), and c*(x//c) lies in [x - c + 1, x].
      if (!accumulate(weaker, rest, *c) || !accumulate(weaker, x, t.coefficient)) continue;
      std::int64_t slack;
      if (t.coefficient > 0 && (!checked_mul(t.coefficient, *c - 1, slack) ||
                                !checked_sub(weaker.constant, slack, weaker.constant))) {
        continue;
      }
    } else {
      // x % c <= x for x >= 0
      if (t.coefficient > 0 || plain_bound(x).min < 0) continue;
      weaker = rest;
      if (!accumulate(weaker, x, t.coefficient)) continue;
    }
    if (prove(weaker, depth)) return true;
    if (steps_ <= 1) return false;
  }
  return false;
}

bool Simplifier::prove_by_cases(const Sum& s, int depth) {
  for (const Term& t : s.terms) {
    const AtomClass cls = t.atom_class();
    if (cls != AtomClass::Min && cls != AtomClass::Max && cls != AtomClass::Select) continue;
    Sum rest = s;
    if (!accumulate(rest, atom_with_key(t.atom, t.key), -t.coefficient)) continue;
    auto with = [&](const Expr& value) {
      Sum one = rest;
      return accumulate(one, read_sum(value), t.coefficient) && prove(one, depth);
    };
    if (cls == AtomClass::Select) {
      const auto& select = *static_cast<const Select*>(t.atom);
      Mark mark = assume_simplified(select.condition);
      const bool first = with(select.if_true);
      retract(mark);
      if (!first) continue;
      mark = assume_simplified(negation(select.condition));
      const bool second = with(select.if_false);
      retract(mark);
      if (second) return true;
    } else {
      const Binary& e = binary_of(t);
      // The operator bounds its value from the side that matters: either operand will do.
      const bool either = (cls == AtomClass::Min) == (t.coefficient < 0);
      if (either ? with(e.a) || with(e.b) : with(e.a) && with(e.b)) return true;
    }
    if (steps_ <= 1) return false;
  }
  return false;
}

}  // namespace lathe::arith
