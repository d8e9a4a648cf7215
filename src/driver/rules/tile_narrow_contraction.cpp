// Contractions with far fewer columns than a vector has lanes (the last layer of an image generator, a classifier of two classes):
// lanes run along the reduction, and the few columns share the row's vectors.
//
//     k' = k with the reduction innermost        contiguous; of constant weights once, ahead of the calls
//     for row tile:
//       sums = 0                                 in registers, a vector each
//       for reduction by 8:                      sums[row, column, lane] += x[row, lane] * k'[column, lane]
//       out[row, column] = f(sum of the lanes)
//
// A panel of such columns would be mostly zeros.

#include <algorithm>

#include "driver/rules/contraction.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kLongSums = 16;  ///< vectors, beside which adding up the lanes is little

/// The dimension of the vector operand along which the last reduction runs.
std::optional<std::size_t> reduced_dimension(const Block& block, const Contraction& c) {
  const std::vector<Range>& ranges = block.reads[c.vector_read].ranges;
  std::optional<std::size_t> found;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    if (ranges[d].min.get() == block.iters.back().var.get())
      found = d;
    else if (lathe::mentions(ranges[d].min, block.iters.back().var))
      return std::nullopt;
  }
  return found;
}

bool applies(Schedule& s, BlockRef b, const Context& context) {
  if (!contraction(s.get(b)) || loop_count(s, b) != s.get(b).iters.size() ||
      !attempt(s, [&](Schedule& t) { with_own_buffers(t, b); }))
    return false;
  const Block& block = s.get(b);
  const std::optional<Contraction> c = contraction(block);
  if (!c || !c->packable) return false;
  const IterVar& last = block.iters.back();
  const std::int64_t l = context.lanes(), steps = domain(block, block.iters.size() - 1);
  const bool narrow = 2 * domain(block, c->column) <= l ||
                      (3 * domain(block, c->column) <= 2 * l && depth(block) >= kLongSums * l);
  if (!narrow || last.kind != IterKind::Reduce || steps % l != 0 || steps < 2 * l ||
      !reduced_dimension(block, *c))
    return false;
  return std::ranges::all_of(block.reads, [&](const BufferRegion& r) {
    return &r == &block.reads[c->vector_read] || !mentions(r, last.var) ||
           r.ranges.back().min.get() == last.var.get();
  });
}

/// The vector operand with the reduction innermost; ahead of the calls where it is a constant.
void lay_out(Schedule& s, BlockRef b, const Contraction& c) {
  const std::size_t dimension = *reduced_dimension(s.get(b), c);
  const std::size_t rank = s.get(b).reads[c.vector_read].ranges.size();
  if (dimension + 1 == rank) return;
  const BlockRef copy = s.cache_read(b, static_cast<int>(c.vector_read), Scope::Global);
  std::vector<Var> from;
  std::vector<Expr> to;
  for (std::size_t d = 0; d < rank; ++d) {
    from.push_back(Var("i" + std::to_string(d)));
    if (d != dimension) to.push_back(from.back());
  }
  to.push_back(from[dimension]);
  s.transform_layout(copy, -1, IndexMap{from, to});
  for (BlockRef p : s.producers(copy)) {
    if (!s.get(p).is_reduction()) attempt(s, [&](Schedule& t) { t.compute_inline(p); });
  }
  std::vector<LoopRef> order = own_loops(s, copy);
  const LoopRef lane = order[dimension];
  std::erase(order, lane);
  order.push_back(lane);
  s.reorder(order);
  s.vectorize(lane);
  attempt(s, [&](Schedule& t) { t.prepare(copy); });
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const Contraction c = with_own_buffers(s, b);
  const std::int64_t columns = domain(s.get(b), c.column), l = context.lanes();
  const std::size_t row = c.rows.back();
  lay_out(s, b, c);

  const std::vector<BlockRef> consumers = consumers_of(s, b);
  std::optional<std::vector<std::int64_t>> parts;
  if (consumers.size() == 1) parts = epilogue_parts(s, b, consumers[0]);
  const BlockRef out = parts ? consumers[0] : s.cache_write(b, Scope::Local);
  auto [steps, lanes] = s.split(s.loops(b).back(), {_, l});
  const BlockRef partial = s.rfactor(b, lanes, s.get(b).writes[0].buffer->rank());

  std::vector<LoopRef> loops = s.loops(out);
  for (std::size_t i = parts ? parts->size() : 0; i-- > 0;) {
    if ((*parts)[i] == 1) continue;
    auto [outer, inner] = s.split(loops[i], {_, (*parts)[i]});
    loops[i] = outer;
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, inner);
  }
  const auto at = [&](std::size_t variable) {
    return loops[static_cast<std::size_t>(std::ranges::find(c.spatial, variable) - c.spatial.begin())];
  };
  // Sums, the columns' vectors and one of a row.
  const std::int64_t most = std::max<std::int64_t>(1, (context.registers() - 1) / columns - 1);
  const std::int64_t tiles = (domain(s.get(b), row) + most - 1) / most;
  auto [tile, rows] = s.split(
      at(row), {_, context.choose(s, (domain(s.get(b), row) + tiles - 1) / tiles, {1, 2, 3, 4, 6, 8})});
  std::vector<LoopRef> order;
  for (std::size_t i : c.batch) order.push_back(at(i));
  for (std::size_t i : c.rows) {
    if (i != row) order.push_back(at(i));
  }
  order.insert(order.end(), {tile, rows, at(c.column)});
  s.reorder(order);
  s.unroll(rows);
  s.unroll(at(c.column));

  for (BlockRef each : {b, partial}) {
    s.compute_at(each, tile);
    s.set_scope(each, Scope::Local);
  }
  std::vector<LoopRef> reduction, sums;
  const std::vector<LoopRef> inner = own_loops(s, partial);
  const std::vector<IterVar>& variables = s.get(partial).iters;
  const Expr& innermost = s.get(partial).writes[0].ranges.back().min;
  LoopRef lane;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].var.get() == innermost.get())
      lane = inner[i];
    else
      (variables[i].kind == IterKind::Reduce ? reduction : sums).push_back(inner[i]);
  }
  order = reduction;
  order.insert(order.end(), sums.begin(), sums.end());
  order.push_back(lane);
  s.reorder(order);
  for (LoopRef each : sums) s.unroll(each);
  s.vectorize(lane);
  for (LoopRef each : own_loops(s, b)) s.unroll(each);
}

}  // namespace

const Rule tile_narrow_contraction = {"tile_narrow_contraction",
                                      "run along the reduction where columns are few", applies, apply};

}  // namespace lathe::rules
