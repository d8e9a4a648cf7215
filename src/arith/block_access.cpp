#include "arith/block_access.h"

#include <algorithm>

namespace lathe::arith {

Region access_over(const Block& block, const BufferRegion& access, const std::vector<Domain>& loops,
                   Analyzer& analyzer) {
  VarMap map;
  for (std::size_t i = 0; i < block.iters.size(); ++i)
    map.emplace(block.iters[i].var.node(), block.bindings[i]);
  const BufferRegion bound = substitute(access, map);
  auto is_used = [&](const Var& v) {
    return std::any_of(bound.ranges.begin(), bound.ranges.end(),
                       [&](const Range& r) { return mentions(r.min, v) || mentions(r.extent, v); });
  };
  std::vector<Domain> used;
  std::vector<const VarNode*> unused;
  for (const Domain& d : loops) {
    if (is_used(d.var))
      used.push_back(d);
    else
      unused.push_back(d.var.node());
  }
  Expr predicate = true_expr();
  for (const Expr& c : conjuncts(block.predicate)) {
    const bool about_unused = mentions_any(
        c, [&](const VarNode* v) { return std::find(unused.begin(), unused.end(), v) != unused.end(); });
    if (!about_unused) predicate = conjunction(predicate, c);
  }
  return relax(bound, used, predicate, analyzer);
}

}  // namespace lathe::arith
