// What is left runs in vectors along the innermost dimension of its result.

#include <algorithm>

#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kVectors = 4;  ///< in a turn of the loop: independent chains hide latencies

/// The loop that moves along the innermost dimension of what the block writes, one of a single element apart; undefined:
/// none.
LoopRef loop_along(const Schedule& s, BlockRef b, const std::vector<LoopRef>& loops) {
  const Block& block = s.get(b);
  if (block.writes.empty() || block.writes[0].ranges.empty()) return {};
  const BufferRegion& written = block.writes[0];
  std::size_t innermost = written.ranges.size() - 1;
  while (innermost > 0 && is_int(written.buffer->shape[innermost], 1)) --innermost;
  LoopRef along;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].var.get() != written.ranges[innermost].min.get()) continue;
    for (LoopRef l : loops) {
      if (lathe::mentions(block.bindings[i], s.get(l).var)) along = l;
    }
  }
  return along;
}

bool applies(Schedule& s, BlockRef b, const Context&) {
  return !has_loop_of_kind(s, b, ForKind::Vectorized) && loop_along(s, b, s.loops(b)).defined();
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const std::vector<LoopRef> loops = s.loops(b);
  const LoopRef along = loop_along(s, b, loops);
  const std::int64_t l = context.lanes(), whole = (extent(s, along) + l - 1) / l * l;
  const std::int64_t best = s.get(b).is_reduction() ? kVectors * l : std::clamp(whole, l, kVectors * l);
  auto [outer, lanes] = s.split(along, {_, context.choose(s, best, {l, 2 * l, 4 * l, 8 * l})});
  std::vector<LoopRef> order{outer};
  bool below = false;
  for (LoopRef each : loops) {
    if (below) order.push_back(each);
    below |= each == along;
  }
  order.push_back(lanes);
  if (order.size() > 2) s.reorder(order);
  s.vectorize(lanes);
}

}  // namespace

const Rule vectorize_rows = {"vectorize_rows", "run along the rows of the result in vectors", applies, apply};

}  // namespace lathe::rules
