#include "lathe/runtime/timer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lathe::runtime {

std::uint64_t cycle_count() {
#if defined(__x86_64__)
  // The fences keep what is measured between its two readings.
  _mm_lfence();
  const std::uint64_t count = __builtin_ia32_rdtsc();
  _mm_lfence();
  return count;
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}

bool has_cycle_count() {
#if defined(__x86_64__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

std::size_t last_level_cache_bytes() {
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const long last = std::max(l3, l2);
  return last > 0 ? static_cast<std::size_t>(last) : std::size_t{32} << 20;
}

CacheFlusher::CacheFlusher(std::size_t bytes)
    : words_(std::max<std::size_t>(1, bytes / sizeof(std::uint64_t))), buffer_(new std::uint64_t[words_]()) {}

void CacheFlusher::flush() {
  ++pass_;
  for (std::size_t i = 0; i < words_; i += 8) buffer_[i] += pass_;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void evict(std::span<const std::byte> memory) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < memory.size(); i += 64) _mm_clflush(memory.data() + i);
  if (!memory.empty()) _mm_clflush(memory.data() + memory.size() - 1);
  _mm_mfence();
#else
  static_cast<void>(memory);
#endif
}

}  // namespace lathe::runtime
