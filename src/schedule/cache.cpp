// cache_read, cache_write, set_scope: staging through buffers in other memory.

#include <algorithm>

#include "arith/block_access.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"

namespace lathe::schedule {
namespace {

/// Where a copy of `buffer` for (or of) `block` belongs: the child, within the lowest statement that holds all accesses to
/// the buffer, that contains the block. Parameters: the child of the root.
struct Spot {
  Path holder;             ///< to the For or root whose body gets the copy
  const StmtNode* anchor;  ///< the child
};

Spot spot_for(const Stmt& root, const Program& program, const Path& block, const Buffer& buffer) {
  std::size_t depth = 0;
  if (!is_param(program, buffer)) {
    const Stmt common = lowest_common_ancestor(root, buffer);
    while (depth + 1 < block.size() && !block[depth].same_as(common)) ++depth;
    if (block[depth].as<Block>()) --depth;  // a lone accessor
  }
  // A sequence is the body of the loop above it.
  while (depth > 0 && !block[depth].as<For>()) --depth;
  Spot spot;
  const bool in_loop = block[depth].as<For>() && !is_param(program, buffer);
  if (in_loop) {
    spot.holder = Path(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(depth) + 1);
  } else {
    spot.holder = {root};
  }
  spot.anchor = block.back().get();
  return spot;
}

/// The program with `fresh` beside the anchor.
Stmt put(const Stmt& root, const Spot& spot, const Stmt& fresh, bool before) {
  const Stmt& holder = spot.holder.back();
  if (spot.holder.size() == 1 && holder.same_as(root)) {
    std::vector<Stmt> stmts = root.as<Seq>() ? root.as<Seq>()->stmts : std::vector<Stmt>{root};
    std::size_t at = 0;
    while (!contains(stmts[at], spot.anchor)) ++at;
    stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(before ? at : at + 1), fresh);
    return make_seq(std::move(stmts));
  }
  return replace(spot.holder, insert(holder, fresh, spot.anchor, before));
}

/// What the block alone accesses of `buffer` per iteration of the holder's loops.
arith::Region region_at(const Spot& spot, const Stmt& root, const Block& block, const BufferRegion& access,
                        arith::Analyzer& analyzer) {
  const bool at_root = spot.holder.size() == 1 && spot.holder.back().same_as(root);
  const Stmt below = at_root ? root : spot.holder.back().as<For>()->body;
  return arith::access_over(block, access, domains_of(loops_on(path_to_block(below, block.label.get()))),
                            analyzer);
}

void bind_holder(arith::Analyzer& analyzer, const Spot& spot, const Stmt& root) {
  if (!(spot.holder.size() == 1 && spot.holder.back().same_as(root))) bind_path(analyzer, spot.holder);
}

/// Every access of the block to `from` goes to `to`.
std::unique_ptr<Block> redirected(const Block& block, const Buffer& from, const Buffer& to) {
  const BufferMap map{{from.get(), to}};
  auto out = copy(block);
  if (block.init.defined()) out->init = replace_buffers(block.init, map);
  out->body = replace_buffers(block.body, map);
  for (std::vector<BufferRegion>* regions : {&out->reads, &out->writes}) {
    for (BufferRegion& r : *regions) {
      if (r.buffer.same_as(from)) r.buffer = to;
    }
  }
  return out;
}

void need_single_write(const Edit& edit, const Stmt& self) {
  const Block& block = *self.as<Block>();
  if (block.writes.size() == 1) return;
  edit.refuse(code::S054,
              "block \"" + block.name() + "\" writes " + std::to_string(block.writes.size()) +
                  " buffers; one can be staged",
              {{self.get(), "here"}});
}

}  // namespace

void run_cache_read(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  const std::int64_t which = edit.integer(1);
  const Scope scope = scope_of(edit, 2);
  if (which < 0 || which >= static_cast<std::int64_t>(block.reads.size())) {
    edit.refuse(code::S008,
                "block \"" + block.name() + "\" reads " + std::to_string(block.reads.size()) +
                    " buffers, there is no read " + std::to_string(which),
                {{self.get(), "here"}});
  }
  const BufferRegion access = block.reads[which];
  for (const Stmt& w : writers_of(edit.body(), access.buffer)) {
    if (w.same_as(self))
      edit.refuse(
          code::S054,
          "block \"" + block.name() + "\" updates \"" + access.buffer->name + "\", a copy would be stale",
          {{self.get(), "here"}});
  }
  const Buffer staged = like(
      access.buffer, unique_buffer_name(edit.program(), access.buffer->name + "_" + spelling(scope)), scope);
  const Spot spot = spot_for(edit.body(), edit.program(), from, access.buffer);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_holder(analyzer, spot, edit.body());
  const arith::Region region = region_at(spot, edit.body(), block, access, analyzer);
  CopyNest stage = copy_nest(unique_block_name(edit.program(), staged->name), access.buffer, staged,
                             region.region, analyzer);
  Stmt body = put(edit.body(), spot, stage.nest, true);
  const Path place = path_to_block(body, block.label.get());
  edit.set_body(replace(place, Stmt(redirected(block, access.buffer, staged).release())));
  edit.add_temp(staged);
  edit.output(stage.label);
}

