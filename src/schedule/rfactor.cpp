// rfactor, decompose_reduction: reductions in parts.

#include <algorithm>

#include "ir/reduction.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"
#include "schedule/runs.h"

namespace lathe::schedule {
namespace {

bool mentions_any_of(const Expr& e, const std::vector<const VarNode*>& vars) {
  return mentions_any(e,
                      [&](const VarNode* v) { return std::find(vars.begin(), vars.end(), v) != vars.end(); });
}

void need_whole_reduction(const Edit& edit, const Stmt& self) {
  const Block& block = *self.as<Block>();
  if (std::string why = why_not_reduction(block, edit.body()); !why.empty()) {
    edit.refuse(code::S060, "block \"" + block.name() + "\" is no reduction: " + why, {{self.get(), "here"}});
  }
  if (block.partner.defined() || !block.init.defined()) {
    edit.refuse(code::S041, "the reduction \"" + block.name() + "\" was decomposed already",
                {{self.get(), "here"}});
  }
}

/// The block's loops from the highest one that no consumer of the block lies in.
std::vector<Stmt> own_loops(const Path& block, const Stmt& root) {
  const Block& b = *block.back().as<Block>();
  std::vector<Stmt> loops = loops_on(block);
  auto is_shared = [&](const Stmt& loop) {
    for (const BufferRegion& w : b.writes) {
      for (const Stmt& reader : readers_of(root, w.buffer)) {
        if (contains(loop, reader.get())) return true;
      }
    }
    return false;
  };
  loops.erase(loops.begin(),
              std::find_if(loops.begin(), loops.end(), [&](const Stmt& l) { return !is_shared(l); }));
  return loops;
}

/// Copies of loops under which a second block iterates.
struct LoopCopies {
  VarMap map;
  std::vector<std::pair<Var, Stmt>> loops;

