// And, or, not. The right side of && is simplified knowing the left, that of || knowing its negation.
// Operands keep their order: the left one may be what makes the right one safe to evaluate.

#include <algorithm>

#include "arith/simplifier.h"

namespace lathe::arith {
namespace {

Expr boolean_literal(bool value) { return value ? true_expr() : make_int(boolean, 0); }

bool has_load(const Expr& e) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    found |= x.kind() == ExprKind::Load || x.kind() == ExprKind::Call;
    return !found;
  });
  return found;
}

/// Operands of a chain of `op`, in order.
void collect(const Expr& e, BinaryOp op, std::vector<Expr>& out) {
  if (const Binary* b = as_binary(e, op)) {
    collect(b->a, op, out);
    collect(b->b, op, out);
  } else {
    out.push_back(e);
  }
}

Expr chain(const std::vector<Expr>& operands, BinaryOp op, const Expr& hint) {
  std::vector<Expr> old;
  collect(hint, op, old);
  bool kept = old.size() == operands.size();
  for (std::size_t i = 0; kept && i < old.size(); ++i) kept = old[i].same_as(operands[i]);
  if (kept) return hint;
  Expr e = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) e = Expr(new Binary(op, std::move(e), operands[i]));
  return e;
}

}  // namespace

/// `condition`, or a literal when an assumed truth decides it.
Expr Simplifier::known_truth(const Expr& condition) {
  if (truths_.empty() || condition.kind() == ExprKind::IntImm) return condition;
  for (const Expr& t : truths_) {
    if (same(t, condition)) return true_expr();
  }
  const Expr opposite = negation(condition);
  for (const Expr& t : truths_) {
    if (same(t, opposite)) return boolean_literal(false);
  }
  return condition;
}

/// Does the index comparison `fact` imply `condition`?
bool Simplifier::implied_by(const Expr& condition, const Expr& fact) {
  if (same(condition, fact)) return true;
  auto wanted = as_nonnegative(condition);
  if (!wanted || !as_nonnegative(fact)) return false;
  const Mark mark = assume_simplified(fact);
  const bool proved = nonnegative(*wanted);
  retract(mark);
  return proved;
}

Expr Simplifier::simplify_junction(const Binary& b, const Expr& self) {
  const bool is_and = b.op == BinaryOp::And;
  const int impure = impure_;
  const Expr left = simplify(b.a);
  if (const auto value = as_int(left)) return (*value != 0) == is_and ? simplify(b.b) : left;
  const bool pure_left = impure_ == impure;
  const Mark mark = assume_simplified(is_and ? left : negation(left));
  const Expr right = simplify(b.b);
  retract(mark);
  if (const auto value = as_int(right)) {
    if ((*value != 0) == is_and) return left;
    if (pure_left) return right;
  }
  if (impure_ != impure) return chain({left, right}, b.op, self);
  return join(b.op, left, right, self);
}

/// left && right (or ||) of simplified operands, the right one simplified knowing the left.
Expr Simplifier::join(BinaryOp op, const Expr& left, const Expr& right, const Expr& hint) {
  const bool is_and = op == BinaryOp::And;
  if (const auto value = as_int(left)) return (*value != 0) == is_and ? right : left;
  if (const auto value = as_int(right)) return (*value != 0) == is_and ? left : right;
  constexpr std::size_t kMaxCompared = 16;
  std::vector<Expr> operands, more;
  collect(left, op, operands);
  collect(right, op, more);
  // What a later operand makes superfluous is dropped, unless the later one, or one between them, needs its protection.
  const auto protected_up_to = std::find_if(operands.rbegin(), operands.rend(), has_load).base();
  const auto unprotected = static_cast<std::size_t>(protected_up_to - operands.begin());
  for (const Expr& later : more) {
    if (has_load(later)) break;
    if (operands.size() > kMaxCompared) continue;
    operands.erase(std::remove_if(operands.begin() + static_cast<std::ptrdiff_t>(unprotected), operands.end(),
                                  [&](const Expr& earlier) {
                                    return is_and ? implied_by(earlier, later) : implied_by(later, earlier);
                                  }),
                   operands.end());
  }
  operands.insert(operands.end(), more.begin(), more.end());
  return chain(operands, op, hint);
}

Expr Simplifier::simplify_not(const Not& n, const Expr& self) {
  const Expr a = simplify(n.a);
  if (a.dtype().is_vector()) return a.same_as(n.a) ? self : Expr(new Not(a));
  const Expr r = negation(a);
  if (const Not* kept = r.as<Not>(); kept && kept->a.same_as(n.a)) return self;
  return known_truth(r);
}

Expr Simplifier::negation(const Expr& c) {
  if (auto value = as_int(c); value && !c.dtype().is_vector()) return boolean_literal(*value == 0);
  if (const Not* n = c.as<Not>()) return n->a;
  const Binary* b = c.as<Binary>();
  if (!b || c.dtype().is_vector()) return Expr(new Not(c));
  if (b->op == BinaryOp::And || b->op == BinaryOp::Or) {
    return Expr(
        new Binary(b->op == BinaryOp::And ? BinaryOp::Or : BinaryOp::And, negation(b->a), negation(b->b)));
  }
  if (b->op == BinaryOp::Eq || b->op == BinaryOp::Ne) {
    return Expr(new Binary(b->op == BinaryOp::Eq ? BinaryOp::Ne : BinaryOp::Eq, b->a, b->b));
  }
  // A float comparison is false for NaN, and so is its counterpart.
  if (!is_comparison(b->op) || b->a.dtype().is_float()) return Expr(new Not(c));
  static constexpr BinaryOp kNegated[] = {BinaryOp::Ge, BinaryOp::Gt, BinaryOp::Le, BinaryOp::Lt};
  const Expr turned(
      new Binary(kNegated[static_cast<int>(b->op) - static_cast<int>(BinaryOp::Lt)], b->a, b->b));
  if (b->a.dtype() != index_type) return turned;
  auto s = as_nonnegative(turned);
  return s ? nonnegative_condition(std::move(*s)) : turned;
}

}  // namespace lathe::arith
