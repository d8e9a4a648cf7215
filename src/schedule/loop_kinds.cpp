// parallel, vectorize, unroll, bind: how the iterations of a loop run.

#include <algorithm>

#include "schedule/edit.h"
#include "schedule/legality.h"

namespace lathe::schedule {
namespace {

void need_serial(const Edit& edit, const Path& path) {
  const For& loop = *path.back().as<For>();
  if (loop.for_kind == ForKind::Serial) return;
  edit.refuse(code::S011, "loop \"" + loop.var.name() + "\" is already " + spelling(loop.for_kind),
              {{path.back().get(), "here"}});
}

void need_constant_extent(const Edit& edit, const Path& path) {
  const For& loop = *path.back().as<For>();
  if (constant(loop.extent)) return;
  edit.refuse(code::S017, "the extent " + to_string(loop.extent) + " is known at run time only",
              {{path.back().get(), "here"}}, "split the loop by a constant and take the inner part");
}

/// Refuses when a loop above or below is of `kind`.
void need_no_other(const Edit& edit, const Path& path, ForKind kind, const std::string& way_out) {
  const char* what = spelling(kind);
  for (const Stmt& s : path) {
    const For* outer = s.as<For>();
    if (outer && !s.same_as(path.back()) && outer->for_kind == kind) {
      edit.refuse(code::S018, "it lies in loop \"" + outer->var.name() + "\", which is " + what,
                  {{s.get(), "outer"}, {path.back().get(), "here"}}, way_out);
    }
  }
  walk(path.back().as<For>()->body, [&](const Stmt& s) {
    const For* inner = s.as<For>();
    if (inner && inner->for_kind == kind) {
      edit.refuse(code::S018, "it contains loop \"" + inner->var.name() + "\", which is " + what,
                  {{path.back().get(), "here"}, {s.get(), "inner"}}, way_out);
    }
    return true;
  });
}

[[noreturn]] void refuse_dependence(const Edit& edit, const Path& path, const Dependence& dependence) {
  edit.refuse(code::S020,
              "the iterations of loop \"" + path.back().as<For>()->var.name() + "\" depend on one another; " +
                  dependence.reason,
              {{path.back().get(), "here"}, {dependence.block, "writes"}});
}

void need_independent(const Edit& edit, const Path& path, const char* way_out_for_reductions) {
  const For& loop = *path.back().as<For>();
  for (const Stmt& s : blocks_below(loop.body)) {
    const Block& block = *s.as<Block>();
    const bool reduces = block.is_reduction() && !reduce_loops(block, {path.back()}).empty();
    if (reduces) {
      edit.refuse(code::S019,
                  "loop \"" + loop.var.name() + "\" carries the reduction of block \"" + block.name() +
                      "\": its iterations update the same elements",
                  {{path.back().get(), "here"}, {s.get(), "reduces over it"}}, way_out_for_reductions);
    }
  }
  if (auto dependence = loop_dependence(path, edit.program())) refuse_dependence(edit, path, *dependence);
}

/// Under a cross-thread reduction, only the sums themselves meet.
void need_independent_beside_sums(const Edit& edit, const Path& path) {
  const For& loop = *path.back().as<For>();
  const std::vector<Stmt> blocks = blocks_below(loop.body);
  for (const Stmt& s : blocks) {
    const Block& block = *s.as<Block>();
    const bool in_parts = std::ranges::any_of(blocks, [&](const Stmt& other) {
      return block.partner.defined() && other.as<Block>()->label.same_as(block.partner);
    });
    if (in_parts) {
      edit.refuse(code::S019,
                  "block \"" + block.name() + "\" is a part of a reduction whose passes follow one another",
                  {{path.back().get(), "here"}, {s.get(), "a part"}}, "bind before cache_write at a loop");
    }
    if (!reduce_loops(block, {path.back()}).empty()) continue;
    for (const BufferRegion& w : block.writes) {
      if (auto dependence = write_dependence(path, edit.program(), w.buffer))
        refuse_dependence(edit, path, *dependence);
    }
  }
}

Stmt with_kind(const Stmt& s, ForKind kind, ThreadAxis axis = ThreadAxis::None) {
  auto loop = copy(*s.as<For>());
  loop->for_kind = kind;
  loop->axis = axis;
  return Stmt(loop.release());
}

}  // namespace

void run_parallel(Edit& edit) {
  const Path path = edit.loop(0);
  need_serial(edit, path);
  need_no_other(edit, path, ForKind::Parallel, "nested parallel loops have no meaning; fuse them first");
  for (const Stmt& s : path) {
    const For* outer = s.as<For>();
    if (outer && outer->for_kind == ForKind::Vectorized) {
      edit.refuse(code::S018, "it lies in loop \"" + outer->var.name() + "\", which is vectorized",
                  {{s.get(), "outer"}, {path.back().get(), "here"}},
                  "run a loop outside the vectors in parallel");
    }
  }
  need_no_other(edit, path, ForKind::ThreadBound, "parallel loops are for CPUs, threads for GPUs");
  need_independent(edit, path,
                   "rfactor the reduction over this loop first: the partial results are independent");
  edit.set_body(replace(path, with_kind(path.back(), ForKind::Parallel)));
}

void run_vectorize(Edit& edit) {
  const Path path = edit.loop(0);
  need_serial(edit, path);
  need_constant_extent(edit, path);
  need_no_other(edit, path, ForKind::Vectorized, "nested vectorized loops have no meaning; fuse them first");
  walk(path.back().as<For>()->body, [&](const Stmt& s) {
    const For* inner = s.as<For>();
    if (inner && inner->for_kind != ForKind::Serial && inner->for_kind != ForKind::Unrolled) {
      edit.refuse(code::S018,
                  "it contains loop \"" + inner->var.name() + "\", which is " + spelling(inner->for_kind),
                  {{path.back().get(), "here"}, {s.get(), "inner"}}, "vectorise an inner loop");
    }
    return true;
  });
  need_independent(edit, path, "rfactor the reduction over this loop first: the partial results are lanes");
  edit.set_body(replace(path, with_kind(path.back(), ForKind::Vectorized)));
}

void run_unroll(Edit& edit) {
  const Path path = edit.loop(0);
  need_serial(edit, path);
  need_constant_extent(edit, path);
  edit.set_body(replace(path, with_kind(path.back(), ForKind::Unrolled)));
}

void run_bind(Edit& edit) {
  const Path path = edit.loop(0);
  const For& loop = *path.back().as<For>();
  const std::string& word = edit.symbol(1);
  static const std::pair<const char*, ThreadAxis> axes[] = {
      {"ThreadAxis::BlockX", ThreadAxis::BlockX},   {"ThreadAxis::BlockY", ThreadAxis::BlockY},
      {"ThreadAxis::BlockZ", ThreadAxis::BlockZ},   {"ThreadAxis::ThreadX", ThreadAxis::ThreadX},
      {"ThreadAxis::ThreadY", ThreadAxis::ThreadY}, {"ThreadAxis::ThreadZ", ThreadAxis::ThreadZ},
      {"ThreadAxis::VThread", ThreadAxis::VThread}};
  ThreadAxis axis = ThreadAxis::None;
  for (const auto& [text, value] : axes) {
    if (word == text) axis = value;
  }
  if (axis == ThreadAxis::None)
    edit.refuse(code::S003, word + " is no thread axis", {},
                "bind to ThreadAxis::BlockX … ThreadZ or VThread");
  need_serial(edit, path);
  need_no_other(edit, path, ForKind::Parallel, "parallel loops are for CPUs, threads for GPUs");
  const bool is_thread = axis >= ThreadAxis::ThreadX && axis <= ThreadAxis::ThreadZ;
  const bool is_block = axis >= ThreadAxis::BlockX && axis <= ThreadAxis::BlockZ;
  if (is_thread) need_constant_extent(edit, path);
  for (const Stmt& s : path) {
    const For* outer = s.as<For>();
    if (!outer || s.same_as(path.back()) || outer->for_kind != ForKind::ThreadBound) continue;
    const bool outer_is_thread = outer->axis >= ThreadAxis::ThreadX && outer->axis <= ThreadAxis::ThreadZ;
    if (outer->axis == axis && axis != ThreadAxis::VThread) {
      edit.refuse(
          code::S021,
          std::string(spelling(axis)) + " is bound already, by loop \"" + outer->var.name() + "\" above",
          {{s.get(), "here"}, {path.back().get(), "and here"}});
    }
    if (is_block && outer_is_thread) {
      edit.refuse(code::S021,
                  std::string(spelling(axis)) + " would lie in " + spelling(outer->axis) +
                      ": blocks contain threads, not the other way round",
                  {{s.get(), "outer"}, {path.back().get(), "here"}});
    }
  }
  // A bound reduce loop is a cross-thread reduction.
  bool reduces = false;
  for (const Stmt& s : blocks_below(loop.body)) {
    const Block& block = *s.as<Block>();
    if (reduce_loops(block, {path.back()}).empty()) continue;
    reduces = true;
    const bool free = block.is_reduction() && block.reducer->associative && block.reducer->commutative;
    if (!is_thread || !free) {
      edit.refuse(
          code::S019,
          is_thread
              ? "the reducer of block \"" + block.name() +
                    "\" is not declared associative and commutative, so threads cannot share its reduction"
              : "loop \"" + loop.var.name() + "\" carries the reduction of block \"" + block.name() +
                    "\"; only threadIdx can share a reduction",
          {{path.back().get(), "here"}, {s.get(), "reduces over it"}},
          "rfactor the reduction over this loop first");
    }
  }
  if (reduces)
    need_independent_beside_sums(edit, path);
  else
    need_independent(edit, path, "");
  edit.set_body(replace(path, with_kind(path.back(), ForKind::ThreadBound, axis)));
}

}  // namespace lathe::schedule
