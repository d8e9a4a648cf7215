// Congruences: value = coefficient * k + base.

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

constexpr int kMaxModularDepth = 64;

ModularSet normal(std::int64_t coefficient, std::int64_t base) {
  coefficient = magnitude(coefficient);
  if (coefficient == 0) return {0, base};
  return {coefficient, floor_mod(base, coefficient)};
}

ModularSet plus(ModularSet a, ModularSet b) {
  const std::int64_t g = gcd(a.coefficient, b.coefficient);
  std::int64_t base;
  if (!checked_add(a.base, b.base, base)) {
    if (g == 0) return {};
    base = floor_mod(floor_mod(a.base, g) - g + floor_mod(b.base, g), g);
  }
  return normal(g, base);
}

/// (a k + b)(c l + d) = ac kl + ad k + bc l + bd
ModularSet multiply(ModularSet x, ModularSet y) {
  std::int64_t ac, ad, bc, bd;
  if (!checked_mul(x.coefficient, y.coefficient, ac) || !checked_mul(x.coefficient, y.base, ad) ||
      !checked_mul(x.base, y.coefficient, bc) || !checked_mul(x.base, y.base, bd)) {
    return {};
  }
  return normal(gcd(ac, gcd(ad, bc)), bd);
}

/// What holds of both.
ModularSet common(ModularSet a, ModularSet b) {
  std::int64_t difference;
  if (!checked_sub(a.base, b.base, difference)) return {};
  return normal(gcd(gcd(a.coefficient, b.coefficient), difference), a.base);
}

ModularSet divide(ModularSet a, std::int64_t c) {  // c > 0
  if (a.coefficient == 0) return {0, floor_div(a.base, c)};
  if (a.coefficient % c == 0) return normal(a.coefficient / c, floor_div(a.base, c));
  return {};
}

ModularSet remainder(ModularSet a, std::int64_t c) {  // c > 0
  if (a.coefficient == 0) return {0, floor_mod(a.base, c)};
  const std::int64_t g = gcd(a.coefficient, c);
  if (g == c) return {0, floor_mod(a.base, c)};
  return normal(g, a.base);
}

}  // namespace

ModularSet Simplifier::modular(const Sum& s) const {
  ModularSet m{0, s.constant};
  for (const Term& t : s.terms) {
    m = plus(m, multiply(modular_of(t.atom), {0, t.coefficient}));
    if (m.coefficient == 1) return {};
  }
  return m;
}

ModularSet Simplifier::modular_of(const ExprNode* e) const {
  struct Walk {
    const Simplifier& s;
    ModularSet operator()(const ExprNode* e, int depth) const {
      if (depth > kMaxModularDepth || e->dtype != index_type) return {};
      ++depth;
      switch (e->kind) {
        case ExprKind::IntImm: return {0, static_cast<const IntImm*>(e)->value};
        case ExprKind::Var: {
          const std::uint32_t r = s.find(static_cast<const VarNode*>(e));
          if (r == kNone) return {};
          const Variable& v = s.variables_[r];
          if (v.value) return (*this)(v.value.get(), depth);
          return v.bound.is_const() ? ModularSet{0, v.bound.min} : v.modular;
        }
        case ExprKind::Select: {
          const auto* x = static_cast<const Select*>(e);
          return common((*this)(x->if_true.get(), depth), (*this)(x->if_false.get(), depth));
        }
        case ExprKind::Binary: {
          const auto* b = static_cast<const Binary*>(e);
          const ModularSet x = (*this)(b->a.get(), depth);
          switch (b->op) {
            case BinaryOp::Add: return plus(x, (*this)(b->b.get(), depth));
            case BinaryOp::Sub: return plus(x, multiply((*this)(b->b.get(), depth), {0, -1}));
            case BinaryOp::Mul: return multiply(x, (*this)(b->b.get(), depth));
            case BinaryOp::Min:
            case BinaryOp::Max: return common(x, (*this)(b->b.get(), depth));
            case BinaryOp::FloorDiv:
            case BinaryOp::FloorMod: {
              const auto c = as_int(b->b);
              if (!c || *c <= 0) return {};
              return b->op == BinaryOp::FloorDiv ? divide(x, *c) : remainder(x, *c);
            }
            default: return {};
          }
        }
        default: return {};
      }
    }
  };
  return Walk{*this}(e, 0);
}

}  // namespace lathe::arith
