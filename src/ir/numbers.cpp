#include "ir/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

using U = std::uint64_t;
using I = std::int64_t;

/// Rounds to a float with `mantissa` explicit bits. Exact for both 16-bit types: scaling by a power of two is
/// exact in double, and nearbyint (ties to even) rounds once.
double round_small(double value, int mantissa, int min_exponent, double overflow_from) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent;
  std::frexp(value, &exponent);  // value = m * 2^exponent, 1/2 <= m < 1
  const int unit = std::max(exponent - 1, min_exponent) - mantissa;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(rounded) >= overflow_from ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                            : rounded;
}

template <class T>
I compare_or_pick(BinaryOp op, T x, T y) {
  switch (op) {
    case BinaryOp::Min: return static_cast<I>(x < y ? x : y);
    case BinaryOp::Max: return static_cast<I>(x < y ? y : x);
    case BinaryOp::Lt: return x < y;
    case BinaryOp::Le: return x <= y;
    case BinaryOp::Gt: return x > y;
    default: return x >= y;
  }
}

I unsigned_op(BinaryOp op, U x, U y) {
  switch (op) {
    case BinaryOp::Div:
    case BinaryOp::FloorDiv: return static_cast<I>(y == 0 ? 0 : x / y);
    case BinaryOp::Mod:
    case BinaryOp::FloorMod: return static_cast<I>(y == 0 ? 0 : x % y);
    default: return compare_or_pick(op, x, y);
  }
}

I signed_op(BinaryOp op, I x, I y) {
  switch (op) {
    case BinaryOp::Div: return y == 0 ? 0 : y == -1 ? static_cast<I>(0 - static_cast<U>(x)) : x / y;
    case BinaryOp::Mod: return y == 0 || y == -1 ? 0 : x % y;
    case BinaryOp::FloorDiv: return floor_div(x, y);
    case BinaryOp::FloorMod: return floor_mod(x, y);
    default: return compare_or_pick(op, x, y);
  }
}

}  // namespace

double round_to(DataType t, double value) {
  if (t.bits == 64) return value;
  if (t.bits == 32) return static_cast<float>(value);
  return t.code == TypeCode::BFloat ? round_small(value, 7, -126, std::ldexp(1.0, 128))
                                    : round_small(value, 10, -14, std::ldexp(1.0, 16));
}

I integer_op(DataType t, BinaryOp op, I x, I y) {
  switch (op) {
    case BinaryOp::Add: return wrap_integer(t, static_cast<I>(static_cast<U>(x) + static_cast<U>(y)));
    case BinaryOp::Sub: return wrap_integer(t, static_cast<I>(static_cast<U>(x) - static_cast<U>(y)));
    case BinaryOp::Mul: return wrap_integer(t, static_cast<I>(static_cast<U>(x) * static_cast<U>(y)));
    case BinaryOp::Eq: return x == y;
    case BinaryOp::Ne: return x != y;
    case BinaryOp::And: return x && y;
    case BinaryOp::Or: return x || y;
    default:
      return wrap_integer(
          t, t.is_unsigned() ? unsigned_op(op, static_cast<U>(x), static_cast<U>(y)) : signed_op(op, x, y));
  }
}

bool index_op(BinaryOp op, I x, I y, I& result) {
  switch (op) {
    case BinaryOp::Add: return !__builtin_add_overflow(x, y, &result);
    case BinaryOp::Sub: return !__builtin_sub_overflow(x, y, &result);
    case BinaryOp::Mul: return !__builtin_mul_overflow(x, y, &result);
    case BinaryOp::FloorDiv:
      if (y == -1 && x == std::numeric_limits<I>::min()) return false;
      [[fallthrough]];
    default: result = integer_op(i64, op, x, y); return true;
  }
}

double float_op(DataType t, BinaryOp op, double x, double y) {
  switch (op) {
    case BinaryOp::Add: return round_to(t, x + y);
    case BinaryOp::Sub: return round_to(t, x - y);
    case BinaryOp::Mul: return round_to(t, x * y);
    case BinaryOp::Div: return round_to(t, x / y);
    case BinaryOp::Min:
    case BinaryOp::Max: {
      if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
      const bool x_first = x == y ? std::signbit(x) : x < y;  // -0 below +0
      return x_first == (op == BinaryOp::Min) ? x : y;
    }
    case BinaryOp::Eq: return x == y;
    case BinaryOp::Ne: return x != y;
    case BinaryOp::Lt: return x < y;
    case BinaryOp::Le: return x <= y;
    case BinaryOp::Gt: return x > y;
    default: return x >= y;
  }
}

I float_to_integer(DataType t, double value) {
  if (t.is_bool()) return value != 0;
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  if (t.is_unsigned()) {
    if (value <= 0) return 0;
    if (value >= std::ldexp(1.0, t.bits)) return wrap_integer(t, -1);
    return static_cast<I>(static_cast<U>(value));
  }
  const double limit = std::ldexp(1.0, t.bits - 1);
  const I largest = static_cast<I>((U{1} << (t.bits - 1)) - 1);
  if (value >= limit) return largest;
  if (value < -limit) return -largest - 1;
  return static_cast<I>(value);
}

}  // namespace lathe
