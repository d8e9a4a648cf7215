// Reductions along a row: partial results in the lanes of several vectors, combined at the end of the row.
//
//     for k: y += f(x[k])      =>      for k by 32: for 32 lanes: p[lane] += f(x[k + lane])
//                                      for 4: for 8 lanes: q[lane] += p[8 * … + lane]
//                                      for 8: y += q[lane]
//
// The last sum is a chain of dependent additions, which in a short row takes as long as the row: hence the step between.

#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kVectors = 4;  ///< chains side by side, the latency of an addition

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
    for (std::size_t d = 0; d < r.ranges.size(); ++d) {
      if (!lathe::mentions(r.ranges[d].min, last.var)) continue;
      if (d + 1 != r.ranges.size()) return false;
      along = true;
    }
  }
  return along;
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const std::vector<LoopRef> loops = s.loops(b);
  const std::int64_t l = context.lanes(), row = extent(s, loops.back());
  std::int64_t vectors = kVectors;
  while (vectors > 1 && vectors * l > row) vectors /= 2;
  auto [steps, lanes] = s.split(loops.back(), {_, context.choose(s, vectors * l, {l, 2 * l, 4 * l, 8 * l})});
  const int rank = s.get(b).writes[0].buffer->rank();
  const BlockRef partial = s.rfactor(b, lanes, rank);
  if (loops.size() > 1) s.reverse_compute_at(b, loops[loops.size() - 2]);
  s.set_scope(partial, Scope::Local);
  s.vectorize(lanes);
  if (vectors > 1) {
    auto [several, one] = s.split(s.loops(b).back(), {_, l});
    const BlockRef vector = s.rfactor(b, one, rank);
    if (loops.size() > 1) s.reverse_compute_at(b, loops[loops.size() - 2]);
    s.set_scope(vector, Scope::Local);
    s.vectorize(one);
    s.unroll(several);
  }
  s.unroll(s.loops(b).back());
}

}  // namespace

const Rule reduce_in_lanes = {"reduce_in_lanes", "reduce rows in the lanes of vectors", applies, apply};

}  // namespace lathe::rules
