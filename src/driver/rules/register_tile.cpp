#include "driver/rules/register_tile.h"

#include <algorithm>

namespace lathe::rules {
namespace {

/// The latency of an addition is 4 cycles; sums that are only just enough to fill it stall at every hiccup.
constexpr double kAddsPerCycle = 2, kLoadsPerCycle = 1.75, kAddLatency = 5.5;
constexpr double kCyclesAroundTile = 12;  ///< addresses, branches, the pipeline filling
constexpr std::int64_t kWays = 8;         ///< of the first cache
constexpr double kCyclesPerSum = 1;       ///< its zero and its store

double ceil_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = (a + b - 1) / b;
  return static_cast<double>(quotient);
}

/// Cycles of one tile.
double one(const TileProblem& p, double rows, double vectors) {
  const double adds = rows * vectors;
  const double loads = static_cast<double>(p.vector_operands) * vectors + (p.both_are_vectors ? adds : rows);
  const double step = std::max({adds / kAddsPerCycle, loads / kLoadsPerCycle, kAddLatency});
  return step * static_cast<double>(p.depth) + kCyclesAroundTile + kCyclesPerSum * adds;
}

/// Calls f(size, how often) for the full tiles of an extent and for the rest.
template <class F>
void each_size(std::int64_t extent, std::int64_t tile, F&& f) {
  const std::int64_t full = extent / tile;
  if (full > 0) f(tile, static_cast<double>(full));
  if (extent % tile > 0) f(extent % tile, 1.0);
}

}  // namespace

bool fits(const Tile& tile, std::int64_t registers, std::int64_t vector_operands) {
  return (tile.outer_rows * tile.rows + vector_operands) * tile.vectors + 1 <= registers;
}

double cycles(const TileProblem& p, const Tile& tile) {
  const std::int64_t columns = tile.vectors * p.lanes;
  double total = 0;
  auto add_columns = [&](double rows, double times) {
    if (p.padded_columns) {
      total += times * ceil_div(p.columns, columns) * one(p, rows, static_cast<double>(tile.vectors));
      return;
    }
    each_size(p.columns, columns, [&](std::int64_t size, double count) {
      total += times * count * one(p, rows, ceil_div(size, p.lanes));
    });
  };
  each_size(p.outer_rows, tile.outer_rows, [&](std::int64_t outer, double outer_count) {
    each_size(p.rows, tile.rows, [&](std::int64_t inner, double count) {
      add_columns(static_cast<double>(outer * inner), outer_count * count);
    });
  });
  return total;
}

Tile best_tile(const TileProblem& p) {
  Tile best;
  double fewest = cycles(p, best);
  for (std::int64_t vectors = 1; vectors <= 4; ++vectors) {
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(p.rows, p.registers); ++rows) {
      for (std::int64_t outer = 1; outer <= std::min<std::int64_t>(p.outer_rows, 4); ++outer) {
        const Tile tile{outer, rows, vectors};
        if (p.clashing_rows && outer * rows > kWays) continue;
        if (!fits(tile, p.registers, p.vector_operands) || (p.both_are_vectors && outer * vectors > 1))
          continue;
        // Neighbouring sums share what they load: half of the registers are for that.
        if (p.both_are_vectors && 2 * rows > p.registers) continue;
        const double needed = cycles(p, tile);
        // A tile must earn its code size.
        if (needed < fewest * (outer > best.outer_rows ? 0.97 : 0.999)) {
          fewest = needed;
          best = tile;
        }
      }
    }
  }
  return best;
}

}  // namespace lathe::rules