  void add(const Stmt& loop) {
    const For* f = loop.as<For>();
    Var v = f->var.renamed(f->var.name());
    map.emplace(f->var.node(), v);
    loops.emplace_back(v, loop);
  }
  /// `body` under the copies; kinds are not copied, the user marks the new loops.
  Stmt wrap(Stmt body) const {
    for (std::size_t i = loops.size(); i-- > 0;)
      body = make_stmt<For>(loops[i].first, loops[i].second.as<For>()->extent, ForKind::Serial, body);
    return body;
  }
};

/// Fresh variables for the block's spatial iteration variables, and the map from old to new.
VarMap fresh_spatial(const Block& block, std::vector<IterVar>& iters) {
  VarMap map;
  for (const IterVar& i : block.iters) {
    if (i.kind != IterKind::Spatial) continue;
    Var v = i.var.renamed(i.var.name());
    map.emplace(i.var.node(), v);
    iters.push_back({v, i.extent, IterKind::Spatial});
  }
  return map;
}

}  // namespace

void run_rfactor(Edit& edit) {
  const Path from = edit.block(0), at = edit.loop(1);
  const Stmt self = from.back(), loop = at.back();
  const Block& block = *self.as<Block>();
  const For& factored = *loop.as<For>();
  const std::int64_t axis = edit.integer(2);
  need_whole_reduction(edit, self);
  if (!block.reducer->associative || !block.reducer->commutative) {
    edit.refuse(code::S016,
                "reducer \"" + block.reducer->name + "\" is not declared associative and commutative",
                {{self.get(), "here"}}, "declare the properties where the reducer is made, if they hold");
  }
  const std::vector<Stmt> loops = loops_on(from);
  const std::vector<const VarNode*> reducing = reduce_loops(block, loops);
  // A unit loop is bound to nothing, and may be factored all the same: handles do not depend on extents.
  const bool reduces = std::find(reducing.begin(), reducing.end(), factored.var.node()) != reducing.end();
  if (!reduces && !(is_int(factored.extent, 1) && contains(loop, self.get()))) {
    edit.refuse(code::S061,
                "block \"" + block.name() + "\" does not reduce over loop \"" + factored.var.name() + "\"",
                {{loop.get(), "here"}, {self.get(), "block"}});
  }
  if (blocks_below(loop).size() != 1) {
    edit.refuse(code::S061, "other blocks lie in loop \"" + factored.var.name() + "\" too",
                {{loop.get(), "here"}}, "move them away first");
  }
  const std::optional<ReductionUpdate> update = match_reduction_update(block.reducer, block.body);
  if (!update)
    edit.refuse(code::S060, "the update of block \"" + block.name() + "\" is not the reducer's",
                {{self.get(), "here"}});
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Spatial && mentions_any_of(block.bindings[i], reducing)) {
      edit.refuse(code::S061, "a loop of the reduction is fused with a spatial one", {{self.get(), "here"}},
                  "rfactor before fusing them");
    }
    if (block.iters[i].kind != IterKind::Reduce) continue;
    for (const Var& v : free_vars(block.bindings[i])) {
      if (std::find(reducing.begin(), reducing.end(), v.node()) == reducing.end() &&
          !is_size(edit.program(), v)) {
        edit.refuse(code::S061, "the reduction's bounds depend on loop \"" + v.name() + "\"",
                    {{self.get(), "here"}});
      }
    }
  }
  const int rank = update->outputs[0]->rank();
  if (axis < 0 || axis > rank)
    edit.refuse(code::S061, "axis " + std::to_string(axis) + " is not in 0.." + std::to_string(rank));

  // The partial block.
  auto partial = std::make_unique<Block>();
  partial->label = make_label(unique_block_name(edit.program(), block.name() + "_rf"));
  partial->reducer = block.reducer;
  VarMap map = fresh_spatial(block, partial->iters);
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Spatial) partial->bindings.push_back(block.bindings[i]);
  }
  const Var lane("v" + factored.var.name());
  partial->iters.push_back({lane, factored.extent, IterKind::Spatial});
  partial->bindings.push_back(factored.var);
  VarMap loop_values{{factored.var.node(), lane}};
  for (const Stmt& s : loops) {
    const For* l = s.as<For>();
    if (l == &factored || std::find(reducing.begin(), reducing.end(), l->var.node()) == reducing.end())
      continue;
    const Var v("v" + l->var.name());
    partial->iters.push_back({v, l->extent, IterKind::Reduce});
    partial->bindings.push_back(l->var);
    loop_values.emplace(l->var.node(), v);
  }
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Reduce)
      map.emplace(block.iters[i].var.node(), substitute(block.bindings[i], loop_values));
  }
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  for (const IterVar& i : partial->iters) analyzer.bind_extent(i.var, i.extent);
  auto renewed = [&](const Expr& e) { return analyzer.simplify(substitute(e, map)); };
  std::vector<Buffer> buffers;
  std::vector<Expr> indices, values, identity;
  for (const Expr& e : update->indices) indices.push_back(renewed(e));
  indices.insert(indices.begin() + axis, lane);
  for (const Expr& e : update->values) values.push_back(renewed(e));
  // Guards of the reduction become selects: what they leave out contributes the identity, so that every lane is written and
  // the block covers its own domain, wherever it is moved.
  partial->predicate = true_expr();
  for (const Expr& c : arith::conjuncts(block.predicate)) {
    const bool reduces = mentions_any_of(c, reducing) || mentions(c, factored.var);
    if (!reduces) {
      partial->predicate = arith::conjunction(partial->predicate, c);
      continue;
    }
    const Expr condition = substitute(c, loop_values);
    for (const Var& v : free_vars(c)) {
      if (loop_values.count(v.node()) || is_size(edit.program(), v)) continue;
      edit.refuse(code::S061,
                  "the condition " + to_string(c) + " ties the reduction to loop \"" + v.name() + "\"",
                  {{self.get(), "here"}});
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = select(condition, values[i], block.reducer->identity[i]);
  }
  for (const Buffer& out : update->outputs) {
    std::vector<Expr> shape = out->shape;
    shape.insert(shape.begin() + axis, factored.extent);
    buffers.push_back(Buffer(out->name + "_rf", out->dtype, shape, out->scope));
    edit.add_temp(buffers.back());
  }
  partial->init = make_reduction_init(buffers, indices, block.reducer->identity);
  partial->body = make_reduction_update(block.reducer, buffers, indices, values);
  const Label partial_label = partial->label;
  const Stmt partial_stmt = with_fresh_regions(std::move(partial));

  // The final block: over the partial results alone.
  auto total = copy(block);
  total->iters.clear();
  total->bindings.clear();
  LoopCopies copies;
  const std::vector<Stmt> own = own_loops(from, edit.body());
  for (const Stmt& l : own) {
    const bool spatial =
        std::find(reducing.begin(), reducing.end(), l.as<For>()->var.node()) == reducing.end();
    if (spatial && !l.same_as(loop)) copies.add(l);
  }
  const Var last(factored.var.name());
  copies.map.emplace(factored.var.node(), last);
  const VarMap own_vars = fresh_spatial(block, total->iters);
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Spatial)
      total->bindings.push_back(substitute(block.bindings[i], copies.map));
  }
  const Var total_lane("v" + factored.var.name());
  total->iters.push_back({total_lane, factored.extent, IterKind::Reduce});
  total->bindings.push_back(last);
  // Guards on spatial loops stay; those of the reduction were the partial block's affair.
  total->predicate = true_expr();
  for (const Expr& c : arith::conjuncts(block.predicate)) {
    const bool reduces = mentions_any_of(c, reducing) || mentions(c, factored.var);
    if (!reduces) total->predicate = arith::conjunction(total->predicate, substitute(c, copies.map));
  }
  std::vector<Expr> total_indices, partial_indices, loaded;
  for (const Expr& e : update->indices) total_indices.push_back(substitute(e, own_vars));
  partial_indices = total_indices;
  partial_indices.insert(partial_indices.begin() + axis, total_lane);
  for (const Buffer& b : buffers) loaded.push_back(load(b, partial_indices));
  total->init = substitute(block.init, own_vars);
  total->body = make_reduction_update(block.reducer, update->outputs, total_indices, loaded);
  Stmt total_nest = copies.wrap(
      make_stmt<For>(last, factored.extent, ForKind::Serial, with_fresh_regions(std::move(total))));

  const Stmt top = own.empty() ? self : own.front();
  const Path place = path_to(edit.body(), top.get());
  const Stmt partial_nest = replace(path_to(top, self.get()), partial_stmt);
  edit.set_body(replace(place, make_seq({partial_nest, total_nest})));
  edit.output(partial_label);
}

