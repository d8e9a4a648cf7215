// fuse: nested loops become one.

#include <algorithm>

#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/runs.h"

namespace lathe::schedule {

namespace {

/// A spatial loop fused with an empty reduce loop would not run, and the inits with it; a loop that repeats a reduction must
/// stay outside it.
void need_nonempty_reduction(const Edit& edit, const std::vector<Path>& paths) {
  std::vector<Stmt> loops;
  for (const Path& p : paths) loops.push_back(p.back());
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  for (const Stmt& s : blocks_below(loops.back())) {
    const Block& block = *s.as<Block>();
    const std::vector<const VarNode*> reducing = reduce_loops(block, loops);
    if (reducing.empty() || reducing.size() == loops.size()) continue;
    if (const For* again = repeating_loop(block, loops)) {
      edit.refuse(code::S014,
                  "loop \"" + again->var.name() + "\" repeats block \"" + block.name() +
                      "\"; fused with the loops of its reduction it would add to the same sums again",
                  {{loops.front().get(), "here"}, {s.get(), "block"}});
    }
    for (const Stmt& loop : loops) {
      const For& f = *loop.as<For>();
      if (std::ranges::count(reducing, f.var.node()) == 0 || analyzer.can_prove_ge(f.extent, 1)) continue;
      edit.refuse(
          code::S014,
          "loop \"" + f.var.name() + "\", over which block \"" + block.name() +
              "\" reduces, may be empty; fused with it, the other loops would not run, nor would the init",
          {{loop.get(), "may be empty"}},
          "fuse spatial loops with one another, reduce loops with one another");
    }
  }
}

}  // namespace

void run_fuse(Edit& edit) {
  const std::vector<Path> paths = edit.loops(0);
  if (paths.empty()) edit.refuse(code::S014, "no loops were given");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const For& loop = *paths[i].back().as<For>();
    if (loop.for_kind != ForKind::Serial) {
      edit.refuse(code::S011, "loop \"" + loop.var.name() + "\" is already " + spelling(loop.for_kind),
                  {{paths[i].back().get(), "here"}}, "fuse first, then mark the fused loop");
    }
    if (i > 0 && !paths[i - 1].back().as<For>()->body.same_as(paths[i].back())) {
      edit.refuse(code::S014,
                  "loop \"" + loop.var.name() + "\" is not the only statement in loop \"" +
                      paths[i - 1].back().as<For>()->var.name() + "\"",
                  {{paths[i - 1].back().get(), "outer"}, {paths[i].back().get(), "inner"}},
                  "bring them together with reorder");
    }
  }
  need_nonempty_reduction(edit, paths);
  const Path& path = paths[0];
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, path);

  std::string name;
  std::vector<Expr> extents;
  for (const Path& p : paths) {
    const For& loop = *p.back().as<For>();
    name += (name.empty() ? "" : "_") + loop.var.name();
    extents.push_back(loop.extent);
  }
  const Var fused(name);
  const Expr extent = arith::product(extents);
  analyzer.bind_extent(fused, extent);
  VarMap map;
  Expr rest = fused;
  for (std::size_t i = paths.size(); i-- > 0;) {
    const For& loop = *paths[i].back().as<For>();
    map.emplace(loop.var.node(),
                i == 0 ? analyzer.simplify(rest) : analyzer.simplify(floormod(rest, extents[i])));
    rest = floordiv(rest, extents[i]);
    edit.consume(loop.var);
  }
  Stmt body = rebind(paths.back().back().as<For>()->body, map, true_expr(), analyzer);
  edit.set_body(replace(path, make_stmt<For>(fused, extent, ForKind::Serial, body, ThreadAxis::None,
                                             path.back().as<For>()->annotations)));
  edit.output(fused);
}

}  // namespace lathe::schedule
