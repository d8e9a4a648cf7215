// Reductions whose largest operand is used once (a vector by a matrix, sums over outer dimensions), or for very few rows: whole
// rows of that operand, several at a time.
//
//     for part of k:                       in parallel; parts are added up in the end
//       for column run:
//         sums[run] = 0                    in the first cache
//         for k by 8:
//           for vector of the run:         sums[v] += x[k] * A[k, v] + … + x[k+7] * A[k+7, v]
//
// A row is one stream from memory, without the gaps that shorter runs leave at every step; so it is k that threads share.
// Several rows of x take what is loaded of A in turn: packing A for them would write it and read it once more.

#include <algorithm>
#include <bit>

#include "driver/rules/contraction.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kRun = 512;  ///< vectors; the sums take half of the first cache
constexpr std::int64_t kSteps = 8;  ///< of the reduction for each time that a sum is loaded and stored
constexpr std::int64_t kManySteps = 64;
constexpr std::int64_t kPartSteps = 128;  ///< of the reduction that are worth a thread's while
constexpr std::int64_t kPartsPerCore = 2;
constexpr std::int64_t kFewRows = 8;  ///< that share what is loaded, and the first cache for their sums
constexpr std::int64_t kLeast = 64;   ///< sums; those of shorter runs of a single operand stay in registers

/// Position of the variable that the result has in a dimension; nothing where it is an expression.
std::optional<std::size_t> variable_at(const Block& block, std::size_t dimension) {
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.writes[0].ranges[dimension].min.get() == block.iters[i].var.get()) return i;
  }
  return std::nullopt;
}

/// How many of the result's last dimensions are the operand's last, too, inside of all that it is summed over.
std::size_t shared_dimensions(const Block& block, const BufferRegion& operand) {
  const auto is_unit = [&](const Expr& subscript) {
    return as_int(subscript).has_value() || std::ranges::any_of(block.iters, [&](const IterVar& i) {
             return i.var.get() == subscript.get() && is_int(i.extent, 1);
           });
  };
  const std::vector<Range>&from = operand.ranges, &to = block.writes[0].ranges;
  std::size_t o = from.size(), r = to.size(), last = to.size();
  while (o > 0 && r > 0) {
    const Expr &read = from[o - 1].min, &written = to[r - 1].min;
    if (read.get() == written.get()) {
      last = r - 1;
      --o, --r;
    } else if (is_unit(written)) {
      --r;
    } else if (is_unit(read)) {
      --o;
    } else {
      break;
    }
  }
  return to.size() - last;
}

/// Sums that share what is loaded of the operand: as many as there are other elements than along the run. Few enough that they
/// and their runs stay in the first cache; what the second holds, or is packed ahead of the calls, is better used in tiles.
bool serves_few_rows(const Schedule& s, const Block& block, const BufferRegion& operand,
                     std::size_t dimensions, const Context& context) {
  const std::size_t rank = block.writes[0].ranges.size();
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + dimensions < rank; ++d) {
    const IterVar& row = block.iters[*variable_at(block, d)];
    if (is_int(row.extent, 1)) continue;
    rows *= domain(block, *variable_at(block, d));
    if (mentions(operand, row.var)) return false;
  }
  return rows <= kFewRows && bytes_of(operand.buffer) > static_cast<double>(context.second_level_bytes()) &&
         !is_constant(s, operand.buffer);
}

/// The dimensions of the result, counted from the last, along which the largest operand is one stream for each step of the
/// reduction; 0: none.
std::size_t run_of(const Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  const std::vector<Operand> all = operands(block);
  const Var& step = block.iters.back().var;
  const Operand* largest = nullptr;
  for (const Operand& o : all) {
    if (o.access.ranges.empty() || !mentions(o.access, step)) continue;
    if (!largest || bytes_of(o.access.buffer) > bytes_of(largest->access.buffer)) largest = &o;
  }
  if (!largest) return 0;
  // A window is no stream: its rows are read again by the next results.
  const bool plain = std::ranges::all_of(largest->access.ranges, [&](const Range& r) {
    return !lathe::mentions(r.min, step) || r.min.get() == step.get();
  });
  if (!plain) return 0;
  const std::size_t dimensions = shared_dimensions(block, largest->access);
  if (dimensions == 0) return 0;
  double length = 1, other_rows = 1;
  std::optional<std::size_t> column;
  const std::size_t rank = block.writes[0].ranges.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::optional<std::size_t> variable = variable_at(block, d);
    if (!variable) return 0;
    (d + dimensions >= rank ? length : other_rows) *= static_cast<double>(domain(block, *variable));
    if (domain(block, *variable) != 1) column = variable;
  }
  if (!column) return 0;
  // What runs along the columns in another way would be gathered.
  for (const Operand& o : all) {
    if (mentions(o.access, block.iters[*column].var) &&
        o.access.ranges.back().min.get() != block.iters[*column].var.get())
      return 0;
  }
  const bool once = all.size() == 1
                        ? length >= static_cast<double>(kLeast)
                        : other_rows == 1 || serves_few_rows(s, block, largest->access, dimensions, context);
  return once ? dimensions : 0;
}

