#pragma once
// f16 (IEEE 754 binary16) and bf16 (the upper half of binary32) in software.
//
// Narrowing rounds once, to nearest with ties to even, straight from double: by way of float it would round twice, and
// 1 + 2^-11 + 2^-30 would become 1. Values beyond the largest finite one by half a unit or more become infinity,
// subnormals are kept, a NaN stays a NaN with its sign and leading payload.

#include <bit>
#include <cstdint>

namespace lathe {

/// A 16-bit float: 1 sign bit, `ExponentBits`, and the rest.
template <int ExponentBits>
struct SmallFloat {
  static constexpr int kMantissaBits = 15 - ExponentBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr std::uint16_t kInfinity =
      static_cast<std::uint16_t>(((1 << ExponentBits) - 1) << kMantissaBits);

  static constexpr std::uint16_t from(double value) {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>(wide >> 48 & 0x8000);
    const int exponent = static_cast<int>(wide >> 52 & 0x7FF);
    std::uint64_t mantissa = wide & ((std::uint64_t{1} << 52) - 1);
    if (exponent == 0x7FF) {
      const auto payload = static_cast<std::uint16_t>(mantissa >> (52 - kMantissaBits));
      const std::uint16_t quiet = 1 << (kMantissaBits - 1);
      return static_cast<std::uint16_t>(sign | kInfinity | (mantissa == 0 ? 0 : payload | quiet));
    }
    if (exponent == 0) return sign;  // zero, or a double too small for any of these
    // |value| = mantissa * 2^(scale - 52); one unit of the result is 2^(unit - kMantissaBits).
    mantissa |= std::uint64_t{1} << 52;
    const int scale = exponent - 1023;
    const int smallest = 1 - kBias;
    const int unit = scale < smallest ? smallest : scale;
    const int shift = 52 - kMantissaBits + (unit - scale);
    if (shift > 54) return sign;
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    std::uint64_t rounded = mantissa >> shift;
    const std::uint64_t rest = mantissa & (2 * half - 1);
    rounded += rest > half || (rest == half && (rounded & 1) != 0);
    // A carry out of the mantissa lands in the exponent, where it belongs.
    const std::uint64_t bits =
        scale < smallest ? rounded
                         : (static_cast<std::uint64_t>(scale + kBias - 1) << kMantissaBits) + rounded;
    return static_cast<std::uint16_t>(sign | (bits >= kInfinity || scale > kBias ? kInfinity : bits));
  }

  /// Exact.
  static constexpr float to(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    const std::uint32_t magnitude = bits & 0x7FFF;
    if (magnitude >= kInfinity) {
      return std::bit_cast<float>(sign | 0x7F800000 | (magnitude - kInfinity) << (23 - kMantissaBits));
    }
    if constexpr (ExponentBits == 8) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    } else {
      // Read the bits at float's place: right but for the bias, which a multiplication by a power of two corrects, also
      // for subnormals.
      const float value = std::bit_cast<float>(magnitude << (23 - kMantissaBits)) *
                          std::bit_cast<float>(static_cast<std::uint32_t>(127 + 127 - kBias) << 23);
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
    }
  }
};

using Float16 = SmallFloat<5>;
using BFloat16 = SmallFloat<8>;

}  // namespace lathe
