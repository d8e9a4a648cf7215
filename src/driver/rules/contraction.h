#pragma once
// Contractions: sums of products of operands, of which one, the *vector operand*, is loaded as vectors.
//
// The *columns* are the innermost dimension of the result. The *vector operand* (weights, B) depends on them and not on
// the *rows* (pixels, rows of A), which therefore share each vector that is loaded.

#include <algorithm>
#include <optional>
#include <vector>

#include "driver/rules/rule.h"

namespace lathe::rules {

/// A block as a contraction. Variables by their position in the block, of extents other than 1 but for `row`.
struct Contraction {
  std::vector<std::size_t> spatial;  ///< all spatial variables
  std::size_t column = 0;
  std::vector<std::size_t> rows;   ///< spatial, not in the vector operand
  std::vector<std::size_t> batch;  ///< the other spatial ones, columns apart
  std::size_t vector_read = 0;
  bool contiguous = false;  ///< the columns are the vector operand's innermost dimension
  bool packable = false;    ///< no other operand depends on the columns (in depthwise convolution it does)
  std::optional<std::size_t>
      row_read;  ///< an operand with the only rows in one plain subscript, without the columns
  bool is_row(std::size_t i) const { return std::ranges::count(rows, i) > 0; }
};

/// Nothing when the block is none.
std::optional<Contraction> contraction(const Block& block);

/// The extent of a variable of the block; a large number when it is known at run time only.
std::int64_t domain(const Block& block, std::size_t variable);
/// Terms of each sum.
std::int64_t depth(const Block& block);

/// Does `consumer` make an output and read the contraction's sums at its own position, all loops its own? Then by what each
/// of its loops is split to become those of the sums (1: not at all): sums[y div 2, y mod 2] is such a position, too.
std::optional<std::vector<std::int64_t>> epilogue_parts(Schedule& s, BlockRef contraction, BlockRef consumer);

}  // namespace lathe::rules
