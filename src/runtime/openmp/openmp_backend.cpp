#include <omp.h>

#include <algorithm>
#include <atomic>

#include "lathe/runtime/openmp.h"

namespace {

int32_t launch(void*, lathe_task task, void* ctx, int64_t n) {
  std::atomic<int32_t> result{0};
  std::atomic<int64_t> next{0};
  // Chunks are claimed, not dealt out: a thread of the team that comes late, or never, holds nothing up but the barrier
  // at the end, which is OpenMP's.
  const int64_t threads = std::min<int64_t>(n, omp_get_max_threads());
  const int64_t chunk = std::max<int64_t>(1, n / (threads * 4));
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    for (int64_t begin;
         (begin = next.fetch_add(chunk, std::memory_order_relaxed)) < n && result.load() == 0;) {
      const int32_t code = task(ctx, begin, std::min(begin + chunk, n));
      int32_t none = 0;
      if (code != 0) result.compare_exchange_strong(none, code);
    }
  }
  return result.load();
}

int32_t num_threads(void*) { return omp_get_max_threads(); }

}  // namespace

extern "C" const lathe_parallel_backend* lathe_openmp_backend(void) {
  static const lathe_parallel_backend backend{launch, num_threads, nullptr};
  return &backend;
}
