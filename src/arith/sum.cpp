// Arithmetic on sums; sums to expressions and back.

#include "arith/simplifier.h"

namespace lathe::arith {

const ExprNode* Simplifier::keep(Expr e) {
  kept_.push_back(std::move(e));
  return kept_.back().get();
}

Sum Simplifier::atom_with_key(const ExprNode* e, std::uint64_t key) const {
  Sum s;
  s.terms.push_back({e, 1, key});
  return s;
}

Sum Simplifier::atom(const Expr& e) {
  if (auto value = as_int(e)) return Sum(*value);
  return atom_with_key(keep(e), key_of(e.get()));
}

Sum Simplifier::opaque(const Expr& e) { return atom(e); }

/// The node `op(a, b)`; `hint` when it is that already.
Sum Simplifier::binary_atom(BinaryOp op, const Sum& a, const Sum& b, const Expr& hint) {
  const Binary* h = hint ? as_binary(hint, op) : nullptr;
  Expr x = to_expr(a, h ? h->a : Expr()), y = to_expr(b, h ? h->b : Expr());
  std::uint64_t rank = kNone;
  if (!a.terms.empty()) rank = std::min(rank, a.terms[0].key >> 8);
  if (!b.terms.empty()) rank = std::min(rank, b.terms[0].key >> 8);
  const auto cls = op == BinaryOp::FloorDiv   ? AtomClass::Div
                   : op == BinaryOp::FloorMod ? AtomClass::Mod
                   : op == BinaryOp::Min      ? AtomClass::Min
                   : op == BinaryOp::Max      ? AtomClass::Max
                   : op == BinaryOp::Mul      ? AtomClass::Product
                                              : AtomClass::Other;
  const std::uint64_t key = rank << 8 | static_cast<std::uint64_t>(cls);
  if (h && x.same_as(h->a) && y.same_as(h->b)) return atom_with_key(keep(hint), key);
  return atom_with_key(keep(Expr(new Binary(op, std::move(x), std::move(y)))), key);
}

bool Simplifier::add_term(Sum& into, Term t) {
  if (t.coefficient == 0) return true;
  std::size_t i = into.terms.size();
  while (i > 0) {
    Term& other = into.terms[i - 1];
    if (other.key < t.key) break;
    if (other.key == t.key) {
      if (same(other.atom, t.atom)) {
        if (!checked_add(other.coefficient, t.coefficient, other.coefficient)) return false;
        if (other.coefficient == 0) into.terms.erase(i - 1);
        return true;
      }
      if (compare_nodes(other.atom, t.atom, 0) < 0) break;
    }
    --i;
  }
  into.terms.insert(i, t);
  return true;
}

bool Simplifier::accumulate(Sum& into, const Sum& s, std::int64_t factor) {
  if (factor == 0) return true;
  std::int64_t c;
  if (!checked_mul(s.constant, factor, c) || !checked_add(into.constant, c, into.constant)) return false;
  for (const Term& t : s.terms) {
    Term scaled = t;
    if (!checked_mul(t.coefficient, factor, scaled.coefficient) || scaled.coefficient == INT64_MIN) {
      return false;
    }
    if (!add_term(into, scaled)) return false;
  }
  return true;
}

namespace {

/// The factors of a product atom; the atom itself when it is none.
void collect_factors(const ExprNode* e, InlineVector<const ExprNode*, 8>& out) {
  const auto* b = e->kind == ExprKind::Binary ? static_cast<const Binary*>(e) : nullptr;
  if (b && b->op == BinaryOp::Mul) {
    collect_factors(b->a.get(), out);
    collect_factors(b->b.get(), out);
  } else {
    out.push_back(e);
  }
}

constexpr std::size_t kMaxProductTerms = 16, kMaxFactors = 8;

}  // namespace

/// The product of two atoms, its factors sorted; null when it has too many. Nodes that are that already are
/// used again.
const ExprNode* Simplifier::product_atom(const ExprNode* x, const ExprNode* y, const Expr& hint) {
  InlineVector<const ExprNode*, 8> factors, of_x;
  collect_factors(x, of_x);
  factors = of_x;
  collect_factors(y, factors);
  if (factors.size() > kMaxFactors) return nullptr;
  std::stable_sort(factors.begin(), factors.end(), [&](const ExprNode* p, const ExprNode* q) {
    const std::uint64_t kp = key_of(p), kq = key_of(q);
    return kp != kq ? kp < kq : compare_nodes(p, q, 0) < 0;
  });
  const bool x_first = std::equal(of_x.begin(), of_x.end(), factors.begin());
  Expr chain(x_first ? x : factors[0]);
  for (std::size_t i = x_first ? of_x.size() : 1; i < factors.size(); ++i) {
    const Binary* h = hint.defined() ? as_binary(hint, BinaryOp::Mul) : nullptr;
    if (h && h->a.same_as(chain) && h->b.get() == factors[i]) {
      chain = hint;
    } else {
      chain = Expr(new Binary(BinaryOp::Mul, std::move(chain), Expr(factors[i])));
    }
  }
  return keep(std::move(chain));
}

std::optional<Sum> Simplifier::product(const Sum& a, const Sum& b, const Expr& hint) {
  Sum out;
  if (a.is_constant() || b.is_constant()) {
    const bool first = a.is_constant();
    if (!accumulate(out, first ? b : a, first ? a.constant : b.constant)) return std::nullopt;
    return out;
  }
  if (a.terms.size() * b.terms.size() > kMaxProductTerms) return std::nullopt;
  if (!checked_mul(a.constant, b.constant, out.constant)) return std::nullopt;
  Sum no_constant_a = a, no_constant_b = b;
  no_constant_a.constant = no_constant_b.constant = 0;
  if (!accumulate(out, no_constant_a, b.constant) || !accumulate(out, no_constant_b, a.constant)) {
    return std::nullopt;
  }
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      const ExprNode* chain = product_atom(x.atom, y.atom, hint);
      if (!chain) return std::nullopt;
      Term t{chain, 1, 0};
      t.key = (std::min(x.key, y.key) & ~std::uint64_t{0xff}) | static_cast<unsigned>(AtomClass::Product);
      if (!checked_mul(x.coefficient, y.coefficient, t.coefficient) || t.coefficient == INT64_MIN ||
          !add_term(out, t)) {
        return std::nullopt;
      }
    }
  }
  return out;
}

