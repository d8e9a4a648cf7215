#include "support/half.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace lathe;

namespace {

/// The value of `bits` by the definition of the format.
template <typename Small>
double value_of(std::uint16_t bits) {
  constexpr int mantissa_bits = Small::kMantissaBits;
  const int exponent = (bits & 0x7FFF) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const int smallest = 1 - Small::kBias - mantissa_bits;
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa, smallest)
                               : std::ldexp(mantissa + (1 << mantissa_bits), smallest + exponent - 1);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// How many of all 2^16 patterns are not widened to their value, or do not come back.
template <typename Small>
int wrong_round_trips() {
  int wrong = 0;
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = Small::to(bits);
    if ((bits & 0x7FFF) > Small::kInfinity) {
      const std::uint16_t quiet = 1 << (Small::kMantissaBits - 1);
      wrong += !std::isnan(value) || Small::from(static_cast<double>(value)) != (bits | quiet);
    } else if ((bits & 0x7FFF) == Small::kInfinity) {
      wrong += value != ((bits & 0x8000) != 0 ? -1.0f : 1.0f) * std::numeric_limits<float>::infinity();
      wrong += Small::from(value) != bits;
    } else {
      wrong += static_cast<double>(value) != value_of<Small>(bits) ||
               std::signbit(value) != ((bits & 0x8000) != 0);
      wrong += Small::from(value) != bits;
    }
  }
  return wrong;
}

/// Between each two neighbours: the middle goes to the even one, anything nearer to one of them goes there. With
/// monotony this decides every double.
template <typename Small>
int wrong_between_neighbours() {
  int wrong = 0;
  for (int i = 0; i < Small::kInfinity; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    const double a = value_of<Small>(low);
    // Past the largest finite value the next one would be, were the exponent wider.
    const double b = high == Small::kInfinity ? 2 * a - value_of<Small>(static_cast<std::uint16_t>(i - 1))
                                              : value_of<Small>(high);
    const double middle = a + (b - a) / 2;
    const std::uint16_t even = (low & 1) == 0 ? low : high;
    for (const int sign : {0, 0x8000}) {
      const double s = sign == 0 ? 1 : -1;
      wrong += Small::from(s * middle) != (even | sign);
      wrong += Small::from(s * std::nextafter(middle, a)) != (low | sign);
      wrong += Small::from(s * std::nextafter(middle, b)) != (high | sign);
      wrong += Small::from(s * std::nextafter(a, b)) != (low | sign);
      wrong += Small::from(s * std::nextafter(b, a)) != (high | sign);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("every f16 is widened exactly and comes back") { CHECK(wrong_round_trips<Float16>() == 0); }
TEST_CASE("every bf16 is widened exactly and comes back") { CHECK(wrong_round_trips<BFloat16>() == 0); }
TEST_CASE("doubles round to the nearest f16, ties to even") {
  CHECK(wrong_between_neighbours<Float16>() == 0);
}
TEST_CASE("doubles round to the nearest bf16, ties to even") {
  CHECK(wrong_between_neighbours<BFloat16>() == 0);
}

TEST_CASE("narrowing rounds once, not by way of float") {
  const double x = 1 + std::ldexp(1, -11) + std::ldexp(1, -30);
  CHECK(Float16::from(x) == 0x3C01);
  CHECK(Float16::from(static_cast<float>(x)) == 0x3C00);
}

TEST_CASE("extreme doubles") {
  CHECK(Float16::from(65504) == 0x7BFF);
  CHECK(Float16::from(65520) == 0x7C00);
  CHECK(Float16::from(1e300) == 0x7C00);
  CHECK(BFloat16::from(-1e300) == 0xFF80);
  CHECK(BFloat16::from(std::numeric_limits<double>::denorm_min()) == 0);
  CHECK(Float16::from(-0.0) == 0x8000);
  CHECK(Float16::from(std::ldexp(1, -25)) == 0);
  CHECK(Float16::from(std::nextafter(std::ldexp(1, -25), 1)) == 1);
  CHECK(BFloat16::from(std::ldexp(1, -134)) == 0);
  CHECK(BFloat16::from(std::nextafter(std::ldexp(1, -134), 1)) == 1);
}
