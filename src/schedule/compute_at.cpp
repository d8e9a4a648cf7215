// compute_at, reverse_compute_at, sample_compute_location: where a block is computed.

#include <algorithm>

#include "arith/block_access.h"
#include "arith/iter_map.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"
#include "schedule/runs.h"

namespace lathe::schedule {
namespace {

std::string loop_name(const Stmt& s) { return "loop \"" + s.as<For>()->var.name() + "\""; }
std::string block_name(const Stmt& s) { return "block \"" + s.as<Block>()->name() + "\""; }

/// The legal places of `block`, for the last line of an error.
std::string legal_places(const Edit& edit, const char* primitive) {
  const auto* ref = edit.arg(0).get<BlockRef>();
  std::string places;
  std::vector<const VarNode*> tried;
  for_each_block(edit.body(), [&](const Block& b, const Stmt&) {
    std::string names;
    for (const Stmt& loop : loops_on(path_to_block(edit.body(), b.label.get()))) {
      const VarNode* var = loop.as<For>()->var.node();
      if (std::find(tried.begin(), tried.end(), var) != tried.end()) continue;
      tried.push_back(var);
      // Tried with a handle of its own: the loop may have none yet.
      Schedule::State state = edit.before();
      state.chooser = nullptr;
      state.handles.push_back({HandleKind::Loop, loop.as<For>()->var});
      const Instruction trial =
          make_step(primitive, *ref, LoopRef(static_cast<std::uint32_t>(state.handles.size() - 1)));
      try {
        Edit attempt(state, trial, edit.site());
        find_primitive(primitive)->run(attempt);
        names += (names.empty() ? "" : ", ") + loop.as<For>()->var.name();
      } catch (const ScheduleError&) {
      }
    }
    if (!names.empty()) places += (places.empty() ? "" : "; ") + names + " of \"" + b.name() + "\"";
    return true;
  });
  const std::string& name = edit.block(0).back().as<Block>()->name();
  return places.empty() ? "no loop is legal for \"" + name + "\""
                        : "legal loops for \"" + name + "\": " + places;
}

/// Refuses with the list of legal places, found only when the text is read.
[[noreturn]] void refuse_place(const Edit& edit, const char* primitive, Code code, std::string condition,
                               std::vector<Mark> marks) {
  struct Kept {
    Schedule::State state;
    Instruction step;
    Site site;
  };
  auto kept = std::make_shared<Kept>(Kept{edit.before(), edit.step(), edit.site()});
  kept->state.chooser = nullptr;
  throw ScheduleError(
      code, Message([kept, primitive, condition = std::move(condition), marks = std::move(marks)] {
        Edit again(kept->state, kept->step, kept->site);
        std::string text = describe_call(kept->step, kept->state.handles) + ": " + condition + "\n  at " +
                           (kept->step.site.empty() ? std::string(kept->site.file_name()) + ":" +
                                                          std::to_string(kept->site.line())
                                                    : kept->step.site);
        if (!marks.empty()) text += "\n" + outline(kept->state.program->body, marks);
        return text + "\n  " + legal_places(again, primitive);
      }));
}

void need_schedulable(const Edit& edit, const Stmt& self) {
  const Block& block = *self.as<Block>();
  if (std::string why = why_not_schedulable(block, edit.body()); !why.empty()) {
    edit.refuse(code::S040, "block \"" + block.name() + "\" is neither complete nor a reduction: " + why,
                {{self.get(), "here"}});
  }
  if (block.partner.defined()) {
    edit.refuse(code::S041,
                "the reduction \"" + block.name() + "\" was decomposed, its two parts cannot be moved apart",
                {{self.get(), "here"}}, "move it before decompose_reduction or cache_write");
  }
}

/// Nobody between the old place and the new one may change what the block reads.
void need_settled_inputs(const Edit& edit, const Stmt& self, const char* primitive) {
  const Block& block = *self.as<Block>();
  bool after = false;
  for_each_block(edit.body(), [&](const Block& other, const Stmt& s) {
    if (s.same_as(self)) after = true;
    for (const BufferRegion& w : other.writes) {
      if (after && !s.same_as(self) && reads(block, w.buffer)) {
        refuse_place(edit, primitive, code::S042,
                     block_name(s) + " writes \"" + w.buffer->name + "\", which \"" + block.name() +
                         "\" reads, after it",
                     {{self.get(), "here"}, {s.get(), "writes it later"}});
      }
    }
    return true;
  });
}

/// A condition over the loops down to `place` that holds wherever a consumer runs: the conjuncts that all of them share.
Expr needed_when(const Program& program, const Stmt& root, const Path& place,
                 const std::vector<Stmt>& consumers) {
  std::vector<Expr> shared;
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    const Path path = path_to_block(root, consumers[i].as<Block>()->label.get());
    const std::vector<Expr> own = arith::conjuncts(runs_below(program, path, place.size(), true).condition);
    if (i == 0) shared = own;
    std::erase_if(shared, [&](const Expr& c) {
      return std::ranges::none_of(own, [&](const Expr& o) { return structural_equal(c, o); });
    });
  }
  Expr out = true_expr();
  for (const Expr& c : shared) out = arith::conjunction(out, c);
  return out;
}

/// Calls `refuse` with a producer of the block that runs after the place where it would be put: before the child of `loop`
/// that holds its first consumer.
void need_producers_before(const Stmt& loop, const StmtNode* first_consumer, const Block& block,
                           const std::function<void(const Stmt&)>& refuse) {
  bool reached = false;
  const Stmt& body = loop.as<For>()->body;
  for (const Stmt& child : body.as<Seq>() ? body.as<Seq>()->stmts : std::vector<Stmt>{body}) {
    reached |= contains(child, first_consumer);
    if (!reached) continue;
    for_each_block(child, [&](const Block& other, const Stmt& self) {
      if (feeds(other, block)) refuse(self);
      return true;
    });
  }
}

/// Does `produced` hold everything that the block reads of the dimension that its reduce variable `var` indexes?
bool holds_all(const Block& block, const BufferRegion& access, const BufferRegion& produced, const Var& var,
               const std::vector<Stmt>& loops, arith::Analyzer& analyzer) {
  const BufferRegion read = arith::access_over(block, access, domains_of(loops), analyzer).region;
  for (std::size_t d = 0; d < access.ranges.size(); ++d) {
    if (access.ranges[d].min.get() != var.get()) continue;
    const Range &have = produced.ranges[d], &need = read.ranges[d];
    if (!analyzer.can_prove(have.min <= need.min) ||
        !analyzer.can_prove(need.min + need.extent <= have.min + have.extent))
      return false;
  }
  return true;
}

/// A reduction whose domain was padded (pad_einsum) is computed in whole tiles even where its reader's guard leaves a single
/// tile that is not full: lanes of a vector rather than masks.
///
///     for j in 0..8: out[j] = C[j] where j < 3          with C of 8 columns: C[0..8] is computed, not C[0..3]
void take_whole_tiles(const Block& block, const Stmt& below, arith::Analyzer& analyzer,
                      std::vector<VarRange>& ranges) {
  auto cut = [&](std::size_t i) {
    if (block.iters[i].kind != IterKind::Spatial || !ranges[i].known() || !is_int(ranges[i].min, 0))
      return false;
    const std::optional<std::int64_t> e = as_int(ranges[i].extent), all = as_int(block.iters[i].extent);
    return e && all && *e < *all;
  };
  bool any = false;
  for (std::size_t i = 0; i < ranges.size(); ++i) any |= cut(i);
  if (!any || !block.is_reduction() || block.writes.size() != 1) return;
  const BufferRegion& w = block.writes[0];
  const std::optional<arith::Region> tile = region_below(below, w.buffer, false, analyzer, Guards::Ignored);
  const auto solved = tile ? solve_ranges(block, w, tile->region, Fit::Covers, analyzer) : std::nullopt;
  if (!solved) return;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!cut(i) || !is_int((*solved)[i].min, 0)) continue;
    if (const std::optional<std::int64_t> whole = as_int((*solved)[i].extent))
      ranges[i].extent =
          make_index(std::max(*as_int(ranges[i].extent), std::min(*whole, *as_int(block.iters[i].extent))));
  }
}

}  // namespace

