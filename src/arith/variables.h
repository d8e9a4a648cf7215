#pragma once
// A walk over the variables of an expression, without the cost of std::function: analysis asks what depends
// on what for every term.

#include "lathe/expr.h"

namespace lathe::arith {

/// Calls `f(const VarNode*)` for the variables below `e` until it returns true; says whether it did.
template <class F>
bool any_variable(const ExprNode* e, const F& f) {
  if (!e) return false;
  auto any_of = [&](const std::vector<Expr>& list) {
    for (const Expr& x : list) {
      if (any_variable(x.get(), f)) return true;
    }
    return false;
  };
  switch (e->kind) {
    case ExprKind::IntImm:
    case ExprKind::FloatImm: return false;
    case ExprKind::Var: return f(static_cast<const VarNode*>(e));
    case ExprKind::Binary: {
      const auto* b = static_cast<const Binary*>(e);
      return any_variable(b->a.get(), f) || any_variable(b->b.get(), f);
    }
    case ExprKind::Not: return any_variable(static_cast<const Not*>(e)->a.get(), f);
    case ExprKind::Cast: return any_variable(static_cast<const Cast*>(e)->a.get(), f);
    case ExprKind::Select: {
      const auto* s = static_cast<const Select*>(e);
      return any_variable(s->condition.get(), f) || any_variable(s->if_true.get(), f) ||
             any_variable(s->if_false.get(), f);
    }
    case ExprKind::Load: {
      const auto* l = static_cast<const Load*>(e);
      return any_of(l->indices) || any_variable(l->mask.get(), f);
    }
    case ExprKind::Call: return any_of(static_cast<const Call*>(e)->args);
    case ExprKind::Ramp: {
      const auto* r = static_cast<const Ramp*>(e);
      return any_variable(r->base.get(), f) || any_variable(r->stride.get(), f);
    }
    case ExprKind::Broadcast: return any_variable(static_cast<const Broadcast*>(e)->value.get(), f);
  }
  return false;
}

}  // namespace lathe::arith
