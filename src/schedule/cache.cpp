// cache_read, cache_write, set_scope: staging through buffers in other memory.

#include <algorithm>

#include "arith/block_access.h"
#include "arith/iter_map.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"
#include "schedule/runs.h"

namespace lathe::schedule {
namespace {

/// A place beside a block: in the body of a loop, or of the program.
struct Spot {
  Path loop;               ///< to the loop; empty: the program's body
  const StmtNode* anchor;  ///< the block
};

/// Where a copy of `buffer` for (or of) `block` belongs: in the lowest statement that holds all accesses to the buffer, or
/// further in when one of `between`, which must stay on the other side of the copy, shares a loop there with the block: the
/// buffer's writers when the copy goes before the block, its readers when it goes behind. Parameters: from the root on.
Spot spot_for(const Stmt& root, const Program& program, const Path& block, const Buffer& buffer,
              const std::vector<Stmt>& between) {
  // How much of the path leads to each possible place: the program's body, then each loop.
  std::vector<std::size_t> places{0};
  for (std::size_t d = 0; d < block.size(); ++d) {
    if (block[d].as<For>()) places.push_back(d + 1);
  }
  std::size_t at = 0;
  const Stmt common = lowest_common_ancestor(root, buffer);
  if (!is_param(program, buffer) && !common.as<Block>()) {  // a block: nothing else accesses it
    const std::size_t depth = static_cast<std::size_t>(
        std::ranges::find_if(block, [&](const Stmt& s) { return s.same_as(common); }) - block.begin());
    while (at + 1 < places.size() && places[at + 1] <= depth) ++at;
  }
  auto shared = [&] {
    std::size_t child = places[at];
    if (block[child].as<Seq>()) ++child;
    return std::ranges::any_of(between, [&](const Stmt& s) { return contains(block[child], s.get()); });
  };
  while (at + 1 < places.size() && shared()) ++at;
  return {Path(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(places[at])), block.back().get()};
}

/// The spot behind the block where what it writes is complete.
Spot spot_behind(const Edit& edit, const Path& from, const Buffer& buffer) {
  const Block& block = *from.back().as<Block>();
  std::vector<Stmt> readers = readers_of(edit.body(), buffer);
  std::erase_if(readers, [&](const Stmt& s) { return s.same_as(from.back()); });
  Spot spot = spot_for(edit.body(), edit.program(), from, buffer, readers);
  if (const auto outer = reduce_loops(block, loops_on(spot.loop)); !outer.empty()) {
    edit.refuse(code::S047,
                "a reader of \"" + buffer->name + "\" lies in loop \"" + outer.front()->name +
                    "\", over which block \"" + block.name() + "\" still reduces",
                {{from.back().get(), "reduces"}}, "move the reader out of the reduction first");
  }
  return spot;
}

/// The program with `fresh` beside the anchor.
Stmt put(const Stmt& root, const Spot& spot, const Stmt& fresh, bool before) {
  if (!spot.loop.empty()) return replace(spot.loop, insert(spot.loop.back(), fresh, spot.anchor, before));
  std::vector<Stmt> stmts = root.as<Seq>() ? root.as<Seq>()->stmts : std::vector<Stmt>{root};
  std::size_t at = 0;
  while (!contains(stmts[at], spot.anchor)) ++at;
  stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(before ? at : at + 1), fresh);
  return make_seq(std::move(stmts));
}

/// What the block alone accesses of `buffer` per iteration of the spot's loop.
arith::Region region_at(const Spot& spot, const Stmt& root, const Block& block, const BufferRegion& access,
                        arith::Analyzer& analyzer) {
  const Stmt below = spot.loop.empty() ? root : spot.loop.back().as<For>()->body;
  return arith::access_over(block, access, domains_of(loops_on(path_to_block(below, block.label.get()))),
                            analyzer);
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

/// One way in which a block reads a buffer, in a new buffer.
struct Redirected {
  std::unique_ptr<Block> block;
  BufferRegion access;  ///< what of the old buffer went to the new one
};

/// Only the access of the given number (`arith::ways_to_read`) goes to `to`; refuses a number that there is not.
Redirected redirected_access(const Edit& edit, const Stmt& self, const Buffer& from, const Buffer& to,
                             std::int64_t access) {
  const Block& block = *self.as<Block>();
  const std::vector<std::vector<Expr>> ways = arith::ways_to_read(block, from);
  if (access < 0 || access >= static_cast<std::int64_t>(ways.size())) {
    std::string list;
    for (std::size_t i = 0; i < ways.size(); ++i)
      list += (i == 0 ? "" : ", ") + std::to_string(i) + ": " + to_string(load(from, ways[i]));
    edit.refuse(code::S008,
                "block \"" + block.name() + "\" reads \"" + from->name + "\" in " +
                    std::to_string(ways.size()) + (ways.size() == 1 ? " way" : " ways") +
                    ", there is no access " + std::to_string(access),
                {{self.get(), "here"}}, "choose one of its accesses: " + list);
  }
  bool nested = false;
  walk(block.body, [&](const Stmt& x) {
    nested |= x.as<Block>() != nullptr;
    return true;
  });
  if (nested) {
    edit.refuse(code::S008, "the accesses of block \"" + block.name() + "\" are made by blocks inside it",
                {{self.get(), "here"}},
                "stage the access in the block that makes it, before `tensorize` or `blockize`");
  }
  const std::vector<Expr>& way = ways[static_cast<std::size_t>(access)];
  Redirected out{copy(block), {}};
  out.block->body = rewrite_exprs(block.body, [&](const Expr& e) {
    const Load* l = e.as<Load>();
    const bool this_one = l && l->buffer.same_as(from) && arith::same_subscripts(l->indices, way);
    return this_one ? load(to, l->indices) : Expr();
  });
  // The regions of both buffers anew, and all others as they are.
  const std::unique_ptr<Block> fresh = copy(*out.block);
  arith::refresh_regions(*fresh);
  std::vector<BufferRegion>& reads = out.block->reads;
  reads.clear();
  for (const BufferRegion& r : block.reads) {
    if (!r.buffer.same_as(from)) {
      reads.push_back(r);
      continue;
    }
    for (const Buffer& b : {from, to}) {
      for (const BufferRegion& each : fresh->reads) {
        if (each.buffer.same_as(b)) reads.push_back(each);
      }
    }
  }
  const auto staged =
      std::ranges::find_if(reads, [&](const BufferRegion& r) { return r.buffer.same_as(to); });
  if (staged == reads.end()) {
    edit.refuse(code::S008,
                "block \"" + block.name() + "\" never reads " + to_string(load(from, way)) +
                    ": the condition around it is false for all its iterations",
                {{self.get(), "here"}}, "choose another access");
  }
  out.access = *staged;
  out.access.buffer = from;
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

/// Where the block runs, over the loops down to `at`; refuses when that is not clear.
Expr need_runs(const Edit& edit, const Path& from, const Path& at, bool sums) {
  if (at.empty()) return true_expr();
  const Runs runs = runs_below(edit.program(), from, at.size(), sums);
  if (runs.unclear.defined()) {
    edit.refuse(code::S046,
                "in which iterations of loop \"" + at.back().as<For>()->var.name() + "\" block \"" +
                    from.back().as<Block>()->name() + "\" runs is not clear from its condition " +
                    to_string(runs.unclear),
                {{at.back().get(), "here"}, {from.back().get(), "block"}}, "choose a loop further out");
  }
  return runs.condition;
}

/// A copy reads all of a box, so all of it must have been written: by a block whose stores are the whole buffer. The
/// padding of a layout that does not divide is not.
void need_dense(const Edit& edit, const Stmt& writer, const Buffer& buffer) {
  const Block& block = *writer.as<Block>();
  std::vector<arith::Domain> domains;
  for (const IterVar& i : block.iters) {
    if (i.kind == IterKind::Spatial) domains.push_back({i.var, i.extent});
  }
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  for (const BufferRegion& w : block.writes) {
    if (!w.buffer.same_as(buffer)) continue;
    std::vector<Expr> indices, extents;
    for (std::size_t d = 0; d < w.ranges.size(); ++d) {
      // Plain subscripts, the usual case, need no proof.
      if (is_int(buffer->shape[d], 1) || w.ranges[d].min.as<VarNode>()) continue;
      indices.push_back(w.ranges[d].min);
      extents.push_back(buffer->shape[d]);
    }
    if (indices.empty()) continue;
    std::vector<arith::Domain> used;
    for (const arith::Domain& d : domains) {
      if (std::ranges::any_of(indices, [&](const Expr& e) { return mentions(e, d.var); })) used.push_back(d);
    }
    const auto map = arith::detect_iter_map(indices, extents, used, true_expr(), analyzer);
    if (map && map->bijective()) continue;
    edit.refuse(
        code::S046,
        "the layout of \"" + buffer->name + "\" has elements that nothing writes, and a copy would read them",
        {{writer.get(), "writes it"}},
        "stage it before transform_layout, or choose a layout without padding");
  }
}

/// Do the loops reach every element of the block's domain? They do until compute_at cuts it down to what is read.
bool runs_whole(const Edit& edit, const Path& from) {
  const Block& block = *from.back().as<Block>();
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  std::vector<Expr> bindings, extents;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind != IterKind::Spatial) continue;
    bindings.push_back(block.bindings[i]);
    extents.push_back(block.iters[i].extent);
  }
  std::vector<arith::Domain> used;
  for (const arith::Domain& d : domains_of(loops_on(from))) {
    if (std::ranges::any_of(bindings, [&](const Expr& e) { return mentions(e, d.var); })) used.push_back(d);
  }
  const auto map = arith::detect_iter_map(bindings, extents, used, block.predicate, analyzer);
  return map && map->surjective;
}

/// Does the block write (or read) all elements of a box in each iteration of the last loop of `at` (empty: altogether)?
bool fills_box(const Path& from, const Path& at, const BufferRegion& access, arith::Analyzer& analyzer) {
  const Block& block = *from.back().as<Block>();
  const std::vector<Stmt> inner =
      loops_on(Path(from.begin() + static_cast<std::ptrdiff_t>(at.size()), from.end()));
  std::vector<Var> spatial;  // the inner loops that the subscripts depend on
  std::vector<Expr> within;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind != IterKind::Spatial) continue;
    // A condition that only keeps a variable in its domain leaves no gap: the copy has it, too.
    within.push_back(analyzer.simplify(block.bindings[i] < block.iters[i].extent));
    for (const Stmt& l : inner) {
      if (mentions(block.bindings[i], l.as<For>()->var)) spatial.push_back(l.as<For>()->var);
    }
  }
  auto probe = copy(block);
  probe->predicate = true_expr();
  for (const Expr& c : arith::conjuncts(block.predicate)) {
    const bool relevant = std::ranges::any_of(spatial, [&](const Var& v) { return mentions(c, v); }) &&
                          std::ranges::none_of(within, [&](const Expr& w) {
                            return structural_equal(w, analyzer.simplify(c));
                          });
    if (relevant) probe->predicate = arith::conjunction(probe->predicate, c);
  }
  // Of the block's elements alone, so without the ends of the buffer.
  BufferRegion unclipped = access;
  unclipped.buffer = Buffer(access.buffer->name, access.buffer->dtype,
                            std::vector<Expr>(access.ranges.size(), make_index(INT64_C(1) << 40)));
  return arith::access_over(*probe, unclipped, domains_of(inner), analyzer).exact;
}