void run_compute_at(Edit& edit) {
  if (const LoopRef* none = edit.arg(1).get<LoopRef>(); none && !none->defined()) {
    edit.block(0);
    return;  // sample_compute_location decided to leave it where it is
  }
  const Path from = edit.block(0), to = edit.loop(1);
  const Stmt self = from.back(), loop = to.back();
  const Block& block = *self.as<Block>();
  auto refuse = [&](Code code, std::string condition, std::vector<Mark> marks) {
    refuse_place(edit, "compute_at", code, std::move(condition), std::move(marks));
  };
  need_schedulable(edit, self);
  std::vector<Stmt> consumers;
  for (const BufferRegion& w : block.writes) {
    if (is_param(edit.program(), w.buffer)) {
      refuse(code::S043,
             "\"" + w.buffer->name + "\" is a parameter of the program, all of which must be computed",
             {{self.get(), "writes it"}});
    }
    for (const Stmt& s : readers_of(edit.body(), w.buffer)) consumers.push_back(s);
  }
  if (consumers.empty())
    refuse(code::S044, "block \"" + block.name() + "\" has no consumers", {{self.get(), "here"}});
  if (contains(loop, self.get()) && path_to(loop.as<For>()->body, self.get()).empty()) {
    refuse(code::S045, loop_name(loop) + " belongs to the block itself", {{loop.get(), "here"}});
  }
  std::vector<Mark> outside;
  for (const Stmt& c : consumers) {
    if (!contains(loop, c.get())) outside.push_back({c.get(), "not enclosed"});
  }
  if (!outside.empty()) {
    outside.insert(outside.begin(), {loop.get(), "here"});
    refuse(code::S045, loop_name(loop) + " does not enclose every consumer of \"" + block.name() + "\"",
           std::move(outside));
  }
  need_settled_inputs(edit, self, "compute_at");

  // Take the block out, then look at what the rest of the loop reads.
  Stmt rest = take_out(edit, from);
  const VarNode* loop_var = loop.as<For>()->var.node();
  Path place = rest.defined() ? path_to_loop(rest, loop_var) : Path();
  if (place.empty())
    refuse(code::S045, loop_name(loop) + " belongs to the block itself", {{loop.get(), "here"}});
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, place);
  std::vector<VarRange> ranges;
  const StmtNode* first_consumer = nullptr;
  for (const BufferRegion& w : block.writes) {
    std::optional<arith::Region> required =
        region_below(place.back().as<For>()->body, w.buffer, false, analyzer);
    if (!required) continue;
    std::optional<std::vector<VarRange>> solved =
        solve_ranges(block, w, required->region, Fit::Covers, analyzer);
    if (!solved) {
      refuse(code::S046,
             "the iterations that write a given region of \"" + w.buffer->name +
                 "\" cannot be told from its subscripts",
             {{self.get(), "writes it"}});
    }
    if (ranges.empty())
      ranges = *solved;
    else
      for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i] = unite(ranges[i], (*solved)[i], analyzer);
  }
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Reduce) ranges[i] = {};
  }
  take_whole_tiles(block, place.back().as<For>()->body, analyzer, ranges);
  for_each_block(place.back(), [&](const Block& b, const Stmt& s) {
    const bool consumes = std::any_of(block.writes.begin(), block.writes.end(),
                                      [&](const BufferRegion& w) { return reads(b, w.buffer); });
    if (consumes && !first_consumer) first_consumer = s.get();
    return !consumes;
  });
  need_producers_before(place.back(), first_consumer, block, [&](const Stmt& later) {
    refuse(code::S042,
           "\"" + block.name() + "\" would run before " + block_name(later) + ", which makes what it reads",
           {{loop.get(), "here"}, {later.get(), "runs later"}});
  });
  Stmt moved = nest(block, ranges, analyzer);
  if (const Expr needed = needed_when(edit.program(), rest, place, consumers); !is_true(needed)) {
    const Path inner = path_to_block(moved, block.label.get());
    auto guarded = copy(*inner.back().as<Block>());
    guarded->predicate = analyzer.simplify(arith::conjunction(guarded->predicate, needed));
    moved = replace(inner, Stmt(guarded.release()));
  }
  edit.set_body(replace(place, insert(place.back(), moved, first_consumer, true)));
}

