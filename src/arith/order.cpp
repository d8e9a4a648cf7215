// Keys of atoms, and a total order by structure.

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

constexpr int kMaxComparedDepth = 96;

bool same_nodes(const ExprNode* a, const ExprNode* b, int depth);

bool same_lists(const std::vector<Expr>& a, const std::vector<Expr>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_nodes(a[i].get(), b[i].get(), depth)) return false;
  }
  return true;
}

bool same_nodes(const ExprNode* a, const ExprNode* b, int depth) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->dtype != b->dtype || depth > kMaxComparedDepth) return false;
  ++depth;
  switch (a->kind) {
    case ExprKind::IntImm:
      return static_cast<const IntImm*>(a)->value == static_cast<const IntImm*>(b)->value;
    case ExprKind::FloatImm: {
      const double x = static_cast<const FloatImm*>(a)->value, y = static_cast<const FloatImm*>(b)->value;
      return std::memcmp(&x, &y, sizeof x) == 0;  // by bits: -0 differs from 0, a NaN equals itself
    }
    case ExprKind::Var: return false;
    case ExprKind::Binary: {
      const auto *x = static_cast<const Binary*>(a), *y = static_cast<const Binary*>(b);
      return x->op == y->op && same_nodes(x->a.get(), y->a.get(), depth) &&
             same_nodes(x->b.get(), y->b.get(), depth);
    }
    case ExprKind::Not:
      return same_nodes(static_cast<const Not*>(a)->a.get(), static_cast<const Not*>(b)->a.get(), depth);
    case ExprKind::Cast:
      return same_nodes(static_cast<const Cast*>(a)->a.get(), static_cast<const Cast*>(b)->a.get(), depth);
    case ExprKind::Select: {
      const auto *x = static_cast<const Select*>(a), *y = static_cast<const Select*>(b);
      return same_nodes(x->condition.get(), y->condition.get(), depth) &&
             same_nodes(x->if_true.get(), y->if_true.get(), depth) &&
             same_nodes(x->if_false.get(), y->if_false.get(), depth);
    }
    case ExprKind::Load: {
      const auto *x = static_cast<const Load*>(a), *y = static_cast<const Load*>(b);
      return x->buffer.get() == y->buffer.get() && same_lists(x->indices, y->indices, depth) &&
             same_nodes(x->mask.get(), y->mask.get(), depth);
    }
    case ExprKind::Call: {
      const auto *x = static_cast<const Call*>(a), *y = static_cast<const Call*>(b);
      return x->op == y->op && x->symbol == y->symbol && same_lists(x->args, y->args, depth);
    }
    case ExprKind::Ramp: {
      const auto *x = static_cast<const Ramp*>(a), *y = static_cast<const Ramp*>(b);
      return same_nodes(x->base.get(), y->base.get(), depth) &&
             same_nodes(x->stride.get(), y->stride.get(), depth);
    }
    case ExprKind::Broadcast:
      return same_nodes(static_cast<const Broadcast*>(a)->value.get(),
                        static_cast<const Broadcast*>(b)->value.get(), depth);
  }
  return false;
}

template <class T>
int three_way(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

AtomClass class_of(const ExprNode* e) {
  if (e->kind == ExprKind::Var) return AtomClass::Var;
  if (e->kind == ExprKind::Select) return AtomClass::Select;
  if (e->kind != ExprKind::Binary) return AtomClass::Other;
  switch (static_cast<const Binary*>(e)->op) {
    case BinaryOp::Mul: return AtomClass::Product;
    case BinaryOp::FloorDiv: return AtomClass::Div;
    case BinaryOp::FloorMod: return AtomClass::Mod;
    case BinaryOp::Min: return AtomClass::Min;
    case BinaryOp::Max: return AtomClass::Max;
    default: return AtomClass::Other;
  }
}

}  // namespace

bool same(const ExprNode* a, const ExprNode* b) { return same_nodes(a, b, 0); }

std::uint64_t Simplifier::key_of(const ExprNode* e) {
  return std::uint64_t{min_rank(e)} << 8 | static_cast<std::uint64_t>(class_of(e));
}

/// The smallest rank of the variables below `e`. Meeting a variable for the first time ranks it.
std::uint32_t Simplifier::min_rank(const ExprNode* e) {
  if (!e) return kNone;
  auto of_list = [&](const std::vector<Expr>& list) {
    std::uint32_t r = kNone;
    for (const Expr& x : list) r = std::min(r, min_rank(x.get()));
    return r;
  };
  if (depth_ > 2 * kMaxComparedDepth || ++visits_ > 4 * kVisits) return kNone;
  ++depth_;
  std::uint32_t r = kNone;
  switch (e->kind) {
    case ExprKind::IntImm:
    case ExprKind::FloatImm: break;
    case ExprKind::Var: r = rank(static_cast<const VarNode*>(e)); break;
    case ExprKind::Binary: {
      const auto* b = static_cast<const Binary*>(e);
      r = min_rank(b->a.get());
      r = std::min(r, min_rank(b->b.get()));
      break;
    }
    case ExprKind::Not: r = min_rank(static_cast<const Not*>(e)->a.get()); break;
    case ExprKind::Cast: r = min_rank(static_cast<const Cast*>(e)->a.get()); break;
    case ExprKind::Select: {
      const auto* s = static_cast<const Select*>(e);
      r = min_rank(s->condition.get());
      r = std::min(r, min_rank(s->if_true.get()));
      r = std::min(r, min_rank(s->if_false.get()));
      break;
    }
    case ExprKind::Load:
      buffer_rank(static_cast<const Load*>(e)->buffer.get());
      r = of_list(static_cast<const Load*>(e)->indices);
      break;
    case ExprKind::Call: r = of_list(static_cast<const Call*>(e)->args); break;
    case ExprKind::Ramp: r = min_rank(static_cast<const Ramp*>(e)->base.get()); break;
    case ExprKind::Broadcast: r = min_rank(static_cast<const Broadcast*>(e)->value.get()); break;
  }
  --depth_;
  return r;
}