// ---- to expressions
// -------------------------------------------------------------------------------------------

Expr Simplifier::piece(const Term& t, std::int64_t coefficient) {
  if (coefficient == 1) return Expr(t.atom);
  return Expr(new Binary(BinaryOp::Mul, Expr(t.atom), make_index(coefficient)));
}

namespace {

bool is_piece(const Expr& e, const ExprNode* atom, std::int64_t coefficient) {
  if (coefficient == 1) return e.get() == atom;
  const Binary* b = as_binary(e, BinaryOp::Mul);
  return b && b->a.get() == atom && b->b.kind() == ExprKind::IntImm && is_int(b->b, coefficient);
}

/// The terms as they are written: positive ones first, then those subtracted, then the constant.
struct Written {
  InlineVector<std::uint32_t, 12> order;
  bool constant_first = false, constant_last = false;
  explicit Written(const Sum& s) {
    for (std::uint32_t i = 0; i < s.terms.size(); ++i) {
      if (s.terms[i].coefficient > 0) order.push_back(i);
    }
    constant_first = order.empty() && s.constant > 0;
    constant_last = s.constant != 0 && !constant_first;
    for (std::uint32_t i = 0; i < s.terms.size(); ++i) {
      if (s.terms[i].coefficient < 0) order.push_back(i);
    }
  }
};

}  // namespace

bool Simplifier::matches(const Sum& s, const Expr& hint) const {
  const ExprNode* e = hint.get();
  if (s.terms.empty()) {
    return e->kind == ExprKind::IntImm && static_cast<const IntImm*>(e)->value == s.constant;
  }
  const Written w(s);
  Expr at = hint;
  if (w.constant_last) {
    const bool minus = s.constant < 0 && s.constant != INT64_MIN;
    const Binary* b = as_binary(at, minus ? BinaryOp::Sub : BinaryOp::Add);
    if (!b || b->b.kind() != ExprKind::IntImm || !is_int(b->b, minus ? -s.constant : s.constant)) {
      return false;
    }
    at = b->a;
  }
  for (std::size_t i = w.order.size(); i-- > 0;) {
    const Term& t = s.terms[w.order[i]];
    if (i == 0 && !w.constant_first) return is_piece(at, t.atom, t.coefficient);
    const Binary* b = as_binary(at, t.coefficient > 0 ? BinaryOp::Add : BinaryOp::Sub);
    if (!b || !is_piece(b->b, t.atom, magnitude(t.coefficient))) return false;
    at = b->a;
  }
  return at.kind() == ExprKind::IntImm && is_int(at, s.constant);
}

Expr Simplifier::to_expr(const Sum& s, const Expr& hint) {
  if (hint.defined() && hint.dtype() == index_type && matches(s, hint)) return hint;
  if (s.terms.empty()) return make_index(s.constant);
  const Written w(s);
  Expr e;
  if (w.constant_first) e = make_index(s.constant);
  for (std::uint32_t i : w.order) {
    const Term& t = s.terms[i];
    if (!e.defined()) {
      e = piece(t, t.coefficient);
    } else {
      e = Expr(new Binary(t.coefficient > 0 ? BinaryOp::Add : BinaryOp::Sub, std::move(e),
                          piece(t, magnitude(t.coefficient))));
    }
  }
  if (w.constant_last) {
    const bool minus = s.constant < 0 && s.constant != INT64_MIN;
    e = Expr(new Binary(minus ? BinaryOp::Sub : BinaryOp::Add, std::move(e),
                        make_index(minus ? -s.constant : s.constant)));
  }
  return e;
}

}  // namespace lathe::arith
