// Index arithmetic that an inner loop does not change is computed in the outermost loop that it depends on.
//
// Only what cannot overflow moves, so that an overflow is reported where, and only if, the program computes it.

#include <algorithm>

#include "interp/compiler.h"
#include "ir/visitor.h"

namespace lathe::interp {

/// Are all variables of `e` defined here, and is it index arithmetic and comparisons alone?
bool Compiler::can_hoist(const Expr& e) {
  if (e.dtype().is_vector()) return false;
  if (e.kind() == ExprKind::IntImm) return true;
  if (e.kind() == ExprKind::Var) return defined_.count(static_cast<const VarNode*>(e.get())) > 0;
  const Binary* b = e.as<Binary>();
  return b && b->a.dtype().is_index() && can_hoist(b->a) && can_hoist(b->b);
}

/// Computes the largest parts of `e` that mention `loop` and can be computed here.
void Compiler::hoist(const Expr& e, const VarNode* loop) {
  const Binary* b = e.as<Binary>();
  if (!b || hoisted_.count(e.get())) return;
  if (!can_hoist(e)) {
    hoist(b->a, loop);
    hoist(b->b, loop);
    return;
  }
  if (!mentions(e, Var(loop))) return;  // was computed further out, or is constant
  const auto instrs = here();
  const auto registers = registers_;
  const Tally tally = tally_ >= 0 ? code_.tallies[tally_] : Tally{};
  const Operand value = compile_expr(e);
  if (value.known || value.between || is_comparison(b->op)) {
    hoisted_[e.get()] = value;
    hoisted_order_.push_back(e.get());
    return;
  }
  // It may overflow: taken back.
  code_.instrs.resize(instrs);
  code_.scope_of.resize(instrs);
  registers_ = registers;
  if (tally_ >= 0) code_.tallies[tally_] = tally;
  hoist(b->a, loop);
  hoist(b->b, loop);
}

/// At the head of the body of `loop`.
void Compiler::hoist_from(const Stmt& body, const For& loop) {
  const VarNode* var = loop.var.node();
  walk(
      body,
      [&](const Stmt& s) {
        if (const Block* b = s.as<Block>()) {
          for (const Expr& e : b->bindings) hoist(e, var);
          hoist(b->predicate, var);
        }
        return true;
      },
      [&](const Expr& e) {
        if (const Binary* b = e.as<Binary>(); b && b->a.dtype().is_index()) {
          hoist(e, var);
          return false;
        }
        return true;
      });
}

}  // namespace lathe::interp
