// Contractions whose largest operand is used once (a vector by a matrix), or for very few rows: whole rows of that operand,
// several at a time.
//
//     for part of k:                       in parallel; parts are added up in the end
//       for column run:
//         sums[run] = 0                    in the first cache
//         for k by 8:
//           for vector of the run:         sums[v] += x[k] * A[k, v] + … + x[k+7] * A[k+7, v]
//
// A row is one stream from memory, without the gaps that shorter runs leave at every step; so it is k that threads share.
// Several rows of x take what is loaded of A in turn. A panel of A would be written and read once more for them.

#include <algorithm>
#include <bit>

#include "driver/rules/contraction.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kRun = 512;        ///< vectors; the sums take half of the first cache
constexpr std::int64_t kSteps = 8;        ///< of the reduction for each time that a sum is loaded and stored
constexpr std::int64_t kPartSteps = 128;  ///< of the reduction that are worth a thread's while
constexpr std::int64_t kPartsPerCore = 2;

constexpr std::int64_t kFewRows = 8;  ///< that share what is loaded, and the first cache for their sums

struct Stream {
  std::size_t column = 0;         ///< innermost subscript of the operand
  std::vector<std::size_t> rows;  ///< the other spatial variables that have an extent
  std::int64_t sums = 1;          ///< for each column
};

/// Nothing when the block is none.
std::optional<Stream> stream(const Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  std::vector<std::size_t> spatial;
  for (std::size_t i : spatial_variables(block)) {
    if (!is_int(block.iters[i].extent, 1)) spatial.push_back(i);
  }
  const Var& step = block.iters.back().var;
  for (const BufferRegion& r : block.reads) {
    if (r.ranges.empty() || !mentions(r, step)) continue;
    Stream found;
    bool along = false, shared = true;
    for (std::size_t i : spatial) {
      if (r.ranges.back().min.get() == block.iters[i].var.get()) {
        found.column = i;
        along = true;
        continue;
      }
      found.rows.push_back(i);
      found.sums *= domain(block, i);
      shared &= !mentions(r, block.iters[i].var);
    }
    if (!along) continue;
    if (found.rows.empty()) return found;
    // What the second cache holds, and what is packed ahead of the calls, is better used in tiles.
    if (shared && found.sums <= kFewRows &&
        bytes_of(r.buffer) > static_cast<double>(context.second_level_bytes()) && !is_constant(s, r.buffer))
      return found;
  }
  return std::nullopt;
}

bool applies(Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  if (!block.is_reduction() || block.partner.defined() || block.writes.size() != 1 ||
      block.reads.size() < 2 || block.reducer->name != "sum")
    return false;
  return block.iters.back().kind == IterKind::Reduce && stream(s, b, context) &&
         loop_count(s, b) == block.iters.size();
}

/// Parts of the reduction, so many that the threads have enough to do; each has the same steps.
std::int64_t parts(const Block& block, const Stream& stream, const Context& context) {
  const std::int64_t steps = domain(block, block.iters.size() - 1),
                     vectors = domain(block, stream.column) * stream.sums / context.lanes();
  std::int64_t wanted =
      context.parallel() && context.cores() > 1 && vectors < kRun * kPartsPerCore * context.cores()
          ? kPartsPerCore * context.cores()
          : 1;
  while (wanted > 1 && (steps % (wanted * kSteps) != 0 || steps / wanted < kPartSteps)) --wanted;
  return wanted;
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const Stream what = *stream(s, b, context);
  std::size_t column = what.column;
  const std::int64_t count = parts(s.get(b), what, context);
  if (count > 1) {
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
  const std::int64_t vectors_of_run = kRun / std::bit_ceil(static_cast<std::uint64_t>(what.sums));
  auto [run, lanes] = s.split(
      outer[position], {_, context.choose(s, vectors_of_run * l, {64 * l, 128 * l, 256 * l, 512 * l})});
  std::vector<LoopRef> parts_and_runs{run}, rows;
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (d == position) continue;
    if (d == 0 && count > 1)
      parts_and_runs.insert(parts_and_runs.begin(), outer[d]);  // `rfactor` puts the parts first
    else
      rows.push_back(outer[d]);
  }
  std::vector<LoopRef> order = parts_and_runs;
  order.insert(order.end(), rows.begin(), rows.end());
  order.push_back(lanes);
  s.reorder(order);
  s.vectorize(lanes);
  s.compute_at(b, run);

  const std::size_t variables = s.get(b).iters.size();
  const std::vector<LoopRef> loops = s.loops(b);
  const std::size_t first = loops.size() - variables;
  auto [vector, lane] = s.split(loops[first + column], {_, l});
  auto [step, unrolled] = s.split(loops.back(), {_, context.choose(s, kSteps, {1, 2, 4, 8})});
  order = {step, vector};
  for (std::size_t i = 0; i + 1 < variables; ++i) {
    if (i != column) order.push_back(loops[first + i]);
  }
  order.insert(order.end(), {unrolled, lane});
  s.reorder(order);
  for (std::size_t i = 2; i + 1 < order.size(); ++i) s.unroll(order[i]);
  s.vectorize(lane);
  s.set_scope(b, Scope::Local);
}

}  // namespace

const Rule stream_contraction = {"stream_contraction",
                                 "read an operand that is used for few rows in long runs", applies, apply};

}  // namespace lathe::rules