bool applies(Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  if (!block.is_reduction() || block.partner.defined() || block.writes.size() != 1 || block.iters.empty() ||
      block.iters.back().kind != IterKind::Reduce || loop_count(s, b) != block.iters.size())
    return false;
  return run_of(s, b, context) > 0;
}

/// Parts of the reduction, so many that the threads have enough to do; each has the same steps.
std::int64_t parts(const Block& block, const Context& context) {
  const std::int64_t steps = domain(block, block.iters.size() - 1);
  std::int64_t vectors = 1;
  for (std::size_t i : spatial_variables(block)) vectors *= domain(block, i);
  vectors /= context.lanes(block);
  std::int64_t wanted =
      context.parallel() && context.cores() > 1 && vectors < kRun * kPartsPerCore * context.cores()
          ? kPartsPerCore * context.cores()
          : 1;
  while (wanted > 1 && (steps % (wanted * kSteps) != 0 || steps / wanted < kPartSteps)) --wanted;
  return wanted;
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const std::size_t run_dimensions = run_of(s, b, context);
  const std::int64_t l = context.lanes(s.get(b)), count = parts(s.get(b), context);
  const bool share = operands(s.get(b)).size() > 1;
  if (count > 1) {
    auto [part, step] = s.split(s.loops(b).back(), {count, _});
    b = s.rfactor(b, part);
  }
  const std::size_t rank = s.get(b).writes[0].ranges.size(), first = rank - run_dimensions;
  std::vector<std::size_t> variables;  // of the run, the columns last
  for (std::size_t d = first; d < rank; ++d) variables.push_back(*variable_at(s.get(b), d));

  // The result in runs: whole dimensions from the last, and a part of the one that is too long.
  const BlockRef store = s.cache_write(b, Scope::Local);
  std::vector<LoopRef> loops = s.loops(store), rows;
  std::int64_t sums = 1;                                              // that share what is loaded
  for (std::size_t d = count > 1 ? 1 : 0; share && d < first; ++d) {  // `rfactor` puts the parts first
    rows.push_back(loops[d]);
    sums *= extent(s, loops[d]);
  }
  const std::int64_t longest =
      kRun / static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(sums)));
  std::size_t cut = rank - 1;
  std::int64_t inside = 1;
  while (cut > first && inside * extent(s, loops[cut]) <= longest * l) inside *= extent(s, loops[cut--]);
  // No longer than the dimension: what masks switch off would be computed all the same.
  const std::int64_t whole =
      cut + 1 == rank ? (extent(s, loops[cut]) + l - 1) / l * l : extent(s, loops[cut]);
  std::vector<std::int64_t> lengths;
  for (std::int64_t vectors : {longest, longest / 2, longest / 4, longest / 8})
    lengths.push_back(std::clamp<std::int64_t>(vectors * l / inside, 1, std::max<std::int64_t>(1, whole)));
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  auto [run, part_of_run] = s.split(loops[cut], {_, context.choose(s, lengths[0], lengths)});
  s.vectorize(cut + 1 == rank ? part_of_run : loops.back());
  if (!rows.empty()) {
    std::vector<LoopRef> within{run};
    within.insert(within.end(), rows.begin(), rows.end());
    s.reorder(within);
  }
  s.compute_at(b, run);

  const std::vector<LoopRef> own = own_loops(s, b);
  const std::vector<IterVar> iters = s.get(b).iters;  // the block is made anew by each step
  auto [vector, lane] = s.split(own[variables.back()], {_, l});
  // A guard in the reduction keeps it from vectors: several steps only where they divide it, or are few beside it.
  const std::int64_t all_steps = extent(s, own.back());
  std::int64_t steps = kSteps;
  while (all_steps % steps != 0 && all_steps < kManySteps) --steps;
  auto [step, unrolled] = s.split(own.back(), {_, context.choose(s, steps, {1, 2, 4, 8})});
  std::vector<LoopRef> order, in_turn;
  for (IterKind kind : {IterKind::Spatial, IterKind::Reduce}) {
    for (std::size_t i = 0; i + 1 < iters.size(); ++i) {
      if (iters[i].kind != kind || std::ranges::count(variables, i) != 0) continue;
      (kind == IterKind::Spatial && !rows.empty() ? in_turn : order).push_back(own[i]);
    }
  }
  order.push_back(step);
  for (std::size_t i = 0; i + 1 < variables.size(); ++i) order.push_back(own[variables[i]]);
  order.push_back(vector);
  order.insert(order.end(), in_turn.begin(), in_turn.end());
  order.insert(order.end(), {unrolled, lane});
  s.reorder(order);
  for (LoopRef each : in_turn) s.unroll(each);
  s.unroll(unrolled);
  s.vectorize(lane);
  s.set_scope(b, Scope::Local);
}

}  // namespace

const Rule stream_contraction = {"stream_contraction",
                                 "read an operand that is used for few rows in long runs", applies, apply};

}  // namespace lathe::rules