std::uint32_t Simplifier::buffer_rank(const BufferNode* b) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i] == b) return static_cast<std::uint32_t>(i);
  }
  buffers_.push_back(b);
  return static_cast<std::uint32_t>(buffers_.size() - 1);
}

int Simplifier::compare_nodes(const ExprNode* a, const ExprNode* b, int depth) const {
  if (a == b || depth > kMaxComparedDepth) return 0;
  if (!a || !b) return a ? 1 : -1;
  if (int c = three_way(a->kind, b->kind)) return c;
  const auto type = [](DataType t) {
    return static_cast<std::uint32_t>(t.code) << 24 | std::uint32_t{t.bits} << 16 | t.lanes;
  };
  if (int c = three_way(type(a->dtype), type(b->dtype))) return c;
  ++depth;
  auto lists = [&](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    if (int c = three_way(x.size(), y.size())) return c;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (int c = compare_nodes(x[i].get(), y[i].get(), depth)) return c;
    }
    return 0;
  };
  switch (a->kind) {
    case ExprKind::IntImm:
      return three_way(static_cast<const IntImm*>(a)->value, static_cast<const IntImm*>(b)->value);
    case ExprKind::FloatImm: {
      std::uint64_t x, y;
      std::memcpy(&x, &static_cast<const FloatImm*>(a)->value, sizeof x);
      std::memcpy(&y, &static_cast<const FloatImm*>(b)->value, sizeof y);
      return three_way(x, y);
    }
    case ExprKind::Var:
      return three_way(find(static_cast<const VarNode*>(a)), find(static_cast<const VarNode*>(b)));
    case ExprKind::Binary: {
      const auto *x = static_cast<const Binary*>(a), *y = static_cast<const Binary*>(b);
      if (int c = three_way(x->op, y->op)) return c;
      if (int c = compare_nodes(x->a.get(), y->a.get(), depth)) return c;
      return compare_nodes(x->b.get(), y->b.get(), depth);
    }
    case ExprKind::Not:
      return compare_nodes(static_cast<const Not*>(a)->a.get(), static_cast<const Not*>(b)->a.get(), depth);
    case ExprKind::Cast:
      return compare_nodes(static_cast<const Cast*>(a)->a.get(), static_cast<const Cast*>(b)->a.get(), depth);
    case ExprKind::Select: {
      const auto *x = static_cast<const Select*>(a), *y = static_cast<const Select*>(b);
      if (int c = compare_nodes(x->condition.get(), y->condition.get(), depth)) return c;
      if (int c = compare_nodes(x->if_true.get(), y->if_true.get(), depth)) return c;
      return compare_nodes(x->if_false.get(), y->if_false.get(), depth);
    }
    case ExprKind::Load: {
      const auto *x = static_cast<const Load*>(a), *y = static_cast<const Load*>(b);
      if (int c = lists(x->indices, y->indices)) return c;
      if (int c = three_way(buffer_rank(x->buffer.get()), buffer_rank(y->buffer.get()))) return c;
      return compare_nodes(x->mask.get(), y->mask.get(), depth);
    }
    case ExprKind::Call: {
      const auto *x = static_cast<const Call*>(a), *y = static_cast<const Call*>(b);
      if (int c = three_way(x->op, y->op)) return c;
      if (int c = x->symbol.compare(y->symbol)) return c;
      return lists(x->args, y->args);
    }
    case ExprKind::Ramp: {
      const auto *x = static_cast<const Ramp*>(a), *y = static_cast<const Ramp*>(b);
      if (int c = compare_nodes(x->base.get(), y->base.get(), depth)) return c;
      return compare_nodes(x->stride.get(), y->stride.get(), depth);
    }
    case ExprKind::Broadcast:
      return compare_nodes(static_cast<const Broadcast*>(a)->value.get(),
                           static_cast<const Broadcast*>(b)->value.get(), depth);
  }
  return 0;
}

int Simplifier::compare(const Sum& a, const Sum& b) const {
  const std::size_t n = std::min(a.terms.size(), b.terms.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (int c = three_way(a.terms[i].key, b.terms[i].key)) return c;
    if (int c = compare_nodes(a.terms[i].atom, b.terms[i].atom, 0)) return c;
    if (int c = three_way(a.terms[i].coefficient, b.terms[i].coefficient)) return c;
  }
  if (int c = three_way(a.terms.size(), b.terms.size())) return c;
  return three_way(a.constant, b.constant);
}

/// As `compare` == 0, but never for atoms too deep to be compared.
bool Simplifier::identical(const Sum& a, const Sum& b) {
  if (a.terms.size() != b.terms.size() || a.constant != b.constant) return false;
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].coefficient != b.terms[i].coefficient || !same(a.terms[i].atom, b.terms[i].atom)) {
      return false;
    }
  }
  return true;
}

}  // namespace lathe::arith
