#pragma once
// 64-bit arithmetic that notices overflow, and interval ends that saturate at infinity.

#include <cstdint>
#include <numeric>

#include "arith/analyzer.h"
#include "ir/numbers.h"

namespace lathe::arith {

inline bool checked_add(std::int64_t x, std::int64_t y, std::int64_t& r) {
  return !__builtin_add_overflow(x, y, &r);
}
inline bool checked_sub(std::int64_t x, std::int64_t y, std::int64_t& r) {
  return !__builtin_sub_overflow(x, y, &r);
}
inline bool checked_mul(std::int64_t x, std::int64_t y, std::int64_t& r) {
  return !__builtin_mul_overflow(x, y, &r);
}

inline constexpr std::int64_t kMinusInf = ConstBound::kMinusInf, kPlusInf = ConstBound::kPlusInf;
inline bool is_inf(std::int64_t v) { return v == kMinusInf || v == kPlusInf; }

/// |v|, with INT64_MIN (no magnitude in 64 bits) given as 1: no divisor is ever drawn from it.
inline std::int64_t magnitude(std::int64_t v) { return v == INT64_MIN ? 1 : v < 0 ? -v : v; }
inline std::int64_t gcd(std::int64_t a, std::int64_t b) { return std::gcd(magnitude(a), magnitude(b)); }

/// Lower ends that do not fit become -inf, upper ends +inf: always on the safe side.
inline std::int64_t add_low(std::int64_t x, std::int64_t y) {
  std::int64_t r;
  if (x == kMinusInf || y == kMinusInf) return kMinusInf;
  if (x == kPlusInf || y == kPlusInf) return kPlusInf;
  return checked_add(x, y, r) ? r : x < 0 ? kMinusInf : kPlusInf - 1;
}
inline std::int64_t add_high(std::int64_t x, std::int64_t y) {
  std::int64_t r;
  if (x == kPlusInf || y == kPlusInf) return kPlusInf;
  if (x == kMinusInf || y == kMinusInf) return kMinusInf;
  return checked_add(x, y, r) ? r : x > 0 ? kPlusInf : kMinusInf + 1;
}
/// Product of interval ends; 0 * inf = 0; what overflows is infinite.
inline std::int64_t mul_end(std::int64_t x, std::int64_t y) {
  if (x == 0 || y == 0) return 0;
  const bool negative = (x < 0) != (y < 0);
  std::int64_t r;
  if (is_inf(x) || is_inf(y) || !checked_mul(x, y, r)) return negative ? kMinusInf : kPlusInf;
  return r;
}
inline ConstBound operator+(ConstBound a, ConstBound b) {
  return {add_low(a.min, b.min), add_high(a.max, b.max)};
}
/// An interval whose lower end may have overflowed upwards or the upper one downwards; a finite end is kept
/// there, because the infinities mean "unbounded" on their own side.
inline ConstBound interval(std::int64_t low, std::int64_t high) {
  return {low == kPlusInf ? kPlusInf - 1 : low, high == kMinusInf ? kMinusInf + 1 : high};
}
/// c * b for a constant c != 0.
inline ConstBound scaled(ConstBound b, std::int64_t c) {
  return c > 0 ? interval(mul_end(b.min, c), mul_end(b.max, c))
               : interval(mul_end(b.max, c), mul_end(b.min, c));
}
inline ConstBound intersect(ConstBound a, ConstBound b) {
  return {a.min > b.min ? a.min : b.min, a.max < b.max ? a.max : b.max};
}
inline ConstBound unite(ConstBound a, ConstBound b) {
  return {a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

}  // namespace lathe::arith