void run_reverse_compute_at(Edit& edit) {
  const Path from = edit.block(0), to = edit.loop(1);
  const Stmt self = from.back(), loop = to.back();
  const Block& block = *self.as<Block>();
  auto refuse = [&](Code code, std::string condition, std::vector<Mark> marks) {
    refuse_place(edit, "reverse_compute_at", code, std::move(condition), std::move(marks));
  };
  need_schedulable(edit, self);
  if (contains(loop, self.get()) && path_to(loop.as<For>()->body, self.get()).empty()) {
    refuse(code::S045, loop_name(loop) + " belongs to the block itself", {{loop.get(), "here"}});
  }
  // Producers: all below the loop, and finished there.
  std::vector<Stmt> producers;
  std::vector<Mark> outside;
  for (const BufferRegion& r : block.reads) {
    for (const Stmt& p : writers_of(edit.body(), r.buffer)) {
      producers.push_back(p);
    }
  }
  bool any_below = false;
  for (const Stmt& p : producers) {
    const bool below = contains(loop, p.get());
    any_below |= below;
    if (!below) {
      // A producer that is complete before the loop starts is fine.
      bool before = false, seen_loop = false;
      walk(edit.body(), [&](const Stmt& s) {
        if (s.same_as(loop)) seen_loop = true;
        if (s.same_as(p) && !seen_loop) before = true;
        return true;
      });
      if (!before) outside.push_back({p.get(), "produced later"});
    }
  }
  if (!any_below)
    refuse(code::S044, loop_name(loop) + " encloses no producer of \"" + block.name() + "\"",
           {{loop.get(), "here"}});
  if (!outside.empty())
    refuse(code::S045, "not every producer of \"" + block.name() + "\" has run by then", std::move(outside));
  for (const Stmt& p : producers) {
    if (!contains(loop, p.get())) continue;
    const Block& producer = *p.as<Block>();
    std::vector<Stmt> upper = loops_on(to);
    if (!reduce_loops(producer, upper).empty()) {
      refuse(code::S047,
             "the reduction of block \"" + producer.name() + "\" is not finished inside " + loop_name(loop),
             {{loop.get(), "here"}, {p.get(), "still reduces"}});
    }
  }
  // Consumers of the block must come after the loop.
  for (const BufferRegion& w : block.writes) {
    for (const Stmt& c : readers_of(edit.body(), w.buffer)) {
      if (contains(loop, c.get()))
        refuse(code::S045,
               block_name(c) + " inside " + loop_name(loop) + " needs all of \"" + w.buffer->name + "\"",
               {{loop.get(), "here"}, {c.get(), "reads it"}});
    }
  }

  Stmt rest = take_out(edit, from);
  Path place = rest.defined() ? path_to_loop(rest, loop.as<For>()->var.node()) : Path();
  if (place.empty())
    refuse(code::S045, loop_name(loop) + " belongs to the block itself", {{loop.get(), "here"}});
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, place);
  std::vector<VarRange> ranges(block.iters.size());
  const StmtNode* last_producer = nullptr;
  for (const BufferRegion& r : block.reads) {
    std::optional<arith::Region> produced =
        region_below(place.back().as<For>()->body, r.buffer, true, analyzer);
    if (!produced) continue;
    // The region may be too large (a tail's guard cut it). That the new bindings are a bijection, checked below, means that
    // the regions of different iterations tile the block's domain; so an element lies in the region of one iteration only,
    // and that is the one which writes it.
    std::optional<std::vector<VarRange>> solved =
        solve_ranges(block, r, produced->region, Fit::Within, analyzer);
    bool direct = solved.has_value();
    for (std::size_t d = 0; d < r.ranges.size() && direct; ++d) {
      direct = is_int(r.ranges[d].extent, 1) && (r.ranges[d].min.as<VarNode>() || as_int(r.ranges[d].min));
    }
    if (!direct) {
      refuse(code::S046,
             "which iterations of \"" + block.name() + "\" need a given region of \"" + r.buffer->name +
                 "\" cannot be told from its subscripts",
             {{self.get(), "reads it"}});
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!(*solved)[i].known()) continue;
      if (block.iters[i].kind == IterKind::Reduce) {
        const bool all = holds_all(block, r, produced->region, block.iters[i].var, loops_on(from), analyzer);
        if (!all) {
          refuse(code::S047,
                 "block \"" + block.name() + "\" reduces over a dimension of \"" + r.buffer->name +
                     "\" of which " + loop_name(loop) + " holds only a part",
                 {{loop.get(), "here"}, {self.get(), "reduces"}});
        }
        continue;
      }
      if (!ranges[i].known()) {
        ranges[i] = (*solved)[i];
      } else if (!analyzer.can_prove_equal(ranges[i].min, (*solved)[i].min) ||
                 !analyzer.can_prove_equal(ranges[i].extent, (*solved)[i].extent)) {
        refuse(code::S046,
               "the producers of \"" + block.name() + "\" hold different regions inside " + loop_name(loop),
               {{loop.get(), "here"}});
      }
    }
  }
  for_each_block(place.back(), [&](const Block& b, const Stmt& s) {
    for (const BufferRegion& w : b.writes) {
      if (reads(block, w.buffer)) last_producer = s.get();
    }
    return true;
  });
  Stmt moved = nest(block, ranges, analyzer);
  // Every iteration of the block must run, and once: each loop round it counts, and the new bindings are a bijection of the
  // loops.
  const Stmt moved_block = blocks_below(moved)[0];
  std::vector<Expr> bindings, extents;
  std::vector<arith::Domain> loops;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    bindings.push_back(moved_block.as<Block>()->bindings[i]);
    extents.push_back(block.iters[i].extent);
  }
  Path inner = path_to(moved, moved_block.get());
  for (const arith::Domain& d : domains_of(loops_on(place))) loops.push_back(d);
  for (const arith::Domain& d : domains_of(loops_on(inner))) loops.push_back(d);
  std::erase_if(loops, [&](const arith::Domain& d) {
    return is_int(d.extent, 1) &&
           std::ranges::none_of(bindings, [&](const Expr& b) { return mentions(b, d.var); });
  });
  const std::vector<Stmt> outer = loops_on(place);
  const bool never = std::ranges::any_of(
      block.iters, [](const IterVar& i) { return i.kind == IterKind::Spatial && is_int(i.extent, 0); });
  const bool counted = never || std::ranges::all_of(outer, [&](const Stmt& s) {
                         const For* f = s.as<For>();
                         return is_int(f->extent, 1) || std::ranges::any_of(bindings, [&](const Expr& b) {
                                  return mentions(b, f->var);
                                });
                       });
  arith::Analyzer fresh;
  bind_sizes(fresh, edit.program());
  std::optional<arith::IterMap> map =
      arith::detect_iter_map(bindings, extents, loops, moved_block.as<Block>()->predicate, fresh);
  if (!counted || !map || !map->bijective()) {
    refuse(code::S048,
           "inside " + loop_name(loop) + " the block would not run each of its iterations exactly once",
           {{loop.get(), "here"}, {self.get(), "to be moved"}});
  }
  edit.set_body(replace(place, insert(place.back(), moved, last_producer, false)));
}

