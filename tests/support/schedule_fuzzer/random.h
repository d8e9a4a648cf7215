#pragma once
// Random numbers whose sequence is the same on every platform (std:: distributions are not).

#include <cstdint>
#include <string_view>
#include <vector>

namespace lathe::fuzz {

/// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  /// 0 .. n-1; 0 when n is 0.
  std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  static std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 14695981039346656037u;
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
  }

 private:
  std::uint64_t state_;
};

}  // namespace lathe::fuzz
