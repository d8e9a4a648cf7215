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

#include "driver/rules/contraction.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kVectors = 4;  ///< chains side by side, the latency of an addition
constexpr std::int64_t kFew =
    4;  ///< elements of an innermost dimension that is too short for lanes (pixels of three colours)
constexpr std::int64_t kRows = 4;  ///< side by side where they share an operand
constexpr std::int64_t kShortRow =
    8;  ///< vectors; adding up two in the end would cost more than the second saves

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

/// Could lanes run along the result instead? Windows of an image, or sums of a few terms each: neighbouring results then have a lane
/// each, without anything to combine.
bool runs_along_result(const Block& block, const Context& context) {
  if (block.writes[0].ranges.empty()) return false;
  const Expr& along = block.writes[0].ranges.back().min;
  const auto column =
      std::ranges::find_if(block.iters, [&](const IterVar& i) { return i.var.get() == along.get(); });
  if (column == block.iters.end() || as_int(column->extent).value_or(1 << 20) < context.lanes()) return false;
  const bool few_terms = domain(block, block.iters.size() - 1) < 2 * context.lanes();
  bool moves = false;
  for (const Operand& o : operands(block)) {
    const std::optional<std::int64_t> step = step_along(o.access, column->var);
    if (!step || *step < 0 || *step > (few_terms ? context.lanes() : 1)) return false;
    moves |= *step > 0;
  }
  return moves;
}

bool applies(Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  if (!block.is_reduction() || block.partner.defined()) return false;
  const std::vector<LoopRef> loops = s.loops(b);
  if (loops.empty() || s.get(loops.back()).for_kind != ForKind::Serial ||
      has_loop_of_kind(s, b, ForKind::Vectorized))
    return false;
  if (runs_along_result(block, context)) return false;
  const IterVar& last = block.iters.back();
  if (last.kind != IterKind::Reduce || block.bindings.back().get() != s.get(loops.back()).var.get())
    return false;
  // Some operand runs along the row, and none has it further out than a few elements.
  bool along = false;
  for (const BufferRegion& r : block.reads) {
    const std::vector<Expr>& shape = r.buffer->shape;
    for (std::size_t d = 0; d < r.ranges.size(); ++d) {
      if (!lathe::mentions(r.ranges[d].min, last.var)) continue;
      std::int64_t inside = 1;
      for (std::size_t i = d + 1; i < shape.size(); ++i) inside *= as_int(shape[i]).value_or(1 << 20);
      if (inside > kFew) return false;
      along = true;
    }
  }
  return along;
}

/// Vector registers for a vector of each value that is reduced, in lanes of 32 bits.
std::int64_t registers_of(const Block& block) {
  std::int64_t bytes = 0;
  for (const BufferRegion& w : block.writes) bytes += std::max(4, w.buffer->dtype.bytes());
  return block.writes.size() == 1 ? 1 : bytes / 4;
}

/// Partial results of one value stay in registers; those of several (argmax) where the compiler puts them.
void keep_local(Schedule& s, BlockRef partial) {
  if (s.get(partial).writes.size() == 1) s.set_scope(partial, Scope::Local);
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
  keep_local(s, partial);
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
  std::int64_t vectors =
      std::clamp<std::int64_t>(context.registers() / (2 * registers_of(s.get(b))), 1, kVectors);
  while (vectors > 1 && vectors * l > row) vectors /= 2;
  auto [steps, lanes] = s.split(loops.back(), {_, context.choose(s, vectors * l, {l, 2 * l, 4 * l, 8 * l})});
  const int rank = s.get(b).writes[0].buffer->rank();
  const BlockRef partial = s.rfactor(b, lanes, rank);
  if (outside.defined()) s.reverse_compute_at(b, outside);
  keep_local(s, partial);
  s.vectorize(lanes);
  if (vectors > 1) {
    auto [several, one] = s.split(s.loops(b).back(), {_, l});
    const BlockRef vector = s.rfactor(b, one, rank);
    if (outside.defined()) s.reverse_compute_at(b, outside);
    keep_local(s, vector);
    s.vectorize(one);
    s.unroll(several);
  }
  s.unroll(s.loops(b).back());
}

}  // namespace

const Rule reduce_in_lanes = {"reduce_in_lanes", "reduce rows in the lanes of vectors", applies, apply};

}  // namespace lathe::rules