/// A store copies a box; where an iteration of `at` writes only parts of one, with gaps, it would put over the gaps what the
/// new buffer never got. Refuses that.
void need_filled(const Edit& edit, const Path& from, const Path& at, const BufferRegion& access,
                 arith::Analyzer& analyzer) {
  if (at.empty() ? runs_whole(edit, from) : fills_box(from, at, access, analyzer)) return;
  if (at.empty() && fills_box(from, at, access, analyzer)) return;
  const std::string where = at.empty() ? "block \"" + from.back().as<Block>()->name() + "\""
                                       : "an iteration of loop \"" + at.back().as<For>()->var.name() + "\"";
  edit.refuse(code::S046,
              where + " does not write all elements of a box of \"" + access.buffer->name +
                  "\", and a copy of the box would write over the others",
              {{at.empty() ? from.back().get() : at.back().get(), "here"}, {from.back().get(), "block"}},
              at.empty() ? "stage it before compute_at"
                         : "choose a loop under which the block's elements lie side by side");
}

/// A copy before a reader reads a box; of a block that was cut down to the elements that are read, with gaps between them, it
/// would read what nobody wrote. Refuses that.
void need_written(const Edit& edit, const Stmt& writer, const Path& spot, const Buffer& buffer) {
  const Path from = path_to_block(edit.body(), writer.as<Block>()->label.get());
  if (runs_whole(edit, from)) return;
  Path shared;
  while (shared.size() < std::min(spot.size(), from.size()) &&
         spot[shared.size()].same_as(from[shared.size()]))
    shared.push_back(spot[shared.size()]);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, shared);
  for (const BufferRegion& w : writer.as<Block>()->writes) {
    if (!w.buffer.same_as(buffer) || fills_box(from, shared, w, analyzer)) continue;
    edit.refuse(code::S046,
                "block \"" + writer.as<Block>()->name() + "\" writes only some elements of \"" +
                    buffer->name + "\", with gaps between them, and a copy would read the gaps",
                {{writer.get(), "writes it"}}, "stage it before compute_at");
  }
}

