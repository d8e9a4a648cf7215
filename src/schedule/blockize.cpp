// blockize: a loop nest becomes the inside of one block.

#include "schedule/blockize.h"

#include <algorithm>

#include "schedule/legality.h"
#include "schedule/placement.h"

namespace lathe::schedule {

namespace {

/// `"vi" has 131 values, no multiple of 128`, where tiles of the loops inside leave a remainder; empty when none does.
std::string remainder(const Block& block, const std::vector<Stmt>& inside) {
  std::string out;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    const std::optional<std::int64_t> extent = constant(block.iters[i].extent);
    std::int64_t tile = 1;
    for (const Stmt& l : inside) {
      const For& loop = *l.as<For>();
      if (mentions(block.bindings[i], loop.var))
        tile *= std::max<std::int64_t>(1, constant(loop.extent).value_or(1));
    }
    if (!extent || *extent % tile == 0) continue;
    out += (out.empty() ? "" : ", ") + std::string("\"") + block.iters[i].var.name() + "\" has " +
           std::to_string(*extent) + " values, no multiple of " + std::to_string(tile);
  }
  return out;
}

}  // namespace

Enclosed enclose(const Edit& edit, std::size_t loop_argument) {
  Enclosed nest;
  nest.loop = edit.loop(loop_argument);
  const Stmt& loop = nest.loop.back();
  const std::string here = "loop \"" + loop.as<For>()->var.name() + "\"";
  const std::vector<Stmt> blocks = blocks_below(loop);
  if (blocks.size() != 1) {
    edit.refuse(code::S068, "below " + here + " are " + std::to_string(blocks.size()) + " blocks",
                {{loop.get(), "here"}}, "choose a loop round one block");
  }
  nest.block = blocks[0];
  const Block& block = *nest.block.as<Block>();
  if (std::string why = why_not_schedulable(block, edit.body()); !why.empty()) {
    edit.refuse(code::S040, "block \"" + block.name() + "\" is neither complete nor a reduction: " + why,
                {{nest.block.get(), "here"}});
  }
  if (block.partner.defined()) {
    edit.refuse(code::S041, "the reduction \"" + block.name() + "\" was decomposed already",
                {{nest.block.get(), "here"}}, "blockize before decomposing");
  }
  for (const BufferRegion& w : block.writes) {
    // Sums that nobody reads would live inside the new block, and end with each of its iterations.
    if (!block.is_reduction() || is_param(edit.program(), w.buffer) ||
        naming(edit.body(), w.buffer).size() > 1)
      continue;
    edit.refuse(code::S068,
                "nobody reads \"" + w.buffer->name + "\", which \"" + block.name() + "\" accumulates",
                {{nest.block.get(), "here"}});
  }
  nest.inside = loops_on(path_to(loop, nest.block.get()));
  for (const Stmt& l : nest.inside) {
    if (!constant(l.as<For>()->extent)) {
      edit.refuse(code::S068,
                  "the extent of loop \"" + l.as<For>()->var.name() +
                      "\" is known at run time only, a tile's must be constant",
                  {{l.get(), "here"}}, "split the loop by a constant and take the inner part");
    }
    const ForKind kind = l.as<For>()->for_kind;
    if (kind != ForKind::Serial) {
      edit.refuse(code::S011, "loop \"" + l.as<For>()->var.name() + "\" is already " + spelling(kind),
                  {{l.get(), "here"}}, "mark the loops inside afterwards");
    }
  }
  std::vector<Stmt> outside = loops_on(path_to(edit.body(), nest.block.get()));
  outside.resize(outside.size() - nest.inside.size());

  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, path_to(edit.body(), nest.block.get()));
  std::vector<Expr> extents;
  for (const IterVar& i : block.iters) extents.push_back(i.extent);
  std::optional<arith::Division> division = arith::subspace_divide(
      block.bindings, extents, domains_of(outside), domains_of(nest.inside), block.predicate, analyzer);
  if (const std::string why = remainder(block, nest.inside); !is_true(block.predicate) && !why.empty()) {
    edit.refuse(code::S068,
                "the last tile of block \"" + block.name() + "\" below " + here + " is not whole: " + why,
                {{loop.get(), "here"}, {nest.block.get(), "runs only where " + to_string(block.predicate)}},
                "split by factors that divide, or pad: split an intermediate with Tail::Pad (cache_read and "
                "cache_write make intermediates of parameters), or pad_einsum");
  }
  if (!division || !is_true(division->inner_predicate)) {
    edit.refuse(
        code::S068,
        "the bindings of block \"" + block.name() + "\" do not divide into a part outside " + here +
            " and one inside",
        {{loop.get(), "here"}, {nest.block.get(), "the block"}},
        "split its loops by factors that divide them (or pad), and reorder the inner parts innermost");
  }
  nest.division = std::move(*division);
  return nest;
}

Stmt as_block(const Enclosed& nest, const Label& label, Annotations annotations) {
  const Block& block = *nest.block.as<Block>();
  const arith::Division& d = nest.division;
  auto outer = std::make_unique<Block>();
  outer->label = label;
  outer->predicate = d.outer_predicate;
  outer->annotations = std::move(annotations);
  auto inner = copy(block);
  inner->predicate = true_expr();
  VarMap first;  // the inner block's variables, for the init: outer part, and a loop for the inner part
  std::vector<std::pair<Var, Expr>> init_loops;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    const IterVar& iter = block.iters[i];
    const Var v = iter.var.renamed(iter.var.name() + "_o");
    outer->iters.push_back({v, d.outer_extent[i], iter.kind});
    outer->bindings.push_back(d.outer_value[i]);
    const Expr base = arith::mul(v, d.inner_extent[i]);
    inner->bindings[i] = arith::add(base, d.inner_value[i]);
    if (iter.kind != IterKind::Spatial) continue;
    if (is_int(d.inner_extent[i], 1)) {
      first.emplace(iter.var.node(), base);
      continue;
    }
    const Var at = iter.var.renamed(iter.var.name() + "_i");
    init_loops.emplace_back(at, d.inner_extent[i]);
    first.emplace(iter.var.node(), arith::add(base, at));
  }
  if (block.is_reduction()) {
    outer->reducer = block.reducer;
    outer->init = substitute(block.init, first);
    for (std::size_t i = init_loops.size(); i-- > 0;)
      outer->init = make_stmt<For>(init_loops[i].first, init_loops[i].second, ForKind::Serial, outer->init);
    inner->init = Stmt();
  }
  const Stmt inside(inner.release());
  outer->body = replace(path_to(nest.loop.back(), nest.block.get()), inside);
  return with_fresh_regions(std::move(outer));
}

void run_blockize(Edit& edit) {
  const Enclosed nest = enclose(edit, 0);
  const Label label = make_label(unique_block_name(edit.program(), nest.block.as<Block>()->name() + "_o"));
  edit.set_body(replace(nest.loop, as_block(nest, label, {})));
  edit.output(label);
}

}  // namespace lathe::schedule
