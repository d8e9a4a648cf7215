#pragma once
// Waiting without sleeping, for a bounded time.

#include <chrono>

namespace lathe::runtime {

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `ready()`; false when `limit` passed first. The clock is read rarely: a pause takes 40 to 140
/// cycles depending on the core, so a count of pauses alone would not bound the time.
template <typename Ready>
bool spin_until(Ready ready, std::chrono::microseconds limit) {
  if (ready()) return true;
  if (limit.count() <= 0) return false;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 128; ++i) {
      if (ready()) return true;
      cpu_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace lathe::runtime
