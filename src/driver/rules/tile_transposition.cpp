// Copies that turn rows into columns: in square tiles, so that every line which is loaded is used while it is in the cache.
//
//     for rows of lines (of x): for columns of lines:       every stretch of a line of both, while it is there
//       for half of the line: for half of the line:
//         t[8][8] = x                                       by rows, in registers
//         y = t                                             by columns: shuffles
//
// Reading runs along memory, because a store need not be waited for.

#include <algorithm>

#include "arith/block_access.h"
#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kLine = 16;  ///< f32 elements of a cache line

/// An access along which memory runs by another variable than in the result.
struct Crosswise {
  std::size_t variable;  ///< along which the access is contiguous
  int read, way;         ///< which access it is
};
std::optional<Crosswise> crosswise(const Block& block) {
  if (block.is_reduction() || block.writes.size() != 1 || block.writes[0].ranges.size() < 2)
    return std::nullopt;
  const Expr& along = block.writes[0].ranges.back().min;
  const auto runs = [&](const Expr& subscript) {
    return std::ranges::find_if(block.iters, [&](const IterVar& i) {
      return i.var.get() == subscript.get() && !is_int(i.extent, 1);
    });
  };
  if (runs(along) == block.iters.end()) return std::nullopt;
  for (std::size_t r = 0; r < block.reads.size(); ++r) {
    const std::vector<std::vector<Expr>> ways = arith::ways_to_read(block, block.reads[r].buffer);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (ways[w].empty() || ways[w].back().get() == along.get()) continue;
      const bool has_column = std::ranges::any_of(
          ways[w], [&](const Expr& e) { return lathe::mentions(e, Var(along.as<VarNode>())); });
      const auto row = runs(ways[w].back());
      if (has_column && row != block.iters.end())
        return Crosswise{static_cast<std::size_t>(row - block.iters.begin()), static_cast<int>(r),
                         static_cast<int>(w)};
    }
  }
  return std::nullopt;
}

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  return crosswise(block) && loop_count(s, b) == block.iters.size() &&
         !has_loop_of_kind(s, b, ForKind::Vectorized);
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const Block& block = s.get(b);
  const Crosswise access = *crosswise(block);
  const Var along(block.writes[0].ranges.back().min.as<VarNode>());
  const std::vector<LoopRef> loops = s.loops(b);
  std::optional<std::size_t> row, column;  // positions of the two loops
  for (std::size_t l = 0; l < loops.size(); ++l) {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (s.get(loops[l]).var.get() != block.bindings[i].get()) continue;
      if (i == access.variable) row = l;
      if (block.iters[i].var.same_as(along)) column = l;
    }
  }
  if (!row || !column) return;
  // Elements of 32 bits go through registers; others are gathered.
  const std::int64_t l = context.lanes();
  const bool staged = s.get(b).reads[static_cast<std::size_t>(access.read)].buffer->dtype.bytes() == 4;
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
  if (staged) {
    const BlockRef tile = s.cache_read(b, access.read, Scope::Local, access.way);
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
