#pragma once
// Measuring short times.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lathe::runtime {

/// The processor's time-stamp counter; 0 where there is none. It runs at a constant rate, which is not the clock of a
/// core under boost: use it to compare, not to count instructions.
std::uint64_t cycle_count();
bool has_cycle_count();

/// Time since it was made or restarted, on a clock that never goes back.
class Timer {
 public:
  Timer() { restart(); }
  void restart() {
    cycles_ = cycle_count();
    start_ = std::chrono::steady_clock::now();
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  std::int64_t nanoseconds() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_)
        .count();
  }
  std::uint64_t cycles() const { return cycle_count() - cycles_; }

 private:
  std::chrono::steady_clock::time_point start_;
  std::uint64_t cycles_ = 0;
};

/// Bytes of the last cache level of this machine's CPU.
std::size_t last_level_cache_bytes();

/// Puts other data into the caches, so that what runs next starts cold.
class CacheFlusher {
 public:
  /// Twice the last cache level, unless told otherwise.
  explicit CacheFlusher(std::size_t bytes = 2 * last_level_cache_bytes());
  void flush();
  std::size_t bytes() const { return words_ * sizeof(std::uint64_t); }

 private:
  std::size_t words_;
  std::unique_ptr<std::uint64_t[]> buffer_;
  std::uint64_t pass_ = 0;
};

/// Writes the lines of `memory` back and drops them from every cache, where the processor can; otherwise does nothing.
void evict(std::span<const std::byte> memory);

}  // namespace lathe::runtime
