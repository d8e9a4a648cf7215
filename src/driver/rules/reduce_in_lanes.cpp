// Reductions along a row: partial results in the lanes of several vectors, combined at the end of the row.
//
//     for k: y += f(x[k])      =>      for k by 32: for 32 lanes: p[lane] += f(x[k + lane])
//                                      for 4: for 8 lanes: q[lane] += p[8 * … + lane]
//                                      for 8: y += q[lane]
//
// Where rows share an operand (a matrix by a vector), several of them go side by side: more streams from memory, fewer loads.
//
// The last sum is a chain of dependent additions, which in a short row takes as long as the row: hence the step between.

#include <algorithm>

#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kVectors = 4;  ///< chains side by side, the latency of an addition
constexpr std::int64_t kShortRow = 8;  ///< vectors; adding up two in the end would cost more than the second saves
constexpr std::int64_t kRows = 4;     ///< side by side where they share an operand

/// The loop over rows that share an operand: the only one besides the reduction that runs more than once. Undefined: none.
LoopRef shared_rows(const Schedule& s, BlockRef b, const std::vector<LoopRef>& loops) {
  const Block& block = s.get(b);
  LoopRef rows;
  for (std::size_t l = 0; l + 1 < loops.size(); ++l) {
    if (extent(s, loops[l]) == 1) continue;
    if (rows.defined()) return {};
    rows = loops[l];
  }
  if (!rows.defined() || block.reads.size() < 2) return {};
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.bindings[i].get() != s.get(rows).var.get() || block.iters[i].kind != IterKind::Spatial)
      continue;
    for (const BufferRegion& r : block.reads) {
      if (!mentions(r, block.iters[i].var)) return rows;
    }
  }
  return {};
}

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  if (!block.is_reduction() || block.partner.defined() || block.writes.size() != 1) return false;
  const std::vector<LoopRef> loops = s.loops(b);
  if (loops.empty() || s.get(loops.back()).for_kind != ForKind::Serial ||
      has_loop_of_kind(s, b, ForKind::Vectorized))
    return false;
  const IterVar& last = block.iters.back();
  if (last.kind != IterKind::Reduce || block.bindings.back().get() != s.get(loops.back()).var.get())
    return false;
  // Some operand runs along the row, and none has it anywhere but innermost.
  bool along = false;
  for (const BufferRegion& r : block.reads) {
    const std::vector<Expr>& shape = r.buffer->shape;
    for (std::size_t d = 0; d < r.ranges.size(); ++d) {
      if (!lathe::mentions(r.ranges[d].min, last.var)) continue;
      if (std::any_of(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, shape.end(),
                      [](const Expr& e) { return !is_int(e, 1); }))
        return false;
      along = true;
    }
  }
  return along;
}

/// A row after another has one stream from memory; so several are taken at once.
void side_by_side(Schedule& s, BlockRef b, LoopRef rows, LoopRef steps, const Context& context) {
  const std::int64_t l = context.lanes();
  auto [block, row] = s.split(rows, {_, context.choose(s, kRows, {1, 2, 4, 8})});
  const std::int64_t wide = extent(s, steps) < kShortRow * l ? l : 2 * l;
  auto [step, lanes] = s.split(steps, {_, context.choose(s, wide, {l, 2 * l})});
  s.reorder({block, step, row, lanes});
  const BlockRef partial = s.rfactor(b, lanes, s.get(b).writes[0].buffer->rank());
  s.reverse_compute_at(b, block);
  s.set_scope(partial, Scope::Local);
  s.unroll(row);
  s.vectorize(lanes);
  std::vector<LoopRef> last = s.loops(b);
  last.erase(last.begin(), std::ranges::find(last, block) + 1);
  for (LoopRef each : last) s.unroll(each);
}

/// The innermost loop outside the reduction, where its sums are complete. Undefined: none.
LoopRef outside_reduction(const Schedule& s, BlockRef b, const std::vector<LoopRef>& loops) {
  const Block& block = s.get(b);
  LoopRef outside;
  for (LoopRef l : loops) {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (block.iters[i].kind == IterKind::Reduce && lathe::mentions(block.bindings[i], s.get(l).var))
        return outside;
    }
    outside = l;
  }
  return outside;
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const std::vector<LoopRef> loops = s.loops(b);
  if (const LoopRef rows = shared_rows(s, b, loops); rows.defined())
    return side_by_side(s, b, rows, loops.back(), context);
  const LoopRef outside = outside_reduction(s, b, loops);
  const std::int64_t l = context.lanes(), row = extent(s, loops.back());
  std::int64_t vectors = kVectors;
  while (vectors > 1 && vectors * l > row) vectors /= 2;
  auto [steps, lanes] = s.split(loops.back(), {_, context.choose(s, vectors * l, {l, 2 * l, 4 * l, 8 * l})});
  const int rank = s.get(b).writes[0].buffer->rank();
  const BlockRef partial = s.rfactor(b, lanes, rank);
  if (outside.defined()) s.reverse_compute_at(b, outside);
  s.set_scope(partial, Scope::Local);
  s.vectorize(lanes);
  if (vectors > 1) {
    auto [several, one] = s.split(s.loops(b).back(), {_, l});
    const BlockRef vector = s.rfactor(b, one, rank);
    if (outside.defined()) s.reverse_compute_at(b, outside);
    s.set_scope(vector, Scope::Local);
    s.vectorize(one);
    s.unroll(several);
  }
  s.unroll(s.loops(b).back());
}

}  // namespace

const Rule reduce_in_lanes = {"reduce_in_lanes", "reduce rows in the lanes of vectors", applies, apply};

}  // namespace lathe::rules
