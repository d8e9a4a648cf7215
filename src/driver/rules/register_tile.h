#pragma once
// The tile of a contraction that stays in vector registers.
//
//                    vectors (columns)
//                 +-----+-----+
//     rows   x0 * |  w0 |  w1 |      a step of the reduction: one load for each w, one broadcast for each x,
//            x1 * | sum | sum |      rows * vectors multiply-adds
//
// The core starts two multiply-adds and, sustained, 1.75 loads in a cycle, and a sum can be added to again only after the
// latency of an addition. So a step takes the most of rows * vectors / 2, (rows + vectors) / 1.75 and that latency; what
// does not fill a tile takes a smaller one.

#include <cstdint>

namespace lathe::rules {

struct TileProblem {
  std::int64_t outer_rows = 1, rows = 1, columns = 1;  ///< extents; `outer_rows` is a second loop of rows
  std::int64_t depth = 1;                              ///< steps of the reduction
  std::int64_t lanes = 8, registers = 16;
  bool clashing_rows = false;        ///< they lie so that all of them share one set of the first cache
  bool padded_columns = false;       ///< columns are computed in whole tiles
  std::int64_t vector_operands = 1;  ///< that depend on the columns, and are loaded as vectors for all rows
  bool both_are_vectors = false;     ///< the other operand, too, is loaded as vectors (depthwise convolution)
};

struct Tile {
  std::int64_t outer_rows = 1, rows = 1, vectors = 1;
};

/// Sums, the vector operands and one value of the other fit the registers.
bool fits(const Tile& tile, std::int64_t registers, std::int64_t vector_operands = 1);
/// Cycles for all tiles, relative to other tiles of the same problem.
double cycles(const TileProblem& problem, const Tile& tile);
/// The fastest tile that fits.
Tile best_tile(const TileProblem& problem);

}  // namespace lathe::rules