void run_sample_compute_location(Edit& edit) {
  const Path from = edit.block(0);
  const Stmt self = from.back();
  const BlockRef ref = *edit.arg(0).get<BlockRef>();
  // All loops round consumers that are legal places and have handles.
  std::vector<std::uint32_t> legal;
  for (const BufferRegion& w : self.as<Block>()->writes) {
    for (const Stmt& c : readers_of(edit.body(), w.buffer)) {
      for (const Stmt& loop : loops_on(path_to(edit.body(), c.get()))) {
        const auto& handles = edit.before().handles;
        for (std::uint32_t id = 0; id < handles.size(); ++id) {
          if (handles[id].node.get() != loop.as<For>()->var.node() || handles[id].consumed_by >= 0) continue;
          if (std::find(legal.begin(), legal.end(), id) != legal.end()) continue;
          const Instruction trial = make_step("compute_at", ref, LoopRef(id));
          try {
            Edit attempt(edit.before(), trial, edit.site());
            run_compute_at(attempt);
            legal.push_back(id);
          } catch (const ScheduleError&) {
          }
        }
      }
    }
  }
  OpenDecision open;
  open.locations = static_cast<std::int64_t>(legal.size());
  std::int64_t pick = -1;
  if (!edit.step().decision.empty()) {
    pick = edit.step().decision[0];
    if (edit.step().decision.size() != 1 || pick < -1 || pick >= open.locations) {
      edit.refuse(code::S031,
                  "the recorded decision " + std::to_string(pick) + " is none of the " +
                      std::to_string(open.locations) + " legal loops",
                  {{self.get(), "here"}});
    }
  } else if (edit.before().chooser) {
    const auto options = list_options(open, edit.step().op);
    pick = options.at(std::min(edit.before().chooser(edit.step(), options), options.size() - 1))[0];
  }
  if (pick < 0) {
    edit.output_no_loop();
  } else {
    edit.output(Var(static_cast<const VarNode*>(edit.before().handles[legal[pick]].node.get())));
  }
  edit.decide({pick}, open);
}

}  // namespace lathe::schedule