/// The copy, run only where the block runs: elsewhere what it copies may not have been written.
Stmt guarded(const CopyNest& made, const Expr& runs, arith::Analyzer& analyzer) {
  if (is_true(runs)) return made.nest;
  const Path place = path_to_block(made.nest, made.label.get());
  auto block = copy(*place.back().as<Block>());
  block->predicate = analyzer.simplify(arith::conjunction(block->predicate, runs));
  return replace(place, Stmt(block.release()));
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
                {{self.get(), "here"}}, reads_to_choose_from(block));
  }
  BufferRegion access = block.reads[which];
  for (const Stmt& w : writers_of(edit.body(), access.buffer)) {
    need_dense(edit, w, access.buffer);
    const Block& writer = *w.as<Block>();
    const bool parts =
        block.partner.defined() && (writer.label.same_as(block.partner) ||
                                    (writer.partner.defined() && writer.partner.same_as(block.partner)));
    if (parts || (writer.partner.defined() && writer.partner.same_as(block.label))) {
      edit.refuse(
          code::S041,
          "\"" + access.buffer->name + "\" holds the sums that the parts of a reduction hand to one another",
          {{self.get(), "reads it"}, {w.get(), "writes it"}}, "stage the operands of the reduction instead");
    }
    if (w.same_as(self))
      edit.refuse(
          code::S054,
          "block \"" + block.name() + "\" updates \"" + access.buffer->name + "\", a copy would be stale",
          {{self.get(), "here"}});
  }
  const Buffer staged = like(
      access.buffer, unique_buffer_name(edit.program(), access.buffer->name + "_" + spelling(scope)), scope);
  std::unique_ptr<Block> reader;
  if (edit.arg_count() > 3) {
    Redirected one = redirected_access(edit, self, access.buffer, staged, edit.integer(3));
    reader = std::move(one.block);
    access = std::move(one.access);
  } else {
    reader = redirected(block, access.buffer, staged);
  }
  const Spot spot =
      spot_for(edit.body(), edit.program(), from, access.buffer, writers_of(edit.body(), access.buffer));
  for (const Stmt& w : writers_of(edit.body(), access.buffer))
    need_written(edit, w, spot.loop, access.buffer);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, spot.loop);
  const arith::Region region = region_at(spot, edit.body(), block, access, analyzer);
  CopyNest stage = copy_nest(unique_block_name(edit.program(), staged->name), access.buffer, staged,
                             region.region, analyzer);
  const Expr runs = need_runs(edit, from, spot.loop, false);
  Stmt body = put(edit.body(), spot, guarded(stage, runs, analyzer), true);
  const Path place = path_to_block(body, block.label.get());
  edit.set_body(replace(place, Stmt(reader.release())));
  edit.add_temp(staged);
  edit.output(stage.label);
}

