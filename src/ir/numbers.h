#pragma once
// The arithmetic of element types, defined once: literals, the simplifier's folding and the interpreter use
// these.

#include <cstdint>

#include "lathe/expr.h"

namespace lathe {

/// `value` reduced to the width of the integral type `t`, sign- or zero-extended back to 64 bits.
constexpr std::int64_t wrap_integer(DataType t, std::int64_t value) {
  if (t.is_bool()) return value != 0;
  if (t.bits >= 64) return value;
  const int shift = 64 - t.bits;
  const std::uint64_t up = static_cast<std::uint64_t>(value) << shift;
  return t.is_unsigned() ? static_cast<std::int64_t>(up >> shift) : static_cast<std::int64_t>(up) >> shift;
}

/// `value` rounded to the float type (nearest, ties to even).
double round_to(DataType t, double value);

/// x op y for two values of a data-integer type or Bool, wrapped; comparisons give 0 or 1. Total: see
/// lathe/expr.h for division by zero and INT_MIN / -1.
std::int64_t integer_op(DataType t, BinaryOp op, std::int64_t x, std::int64_t y);

/// x op y for index_type; false when the result overflows 64 bits (then `result` is not to be used).
bool index_op(BinaryOp op, std::int64_t x, std::int64_t y, std::int64_t& result);

/// x op y for a float type, rounded to the type. Comparisons give 0 or 1.
double float_op(DataType t, BinaryOp op, double x, double y);

/// A float as an integer of type t: truncated, saturated, NaN to 0.
std::int64_t float_to_integer(DataType t, double value);

/// Floor division and remainder; by zero: 0.
constexpr std::int64_t floor_div(std::int64_t x, std::int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
  const std::int64_t q = x / y;
  return (x % y != 0 && ((x < 0) != (y < 0))) ? q - 1 : q;
}
constexpr std::int64_t floor_mod(std::int64_t x, std::int64_t y) {
  if (y == 0 || y == -1) return 0;
  const std::int64_t r = x % y;
  return (r != 0 && ((r < 0) != (y < 0))) ? r + y : r;
}

}  // namespace lathe