namespace {

/// cache_write without a loop: the block fills the new buffer, a copy behind it stores to the old one.
void stage_whole(Edit& edit, const Path& from, Scope scope) {
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  const BufferRegion access = block.writes[0];
  const Buffer staged = like(
      access.buffer, unique_buffer_name(edit.program(), access.buffer->name + "_" + spelling(scope)), scope);
  const Spot spot = spot_for(edit.body(), edit.program(), from, access.buffer);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_holder(analyzer, spot, edit.body());
  const arith::Region region = region_at(spot, edit.body(), block, access, analyzer);
  CopyNest store = copy_nest(unique_block_name(edit.program(), access.buffer->name + "_store"), staged,
                             access.buffer, region.region, analyzer);
  Stmt body = put(edit.body(), spot, store.nest, false);
  const Path place = path_to_block(body, block.label.get());
  edit.set_body(replace(place, Stmt(redirected(block, access.buffer, staged).release())));
  edit.add_temp(staged);
  edit.output(store.label);
}

/// The number of the pass: the reduce loops at and above `at` as one index, and how many passes there are.
struct Passes {
  std::vector<arith::Domain> loops;
  Expr number = 0, count = 1;
};

Passes outer_passes(const Block& block, const std::vector<Stmt>& upper) {
  Passes out;
  for (const VarNode* v : reduce_loops(block, upper)) {
    for (const Stmt& s : upper) {
      if (s.as<For>()->var.node() != v) continue;
      out.loops.push_back({s.as<For>()->var, s.as<For>()->extent});
      out.number = arith::add(arith::mul(out.number, s.as<For>()->extent), s.as<For>()->var);
      out.count = arith::mul(out.count, s.as<For>()->extent);
    }
  }
  return out;
}

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

/// Whether the block runs at all for spatial reasons below `at`, over the variables of the loops down to `at`.
///
/// The region says what an iteration of `at` writes if it writes anything. Where a split is larger than the loop, or nested
/// splits overlap, whole iterations write nothing; a load and a store there would put the identity over a finished sum.
/// Conditions on reduce loops do not count: a sum over nothing is stored, too.
Expr runs_below(const Edit& edit, const Path& from, const Path& at) {
  const Block& block = *from.back().as<Block>();
  const std::vector<Stmt> loops = loops_on(from);
  const std::vector<const VarNode*> reduce = reduce_loops(block, loops);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, from);
  VarMap first;  // the first iteration of each loop below
  for (const Stmt& loop : loops_on(Path(from.begin() + static_cast<std::ptrdiff_t>(at.size()), from.end())))
    first.emplace(loop.as<For>()->var.node(), Expr(0));
  Expr runs = true_expr();
  for (const Expr& condition : arith::conjuncts(block.predicate)) {
    if (mentions_any(condition, [&](const VarNode* v) { return std::ranges::count(reduce, v) > 0; }))
      continue;
    const Expr at_first = analyzer.simplify(substitute(condition, first));
    const bool implied = at_first.same_as(condition) || holds_first(condition, first, analyzer);
    if (!implied) {
      edit.refuse(code::S046,
                  "in which iterations of loop \"" + at.back().as<For>()->var.name() + "\" block \"" +
                      block.name() + "\" runs is not clear from its condition " + to_string(condition),
                  {{at.back().get(), "here"}, {from.back().get(), "block"}}, "choose a loop further out");
    }
    runs = arith::conjunction(runs, at_first);
  }
  return runs;
}