namespace {

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

/// cache_write without a loop: the block fills the new buffer, a copy behind it stores to the old one.
void stage_whole(Edit& edit, const Path& from, Scope scope) {
  const Stmt self = from.back();
  const Block& block = *self.as<Block>();
  const BufferRegion access = block.writes[0];
  const Buffer staged = like(
      access.buffer, unique_buffer_name(edit.program(), access.buffer->name + "_" + spelling(scope)), scope);
  const Spot spot = spot_behind(edit, from, access.buffer);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, spot.loop);
  const arith::Region region = region_at(spot, edit.body(), block, access, analyzer);
  need_filled(edit, from, spot.loop, access, analyzer);
  CopyNest store = copy_nest(unique_block_name(edit.program(), access.buffer->name + "_store"), staged,
                             access.buffer, region.region, analyzer);
  const Expr runs = need_runs(edit, from, spot.loop, true);
  Stmt body = put(edit.body(), spot, guarded(store, runs, analyzer), false);
  const Path place = path_to_block(body, block.label.get());
  edit.set_body(replace(place, Stmt(redirected(block, access.buffer, staged).release())));
  edit.add_temp(staged);
  edit.output(store.label);
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
  for (const VarNode* v : reduce_loops(block, loops_on(at))) {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (block.iters[i].kind != IterKind::Spatial || !mentions(block.bindings[i], Var(v))) continue;
      edit.refuse(
          code::S045,
          "loop \"" + v->name + "\", over which block \"" + block.name() +
              "\" reduces, is fused with a spatial one, so the passes over an element are not its iterations",
          {{loop.get(), "here"}}, "choose a loop outside it, or do not fuse them");
    }
  }
  for (const Stmt& l : loops_on(at)) {
    const For& pass = *l.as<For>();
    if (pass.for_kind == ForKind::Serial || pass.for_kind == ForKind::Unrolled ||
        reduce_loops(block, {l}).empty())
      continue;
    edit.refuse(code::S045,
                "the passes of loop \"" + pass.var.name() + "\" follow one another, but it is " +
                    spelling(pass.for_kind),
                {{l.get(), "here"}}, "choose a loop outside it");
  }
  const std::vector<Stmt> inner =
      loops_on(Path(from.begin() + static_cast<std::ptrdiff_t>(at.size()), from.end()));
  if (const For* again = repeating_loop(block, inner)) {
    edit.refuse(code::S045,
                "loop \"" + again->var.name() + "\" repeats block \"" + block.name() +
                    "\", which would add to the same sums again",
                {{loop.get(), "here"}, {self.get(), "block"}}, "choose a loop inside it");
  }
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
  need_filled(edit, from, at, access, analyzer);
  const Expr runs = need_runs(edit, from, at, true);
  for (const Stmt& reader : readers_of(edit.body(), access.buffer)) {
    // The store goes behind what the loop holds of the block: who reads beside the block would read before it.
    const Path beside = path_to(loop.as<For>()->body, self.get());
    const Stmt& child = beside[beside[0].as<Seq>() ? 1 : 0];
    if (contains(child, reader.get())) {
      edit.refuse(code::S045,
                  "block \"" + reader.as<Block>()->name() + "\" reads \"" + access.buffer->name +
                      "\" in a loop below \"" + loop.as<For>()->var.name() + "\", before the sums are stored",
                  {{loop.get(), "here"}, {reader.get(), "reads it"}}, "choose a loop further in");
    }
  }

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
  need_dense(edit, self, self.as<Block>()->writes[0].buffer);
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
