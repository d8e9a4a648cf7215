// Contractions whose largest operand is used once (a vector by a matrix): long runs of that operand, several at a time.
//
//     for column run:                      in parallel
//       sums[run] = 0                      in the first cache
//       for k by 4:
//         for vector of the run:           sums[v] += x[k] * A[k, v] + … + x[k+3] * A[k+3, v]

#include <algorithm>

#include "driver/rules/rule.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kRun = 128;  ///< vectors: a page of each row, so that prefetchers get going
constexpr std::int64_t kSteps = 4;  ///< of the reduction for each time that a sum is loaded and stored

/// The one spatial variable with an extent, when it is the innermost subscript of an operand.
std::optional<std::size_t> column_of(const Block& block) {
  std::optional<std::size_t> found;
  for (std::size_t i : spatial_variables(block)) {
    if (is_int(block.iters[i].extent, 1)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  if (!found) return std::nullopt;
  const Var& step = block.iters.back().var;
  const bool along = std::ranges::any_of(block.reads, [&](const BufferRegion& r) {
    return !r.ranges.empty() && r.ranges.back().min.get() == block.iters[*found].var.get() &&
           mentions(r, step);
  });
  return along ? found : std::nullopt;
}

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  if (!block.is_reduction() || block.partner.defined() || block.writes.size() != 1 ||
      block.reads.size() < 2 || block.reducer->name != "sum")
    return false;
  return column_of(block) && block.iters.back().kind == IterKind::Reduce &&
         loop_count(s, b) == block.iters.size();
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const std::size_t column = *column_of(s.get(b));
  const BlockRef store = s.cache_write(b, Scope::Local);
  const std::vector<std::size_t> spatial = spatial_variables(s.get(b));
  const std::size_t position = static_cast<std::size_t>(std::ranges::find(spatial, column) - spatial.begin());
  const std::vector<LoopRef> outer = s.loops(store);
  const std::int64_t l = context.lanes();
  auto [run, lanes] =
      s.split(outer[position], {_, context.choose(s, kRun * l, {32 * l, 64 * l, 128 * l, 256 * l})});
  s.vectorize(lanes);
  s.compute_at(b, run);

  const std::size_t variables = s.get(b).iters.size();
  const std::vector<LoopRef> loops = s.loops(b);
  const std::size_t first = loops.size() - variables;
  auto [vector, lane] = s.split(loops[first + column], {_, l});
  auto [step, unrolled] = s.split(loops.back(), {_, context.choose(s, kSteps, {1, 2, 4, 8})});
  std::vector<LoopRef> order;
  for (std::size_t i = 0; i + 1 < variables; ++i) {
    if (i != column) order.push_back(loops[first + i]);
  }
  order.insert(order.end(), {step, vector, unrolled, lane});
  s.reorder(order);
  s.unroll(unrolled);
  s.vectorize(lane);
  s.set_scope(b, Scope::Local);
}

}  // namespace

const Rule stream_contraction = {"stream_contraction", "read an operand that is used once in long runs",
                                 applies, apply};

}  // namespace lathe::rules