void run_decompose_reduction(Edit& edit) {
  const Path from = edit.block(0), at = edit.loop(1);
  const Stmt self = from.back(), loop = at.back();
  const Block& block = *self.as<Block>();
  need_whole_reduction(edit, self);
  if (!contains(loop, self.get())) {
    edit.refuse(code::S045,
                "loop \"" + loop.as<For>()->var.name() + "\" does not enclose block \"" + block.name() + "\"",
                {{loop.get(), "here"}, {self.get(), "block"}});
  }
  const std::vector<Stmt> upper = loops_on(Path(at.begin(), at.end() - 1));
  if (const auto outside = reduce_loops(block, upper); !outside.empty()) {
    edit.refuse(code::S062,
                "loop \"" + outside.front()->name +
                    "\" outside it reduces too, so the init would run again on each of its iterations",
                {{loop.get(), "here"}}, "choose the outermost reduce loop, or one outside it");
  }
  const std::vector<Stmt> inner = loops_on(path_to(loop, self.get()));
  if (const For* again = repeating_loop(block, inner)) {
    edit.refuse(code::S062,
                "loop \"" + again->var.name() + "\" repeats block \"" + block.name() +
                    "\", which would add to the same sums again",
                {{loop.get(), "here"}, {self.get(), "block"}}, "choose a loop inside it");
  }
  const std::vector<const VarNode*> reducing = reduce_loops(block, inner);
  LoopCopies copies;
  std::vector<const VarNode*> dropped;
  const auto binds = [&](IterKind kind, const Var& loop_var) {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (block.iters[i].kind == kind && mentions(block.bindings[i], loop_var)) return true;
    }
    return false;
  };
  for (const Stmt& l : inner) {
    // A unit loop, which no binding mentions, stays: the init has the loops that it has with a greater factor.
    const Var& var = l.as<For>()->var;
    if (binds(IterKind::Spatial, var) || (is_int(l.as<For>()->extent, 1) && !binds(IterKind::Reduce, var)))
      copies.add(l);
    else
      dropped.push_back(l.as<For>()->var.node());
  }
  auto init = std::make_unique<Block>();
  init->label = make_label(unique_block_name(edit.program(), block.name() + "_init"));
  init->partner = block.label;
  const VarMap vars = fresh_spatial(block, init->iters);
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Spatial)
      init->bindings.push_back(substitute(block.bindings[i], copies.map));
  }
  init->predicate = true_expr();
  for (const Expr& c : arith::conjuncts(block.predicate)) {
    if (!mentions_any_of(c, dropped))
      init->predicate = arith::conjunction(init->predicate, substitute(c, copies.map));
  }
  init->body = substitute(block.init, vars);
  const Label init_label = init->label;
  const Stmt init_nest = copies.wrap(with_fresh_regions(std::move(init)));
  auto update = copy(block);
  update->init = Stmt();
  update->partner = init_label;
  const Stmt update_nest = replace(path_to(loop, self.get()), Stmt(update.release()));
  edit.set_body(replace(at, make_seq({init_nest, update_nest})));
  edit.output(init_label);
}

}  // namespace lathe::schedule
