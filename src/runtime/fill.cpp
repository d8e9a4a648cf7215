#include "lathe/runtime/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace lathe::runtime {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): 64 well mixed bits for each position.
std::uint64_t mix(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed * 0xD1342543DE82EF95 + (position + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

/// Uniform in [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Smallest normal, smallest subnormal and largest finite number of a float type.
struct Limits {
  double normal, subnormal, largest;
};

Limits limits_of(DLDataType type) {
  if (type.code == kDLBfloat) return {0x1p-126, 0x1p-133, 0x1.FEp127};
  if (type.bits == 16) return {0x1p-14, 0x1p-24, 65504};
  if (type.bits == 32) return {0x1p-126, 0x1p-149, 0x1.FFFFFEp127};
  return {0x1p-1022, 0x0.0000000000001p-1022, std::numeric_limits<double>::max()};
}

std::vector<double> float_edges(DLDataType type, const RandomFill& fill) {
  const Limits limits = limits_of(type);
  std::vector<double> edges = {0.0, -0.0,          fill.low,       fill.high,        1,
                               -1,  limits.normal, -limits.normal, limits.subnormal, -limits.subnormal};
  if (fill.non_finite) {
    const double infinity = std::numeric_limits<double>::infinity();
    edges.insert(edges.end(), {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), limits.largest,
                               -limits.largest});
  }
  return edges;
}

void fill_random_float(Tensor& tensor, const RandomFill& fill) {
  const std::vector<double> edges = float_edges(tensor.type(), fill);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto position = static_cast<std::uint64_t>(i);
    const bool edge = unit(mix(fill.seed + 1, position)) < fill.edges;
    const std::uint64_t bits = mix(fill.seed, position);
    tensor.set_value(i, edge ? edges[bits % edges.size()] : fill.low + (fill.high - fill.low) * unit(bits));
  }
}

void fill_random_integer(Tensor& tensor, const RandomFill& fill) {
  const DLDataType type = tensor.type();
  const std::uint64_t bytes = element_bytes(type);
  const std::uint64_t top = std::uint64_t{1} << (type.bits - 1);
  const std::uint64_t edges[] = {0, 1, ~std::uint64_t{0}, top, top - 1};
  auto* data = static_cast<unsigned char*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto position = static_cast<std::uint64_t>(i);
    std::uint64_t bits = mix(fill.seed, position);
    if (unit(mix(fill.seed + 1, position)) < fill.edges) bits = edges[bits % 5];
    if (type.code == kDLBoolCode) bits &= 1;
    for (std::uint64_t b = 0; b < bytes; ++b)
      data[position * bytes + b] = static_cast<unsigned char>(bits >> (8 * b));
  }
}

}  // namespace

void fill_random(Tensor& tensor, const RandomFill& fill) {
  is_float(tensor.type()) ? fill_random_float(tensor, fill) : fill_random_integer(tensor, fill);
}

void fill_integers(Tensor& tensor, std::uint64_t seed, std::int64_t low, std::int64_t high) {
  const DLDataType type = tensor.type();
  if (type.code == kDLUInt || type.code == kDLBoolCode) low = std::max<std::int64_t>(low, 0);
  high = std::max(low, high);
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::uint64_t bits = mix(seed, static_cast<std::uint64_t>(i));
    const std::uint64_t offset = count == 0 ? bits : bits % count;
    tensor.set_value(
        i, static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset)));
  }
}

void fill_poison(Tensor& tensor) {
  if (!is_float(tensor.type())) {
    if (tensor.bytes() > 0) std::memset(tensor.data(), 0xA5, tensor.bytes());
    return;
  }
  // Signalling: arithmetic cannot give these bits, so a NaN that a kernel computed is told from what it left alone.
  const std::size_t width = element_bytes(tensor.type());
  const std::uint64_t bits = width == 8                        ? 0x7FF4A5A5A5A5A5A5
                             : width == 4                      ? 0x7FA5A5A5
                             : tensor.type().code == kDLBfloat ? 0x7FA5
                                                               : 0x7DA5;
  auto* at = static_cast<unsigned char*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.size(); ++i, at += width) std::memcpy(at, &bits, width);
}

void fill_value(Tensor& tensor, double value) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_value(i, value);
}

void fill_iota(Tensor& tensor) {
  const int bits = is_float(tensor.type()) || tensor.type().code == kDLBoolCode ? 64 : tensor.type().bits;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    // Wrapped at the width: for a signed type the upper half of the range is negative.
    std::int64_t value = bits < 64 ? i & ((std::int64_t{1} << bits) - 1) : i;
    if (bits < 64 && tensor.type().code == kDLInt && value >> (bits - 1) != 0)
      value -= std::int64_t{1} << bits;
    tensor.set_value(i, static_cast<double>(value));
  }
}

}  // namespace lathe::runtime
