// fuse: nested loops become one.

#include "schedule/edit.h"

namespace lathe::schedule {

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