/// cache_write at a loop under outer reduce loops: read-modify-write.
///
///   for ko:                         for ko:
///     for i: for ki:        =>        for i:
///       C[i] += …                       load:  acc = (pass == 0) ? identity : C
///                                       for ki:  acc += …
///                                       store: C = acc
void stage_at(Edit& edit, const Path& from, Scope scope, const Path& at) {
  const Stmt self = from.back(), loop = at.back();
  const Block& block = *self.as<Block>();
  if (!contains(loop, self.get())) {
    edit.refuse(code::S045,
                "loop \"" + loop.as<For>()->var.name() + "\" does not enclose block \"" + block.name() + "\"",
                {{loop.get(), "here"}, {self.get(), "block"}});
  }
  if (!block.is_reduction() || !block.init.defined()) {
    edit.refuse(
        code::S055,
        "block \"" + block.name() + "\" is no reduction with its init, so there is nothing to accumulate",
        {{self.get(), "here"}}, "use cache_write without a loop");
  }
  const BufferRegion access = block.writes[0];
  const Store* init = block.init.as<Store>();
  if (!init)
    edit.refuse(code::S054, "the init of block \"" + block.name() + "\" is more than one store",
                {{self.get(), "here"}});
  const Passes passes = outer_passes(block, loops_on(at));
  const Buffer staged = like(
      access.buffer, unique_buffer_name(edit.program(), access.buffer->name + "_" + spelling(scope)), scope);

  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, at);
  if (!analyzer.can_prove_ge(passes.count, 1)) {
    edit.refuse(code::S055,
                "the reduce loops at and above \"" + loop.as<For>()->var.name() +
                    "\" may run not once, and then nothing would store the init",
                {{loop.get(), "here"}},
                "choose a loop outside the reduction, or use cache_write without a loop");
  }
  Spot spot{at, self.get()};
  const arith::Region region = region_at(spot, edit.body(), block, access, analyzer);
  const Expr runs = runs_below(edit, from, at);

  auto with_pass = [&](const CopyNest& made, IterKind kind,
                       const std::function<void(Block&, const Var&)>& finish) {
    const Path inner = path_to_block(made.nest, made.label.get());
    auto b = copy(*inner.back().as<Block>());
    Var pass("pass");
    b->iters.push_back({pass, passes.count, kind});
    b->bindings.push_back(passes.number);
    b->predicate = analyzer.simplify(arith::conjunction(b->predicate, runs));
    finish(*b, pass);
    return replace(inner, Stmt(b.release()));
  };
  CopyNest load_copy = copy_nest(unique_block_name(edit.program(), access.buffer->name + "_load"),
                                 access.buffer, staged, region.region, analyzer);
  CopyNest store_copy = copy_nest(unique_block_name(edit.program(), access.buffer->name + "_store"), staged,
                                  access.buffer, region.region, analyzer);
  const Stmt load_nest = with_pass(load_copy, IterKind::Spatial, [&](Block& b, const Var& pass) {
    const Store* copied = b.body.as<Store>();
    VarMap map;
    for (std::size_t d = 0; d < init->indices.size(); ++d) {
      if (const VarNode* v = init->indices[d].as<VarNode>()) map.emplace(v, copied->indices[d]);
    }
    const Expr identity = substitute(init->value, map);
    const bool once = passes.loops.empty();
    const Expr value = once ? identity : select(pass == 0, identity, copied->value);
    b.body = make_stmt<Store>(staged, value, copied->indices);
    if (once) b.reads.clear();
    b.partner = block.label;
  });
  const Stmt store_nest = with_pass(store_copy, IterKind::Reduce, [&](Block& b, const Var&) {
    b.reducer = block.reducer;  // stores that overwrite one another, pass after pass
    b.partner = block.label;
  });

  auto update = redirected(block, access.buffer, staged);
  update->init = Stmt();
  update->partner = load_copy.label;
  Stmt inside = insert(loop, load_nest, self.get(), true);
  inside = insert(inside, store_nest, self.get(), false);
  inside = replace(inside, self.get(), Stmt(update.release()));
  edit.set_body(replace(at, inside));
  edit.add_temp(staged);
  edit.output(store_copy.label);
  edit.output(load_copy.label);
}

}  // namespace

void run_cache_write(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const Scope scope = scope_of(edit, 1);
  need_single_write(edit, self);
  if (std::string why = why_not_schedulable(*self.as<Block>(), edit.body()); !why.empty()) {
    edit.refuse(code::S040,
                "block \"" + self.as<Block>()->name() + "\" is neither complete nor a reduction: " + why,
                {{self.get(), "here"}});
  }
  if (self.as<Block>()->partner.defined()) {
    edit.refuse(code::S041,
                "the reduction \"" + self.as<Block>()->name() +
                    "\" was decomposed, its two parts cannot be moved apart",
                {{self.get(), "here"}}, "stage it before decompose_reduction or another cache_write");
  }
  if (edit.arg_count() > 2) return stage_at(edit, from, scope, edit.loop(2));
  stage_whole(edit, from, scope);
}

void run_set_scope(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  const Scope scope = scope_of(edit, 1);
  need_single_write(edit, self);
  const Buffer old = block.writes[0].buffer;
  if (is_param(edit.program(), old)) {
    edit.refuse(code::S043, "\"" + old->name + "\" is a parameter of the program and stays in global memory",
                {{self.get(), "writes it"}}, "put a cache_write between");
  }
  Buffer fresh = like(old, old->name, scope);
  edit.replace_temp(old, fresh);
  edit.set_body(replace_buffers(edit.body(), {{old.get(), fresh}}));
}

}  // namespace lathe::schedule
