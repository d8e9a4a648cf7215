// Copies that turn rows into columns: in square tiles, so that every line which is loaded is used while it is in the cache.
//
//     for rows of lines (of x): for columns of lines:       every stretch of a line of both, while it is there
//       for half of the line: for half of the line:
//         t[8][8] = x                                       by rows, in registers
//         y = t                                             by columns: shuffles
//
// Reading runs along memory, because a store need not be waited for.

#include <algorithm>

#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kLine = 16;  ///< f32 elements of a cache line

/// The variable along which an operand is contiguous while the result is not; nothing when there is none.
std::optional<std::size_t> crosswise(const Block& block) {
  if (block.is_reduction() || block.writes.size() != 1 || block.writes[0].ranges.size() < 2)
    return std::nullopt;
  const Expr& along = block.writes[0].ranges.back().min;
  for (const BufferRegion& r : block.reads) {
    if (r.ranges.empty() || r.ranges.back().min.get() == along.get()) continue;
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      const Var& v = block.iters[i].var;
      if (r.ranges.back().min.get() == v.get() && v.get() != along.get() && along.as<VarNode>() &&
          mentions(r, Var(along.as<VarNode>())))
        return i;
    }
  }
  return std::nullopt;
}

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  return crosswise(block) && s.loops(b).size() == block.iters.size() &&
         !has_loop_of_kind(s, b, ForKind::Vectorized);
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  const std::size_t across = *crosswise(block);
  const Var along(block.writes[0].ranges.back().min.as<VarNode>());
  const std::vector<LoopRef> loops = s.loops(b);
  std::optional<std::size_t> row, column;  // positions of the two loops
  for (std::size_t l = 0; l < loops.size(); ++l) {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (s.get(loops[l]).var.get() != block.bindings[i].get()) continue;
      if (i == across) row = l;
      if (block.iters[i].var.same_as(along)) column = l;
    }
  }
  if (!row || !column) return;
  // A block that only copies goes through registers; what computes as well, gathers.
  const std::int64_t l = context.lanes();
  const bool copies = s.get(b).reads.size() == 1 && s.get(b).body.as<Store>() &&
                      s.get(b).body.as<Store>()->value.as<Load>() &&
                      s.get(b).writes[0].buffer->dtype.bytes() == 4;
  // Tiles of two lines each way are faster by measure, unless they leave rests, whose guards cost more than they save.
  const bool in_pairs =
      extent(s, loops[*row]) % (2 * kLine) == 0 && extent(s, loops[*column]) % (2 * kLine) == 0;
  const Expr lines = context.choose(s, in_pairs ? 2 : 1, {1, 2, 4});
  auto [row_tile, row_line, row_part, in_row] = s.split(loops[*row], {_, lines, kLine / l, l});
  auto [column_tile, column_line, column_part, in_column] = s.split(loops[*column], {_, lines, kLine / l, l});
  std::vector<LoopRef> order;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (i != *row && i != *column) order.push_back(loops[i]);
  }
  order.insert(order.end(),
               {column_tile, row_tile, column_line, row_line, row_part, column_part, in_row, in_column});
  s.reorder(order);
  if (copies) {
    const BlockRef tile = s.cache_read(b, 0, Scope::Local);
    s.compute_at(tile, column_part);
    const std::vector<LoopRef> inner = s.loops(tile);
    for (std::size_t i = inner.size() - s.get(tile).iters.size(); i + 1 < inner.size(); ++i)
      s.unroll(inner[i]);
    s.vectorize(inner.back());
    s.unroll(in_row);
  }
  s.vectorize(in_column);
}

}  // namespace

const Rule tile_transposition = {"tile_transposition", "turn rows into columns in square tiles", applies,
                                 apply};

}  // namespace lathe::rules
