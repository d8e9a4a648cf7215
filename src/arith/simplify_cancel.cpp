// Cancellation between the atoms of one sum:
//   a*c*(x // c) + a*(x % c) = a*x      (split and fused again)
//   min(x, y) - x = min(0, y - x)       (the extent of a clipped tile)
//   a*c*(x // c) = a*(x - r)            where x = r modulo c is known

#include "arith/simplifier.h"

namespace lathe::arith {

void Simplifier::cancel(Sum& s) {
  constexpr int kMaxRounds = 16;
  for (int round = 0; round < kMaxRounds; ++round) {
    const bool changed =
        (s.has(AtomClass::Div) && undo_exact_division(s)) ||
        (s.has(AtomClass::Mod) && s.terms.size() > 1 && cancel_one_remainder(s)) ||
        (s.terms.size() > 1 && (s.has(AtomClass::Min) || s.has(AtomClass::Max)) && absorb_extremum(s));
    if (!changed) return;
  }
}

/// a*c*(x // c) = a*(x - r) where x is known to be r modulo c.
bool Simplifier::undo_exact_division(Sum& s) {
  for (const Term& t : s.terms) {
    if (t.atom_class() != AtomClass::Div) continue;
    const auto* div = static_cast<const Binary*>(t.atom);
    const auto c = as_int(div->b);
    if (!c || *c <= 0 || t.coefficient % *c != 0) continue;
    const ModularSet m = modular_of(div->a.get());
    if (m.coefficient == 0 || m.coefficient % *c != 0) continue;
    Sum x = read_sum(div->a), out = s;
    if (checked_sub(x.constant, floor_mod(m.base, *c), x.constant) &&
        accumulate(out, x, t.coefficient / *c) && accumulate(out, term(t), -t.coefficient)) {
      s = std::move(out);
      return true;
    }
  }
  return false;
}

/// For a term a*(x % c): adds a*x - a*c*(x // c) - a*(x % c), which is 0, and keeps the result if it is
/// shorter.
bool Simplifier::cancel_one_remainder(Sum& s) {
  if (!s.has(AtomClass::Div) && !s.has(AtomClass::Product)) {
    // The quotient may be a plain variable, as in (v + 8*u) % 8: but then it was reduced before.
    return false;
  }
  for (const Term& t : s.terms) {
    if (t.atom_class() != AtomClass::Mod) continue;
    const auto* mod = static_cast<const Binary*>(t.atom);
    const Expr& divisor = mod->b;
    const auto c = as_int(divisor);
    if (c) {
      std::int64_t wanted;
      if (*c <= 0 || !checked_mul(t.coefficient, *c, wanted)) continue;
      bool candidate = false;
      for (const Term& d : s.terms) candidate |= d.atom_class() == AtomClass::Div && d.coefficient == wanted;
      if (!candidate) continue;
    }
    const Sum x = read_sum(mod->a), d = read_sum(divisor);
    if (!c && !nonzero(d)) continue;
    const auto back = product(d, floordiv(x, d));
    Sum shorter = s;
    if (!back || !accumulate(shorter, *back, -t.coefficient) || !accumulate(shorter, x, t.coefficient) ||
        !accumulate(shorter, atom_with_key(t.atom, t.key), -t.coefficient)) {
      continue;
    }
    if (shorter.terms.size() < s.terms.size()) {
      s = std::move(shorter);
      return true;
    }
  }
  return false;
}

/// a*min(x, y) + r, where r = -a*x + r': a*min(0, y - x) + r'. The part of r moved is what cancels against a
/// term of x or y.
bool Simplifier::absorb_extremum(Sum& s) {
  for (const Term& t : s.terms) {
    if (t.atom_class() != AtomClass::Min && t.atom_class() != AtomClass::Max) continue;
    const auto* e = static_cast<const Binary*>(t.atom);
    const Sum x = read_sum(e->a), y = read_sum(e->b);
    Sum moved;  // in units of the coefficient
    for (const Term& other : s.terms) {
      if (other.atom == t.atom || other.coefficient % t.coefficient != 0) continue;
      const std::int64_t c = other.coefficient / t.coefficient;
      auto cancels = [&](const Sum& in) {
        for (const Term& u : in.terms) {
          if (u.key == other.key && u.coefficient == -c && same(u.atom, other.atom)) return true;
        }
        return false;
      };
      if (cancels(x) || cancels(y)) moved.terms.push_back({other.atom, c, other.key});
    }
    if (moved.terms.empty()) continue;
    Sum new_x = x, new_y = y, rest = s;
    if (!accumulate(new_x, moved, 1) || !accumulate(new_y, moved, 1) ||
        !accumulate(rest, moved, -t.coefficient) ||
        !accumulate(rest, atom_with_key(t.atom, t.key), -t.coefficient)) {
      continue;
    }
    // What cancels once must not come back: count the terms inside and outside.
    if (new_x.terms.size() + new_y.terms.size() + rest.terms.size() + 1 >=
        x.terms.size() + y.terms.size() + s.terms.size()) {
      continue;
    }
    if (accumulate(rest, extremum(e->op, new_x, new_y), t.coefficient)) {
      s = std::move(rest);
      return true;
    }
  }
  return false;
}

}  // namespace lathe::arith
