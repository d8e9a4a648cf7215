#include "schedule/runs.h"

#include <algorithm>

#include "schedule/legality.h"

namespace lathe::schedule {
namespace {

/// Proved that `condition`, a comparison, holds in the first iteration of the loops wherever it holds in any?
bool holds_first(const Expr& condition, const VarMap& first, arith::Analyzer& analyzer) {
  const Binary* compared = condition.as<Binary>();
  if (!compared) return false;
  const Expr distance = arith::sub(compared->a, compared->b);
  const Expr growth = analyzer.simplify(arith::sub(distance, substitute(distance, first)));
  switch (compared->op) {
    case BinaryOp::Lt:
    case BinaryOp::Le: return analyzer.can_prove_ge(growth, 0);
    case BinaryOp::Gt:
    case BinaryOp::Ge: return analyzer.can_prove_lt(growth, 1);
    default: return is_int(growth, 0);
  }
}

}  // namespace

Runs runs_below(const Program& program, const Path& from, std::size_t depth, bool sums) {
  const Block& block = *from.back().as<Block>();
  const std::vector<const VarNode*> reduce = reduce_loops(block, loops_on(from));
  arith::Analyzer analyzer;
  bind_sizes(analyzer, program);
  bind_path(analyzer, from);
  VarMap first;  // the first iteration of each loop below
  for (const Stmt& loop : loops_on(Path(from.begin() + static_cast<std::ptrdiff_t>(depth), from.end())))
    first.emplace(loop.as<For>()->var.node(), Expr(0));
  Runs runs{true_expr(), {}};
  for (const Expr& condition : arith::conjuncts(block.predicate)) {
    if (sums && mentions_any(condition, [&](const VarNode* v) { return std::ranges::count(reduce, v) > 0; }))
      continue;
    const Expr at_first = analyzer.simplify(substitute(condition, first));
    if (at_first.same_as(condition) || holds_first(condition, first, analyzer))
      runs.condition = arith::conjunction(runs.condition, at_first);
    else
      runs.unclear = condition;
  }
  return runs;
}

const For* repeating_loop(const Block& block, const std::vector<Stmt>& loops) {
  for (const Stmt& s : loops) {
    const For* loop = s.as<For>();
    if (is_int(loop->extent, 1) || is_int(loop->extent, 0)) continue;
    if (std::ranges::none_of(block.bindings, [&](const Expr& b) { return mentions(b, loop->var); }))
      return loop;
  }
  return nullptr;
}

}  // namespace lathe::schedule
