#pragma once
// The 16-bit float types as bit patterns, and rounding to them without leaving float or double.

#include <bit>
#include <cmath>
#include <cstdint>

namespace lathe::interp {

inline float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t float_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>((bits >> 16) | 0x40);  // quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float f16_to_float(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16;
  const std::uint32_t exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline std::uint16_t float_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | static_cast<std::uint16_t>((magnitude >> 13) & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // from 65520 on: infinity
  if (magnitude < 0x38800000) {                       // below the smallest normal: a multiple of 2^-24
    // Adding 1/2 makes the float's own rounding happen at that unit.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000);
  }
  const std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<std::uint16_t>((rounded - 0x38000000) >> 13);
}

/// A double whose rounding to any type of fewer than 52 mantissa bits is that of the exact a + b: rounded to
/// odd.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  if (error == 0 || (std::bit_cast<std::uint64_t>(sum) & 1)) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

/// Rounds to float such that a later rounding to 16 bits is as if from the double itself.
inline float narrow_to_odd(double value) {
  const float near = static_cast<float>(value);
  if (!std::isfinite(near) || static_cast<double>(near) == value ||
      (std::bit_cast<std::uint32_t>(near) & 1)) {
    return near;
  }
  return std::nextafter(near, static_cast<double>(near) < value ? HUGE_VALF : -HUGE_VALF);
}

}  // namespace lathe::interp
