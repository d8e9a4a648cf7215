#pragma once
// The tuner's own random numbers.
//
// A session must propose the same candidates for the same seed and the same measured times, on every platform
// and with every standard library. <random> promises that for its engines but not for its distributions,
// hence this generator: xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64, with the few
// distributions that a search needs.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace lathe::tuner {

/// One step of splitmix64: a bijective mixer of 64-bit words.
inline std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Combines a hash with one more word; depends on the order.
inline std::uint64_t mix64(std::uint64_t hash, std::uint64_t word) { return mix64(hash * 31 + word); }

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = seed = mix64(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9, t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, n); n > 0. The bias is below n / 2^64.
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// True with probability `p`.
  bool chance(double p) { return uniform() < p; }

  /// Standard normal (Box-Muller, one of the pair).
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_[4];
};

}  // namespace lathe::tuner
