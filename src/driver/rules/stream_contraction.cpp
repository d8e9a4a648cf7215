// Contractions whose largest operand is used once (a vector by a matrix): whole rows of that operand, several at a time.
//
//     for part of k:                       in parallel; parts are added up in the end
//       for column run:
//         sums[run] = 0                    in the first cache
//         for k by 8:
//           for vector of the run:         sums[v] += x[k] * A[k, v] + … + x[k+7] * A[k+7, v]
//
// A row is one stream from memory, without the gaps that shorter runs leave at every step; so it is k that threads share.

#include <algorithm>

#include "driver/rules/contraction.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kRun = 512;        ///< vectors; the sums take half of the first cache
constexpr std::int64_t kSteps = 8;        ///< of the reduction for each time that a sum is loaded and stored
constexpr std::int64_t kPartSteps = 128;  ///< of the reduction that are worth a thread's while
constexpr std::int64_t kPartsPerCore = 2;

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

/// Parts of the reduction, so many that the threads have enough to do; each has the same steps.
std::int64_t parts(const Block& block, std::size_t column, const Context& context) {
  const std::int64_t steps = domain(block, block.iters.size() - 1),
                     vectors = domain(block, column) / context.lanes();
  std::int64_t wanted =
      context.parallel() && context.cores() > 1 && vectors < kRun * kPartsPerCore * context.cores()
          ? kPartsPerCore * context.cores()
          : 1;
  while (wanted > 1 && (steps % (wanted * kSteps) != 0 || steps / wanted < kPartSteps)) --wanted;
  return wanted;
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  std::size_t column = *column_of(s.get(b));
  if (const std::int64_t count = parts(s.get(b), column, context); count > 1) {
    auto [part, step] = s.split(s.loops(b).back(), {count, _});
    b = s.rfactor(b, part);
    const Block& partial = s.get(b);
    for (std::size_t i = 0; i < partial.iters.size(); ++i) {
      if (partial.writes[0].ranges.back().min.get() == partial.iters[i].var.get()) column = i;
    }
  }
  std::size_t position = 0;  // of the columns in the result
  const Block& sums = s.get(b);
  for (std::size_t d = 0; d < sums.writes[0].ranges.size(); ++d) {
    if (sums.writes[0].ranges[d].min.get() == sums.iters[column].var.get()) position = d;
  }
  const BlockRef store = s.cache_write(b, Scope::Local);
  const std::vector<LoopRef> outer = s.loops(store);
  const std::int64_t l = context.lanes();
  auto [run, lanes] =
      s.split(outer[position], {_, context.choose(s, kRun * l, {64 * l, 128 * l, 256 * l, 512 * l})});
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
