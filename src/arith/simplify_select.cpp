// Select: each side is simplified knowing the condition.

#include "arith/simplifier.h"

namespace lathe::arith {

Sum Simplifier::sum_of_select(const Select& s, const Expr& self) {
  const Expr simple = simplify_select(s, self);
  return simple.kind() == ExprKind::Select ? atom(simple) : read_sum(simple);
}

Expr Simplifier::simplify_select(const Select& s, const Expr& self) {
  const int impure = impure_;
  const Expr condition = simplify(s.condition);
  const bool pure_condition = impure_ == impure;
  if (const auto value = as_int(condition)) return simplify(*value ? s.if_true : s.if_false);
  if (condition.dtype().is_vector()) {
    const Expr x = simplify(s.if_true), y = simplify(s.if_false);
    if (condition.same_as(s.condition) && x.same_as(s.if_true) && y.same_as(s.if_false)) return self;
    return Expr(new Select(condition, x, y));
  }
  Mark mark = assume_simplified(condition);
  Expr x = simplify(s.if_true);
  retract(mark);
  mark = assume_simplified(negation(condition));
  Expr y = simplify(s.if_false);
  retract(mark);
  if (impure_ == impure && same(x, y)) return x;
  if (s.dtype.is_bool() && pure_condition) {
    if (is_true(x)) return join(BinaryOp::Or, condition, y, self);
    if (is_int(y, 0)) return join(BinaryOp::And, condition, x, self);
    if (is_int(x, 0) && is_true(y)) return negation(condition);
  }
  if (const Not* n = condition.as<Not>()) return Expr(new Select(n->a, std::move(y), std::move(x)));
  if (condition.same_as(s.condition) && x.same_as(s.if_true) && y.same_as(s.if_false)) return self;
  return Expr(new Select(condition, std::move(x), std::move(y)));
}

}  // namespace lathe::arith
