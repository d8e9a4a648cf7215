#pragma once
// The thread pool behind lathe_parallel_launch.
//
// Kernels of ten microseconds are common, and so are gaps of a few hundred between them. What follows from
// that:
//   * A worker that runs out of work spins for a bounded time before it sleeps: waking a sleeping thread
//   costs more than
//     such a kernel.
//   * Work is claimed chunk by chunk from an atomic counter, and the launching thread claims too. It waits
//   only for
//     chunks that others have claimed, never for a worker that has not woken up yet, so a busy machine makes
//     a launch slower but cannot stall it.
//   * Chunks start large and shrink towards the end: few claims, contiguous ranges, little waiting at the
//   tail.
//   * Workers are pinned one by one, each to a core of its own. Unpinned, two spinning threads may share one
//   core for
//     seconds. The launching thread is never pinned: threads made later would inherit that.
//   * Many threads may launch at once. Each launch takes one of a few slots, and workers serve all of them;
//   without a
//     free slot, or inside a task, a launch runs inline.
//   * After fork() the child starts workers of its own at its first launch.

#include <cstdint>
#include <functional>
#include <memory>

#include "lathe/runtime/c_api.h"

namespace lathe::runtime {

struct PoolOptions {
  int threads = 0;  ///< threads that work on a launch, the caller counted; 0: default_num_threads()
  bool pin = true;  ///< pin workers; without effect where a quota, not the mask, limits the threads
  int spin_microseconds = 400;  ///< how long an idle worker spins before it sleeps; 0: sleeps at once
};

/// A pool of its own, for hosts that want several. Kernels use the default one, `default_pool()`.
class ThreadPool {
 public:
  explicit ThreadPool(PoolOptions options = {});
  /// Ends and joins the workers. No launch may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// As lathe_parallel_launch, without carrying error texts between threads. `task` must not throw.
  std::int32_t launch(lathe_task task, void* ctx, std::int64_t n);

  /// Threads that work on a launch, the caller counted.
  int num_threads() const;

  /// Replaces the workers. Launches in flight finish with what they have; the new workers start at the next
  /// launch.
  void configure(const PoolOptions& options);

  PoolOptions options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Changes the pool that kernels use (see also lathe_set_num_threads).
void configure_default_pool(const PoolOptions& options);
PoolOptions default_pool_options();

/// Runs body(i) for all i in [0, n) through lathe_parallel_launch. An exception of a body stops the loop and
/// is thrown again on the calling thread.
void parallel_for(std::int64_t n, const std::function<void(std::int64_t)>& body);

}  // namespace lathe::runtime
