// Copies that turn rows into columns: in square tiles, so that every line which is loaded is used while it is in the cache.

#include <algorithm>

#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kTile = 16;  ///< f32 elements of a cache line

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
  const Expr tile = context.choose(s, kTile, {8, 16, 32});
  auto [row_tile, in_row] = s.split(loops[*row], {_, tile});
  auto [column_tile, in_column] = s.split(loops[*column], {_, tile});
  std::vector<LoopRef> order;
  for (std::size_t l = 0; l < loops.size(); ++l)
    order.push_back(l == *row ? row_tile : l == *column ? column_tile : loops[l]);
  order.insert(order.end(), {in_row, in_column});
  s.reorder(order);
  s.vectorize(in_column);
}

}  // namespace

const Rule tile_transposition = {"tile_transposition", "turn rows into columns in square tiles", applies,
                                 apply};

}  // namespace lathe::rules
