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

/// What a block computes with: one entry for each buffer and set of the block's variables on which it is read. The regions of a
/// block are kept for each buffer, and x(k, i) * x(k, j) has two operands in one. Subscripts that need several accesses to be
/// told (a window that is written out) stay one region.
struct Operand {
  BufferRegion access;
  std::size_t read;  ///< position of the buffer among the block's reads
  std::optional<int>
      way;  ///< where the buffer has other operands, too, and this one is a single access: its number
};
std::vector<Operand> operands(const Block& block);

/// A block as a contraction. Variables by their position in the block, of extents other than 1 but for `row`.
struct Contraction {
  std::vector<std::size_t> spatial;  ///< all spatial variables
  std::size_t column = 0;
  std::vector<std::size_t> rows;   ///< spatial, not in the vector operand
  std::vector<std::size_t> batch;  ///< the other spatial ones, columns apart
  std::size_t vector_read = 0;
  std::optional<int>
      vector_way;  ///< the vector operand shares its buffer with another one (`with_own_buffers`)
  bool contiguous =
      false;  ///< columns lie side by side in the vector operand: its innermost subscript is theirs, or a shifted one
  /// No operand depends on columns and rows, so rows share what is loaded for the columns. Not so in depthwise convolution.
  bool shared = false;
  std::size_t column_operands = 0;  ///< that depend on the columns
  /// The vector operand can be laid out in panels: it alone depends on the columns, by a subscript of their own.
  bool packable = false;
  std::optional<std::size_t>
      row_read;  ///< an operand with the only rows in one plain subscript, without the columns
  bool is_row(std::size_t i) const { return std::ranges::count(rows, i) > 0; }
};

/// Nothing when the block is none.
std::optional<Contraction> contraction(const Block& block);

/// The block as a contraction whose vector operand has a buffer of its own: a copy, where the block reads the same buffer otherwise,
/// too. What lays the operand out takes the copy up.
Contraction with_own_buffers(Schedule& s, BlockRef b);

/// Elements in memory from one value of the variable to the next; nothing where that is no constant.
std::optional<std::int64_t> step_along(const BufferRegion& access, const Var& var);

/// The extent of a variable of the block; a large number when it is known at run time only.
std::int64_t domain(const Block& block, std::size_t variable);
/// Terms of each sum.
std::int64_t depth(const Block& block);

/// Does `consumer` make an output and read the contraction's sums at its own position, all loops its own? Then by what each
/// of its loops is split to become those of the sums (1: not at all): sums[y div 2, y mod 2] is such a position, too.
std::optional<std::vector<std::int64_t>> epilogue_parts(Schedule& s, BlockRef contraction, BlockRef consumer);

}  // namespace lathe::rules
