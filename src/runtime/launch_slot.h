#pragma once
// One launch in flight: who has claimed what, and how much is done.
//
// A slot outlives every launch that uses it, because a worker may look at it at any time, even long after the
// launch it came for has returned. Claiming is therefore one compare-and-swap on a word that holds both the
// launch's number and the next free position: it can succeed only while the launch is the one whose fields
// the worker has read.
//
//     claim = [ number of the launch : 40 | next unclaimed tick : 24 ]
//
// A tick is one iteration, or several where a loop has more than 2^23 of them.

#include <atomic>
#include <cstdint>

#include "lathe/runtime/c_api.h"

namespace lathe::runtime {

class LaunchSlot {
 public:
  /// Takes the slot for a launch; false when it is taken.
  bool acquire() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void release() { taken_.store(false, std::memory_order_release); }

  /// Offers the loop [0, n), n > 0, to all threads that look.
  void publish(lathe_task task, void* ctx, std::int64_t n, int threads);

  /// Claims and runs chunks until none is left; true when there was one.
  bool work();

  /// Whether every claimed chunk has been run. Meaningful when work() has returned false.
  bool finished() const {
    return done_.load(std::memory_order_acquire) == ticks_.load(std::memory_order_relaxed);
  }

  /// Sleeps until finished.
  void wait_finished();

  /// What the launch returns.
  std::int32_t result() const { return result_.load(std::memory_order_relaxed); }

  /// Forgets the launch in flight: in the child of a fork, the threads that took part in it no longer exist.
  void abandon();

 private:
  struct Chunk {
    lathe_task task;
    void* ctx;
    std::int64_t begin, end;
    std::uint32_t ticks;
  };
  bool claim(Chunk& chunk);
  void run(const Chunk& chunk);
  void close();

  static constexpr int kPositionBits = 24;
  static constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << kPositionBits) - 1;
  static constexpr std::int64_t kMaxTicks = std::int64_t{1} << (kPositionBits - 1);

  alignas(64) std::atomic<std::uint64_t> claim_{kPositionMask};
  alignas(64) std::atomic<std::uint32_t> ticks_{0};
  std::atomic<std::uint32_t> threads_{1};
  std::atomic<std::int64_t> n_{0};
  std::atomic<std::int64_t> tick_size_{1};
  std::atomic<lathe_task> task_{nullptr};
  std::atomic<void*> ctx_{nullptr};
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::atomic<std::int32_t> result_{0};
  std::atomic<bool> taken_{false};
};

}  // namespace lathe::runtime
