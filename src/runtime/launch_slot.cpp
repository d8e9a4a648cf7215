#include "runtime/launch_slot.h"

#include <algorithm>

namespace lathe::runtime {

/// No chunk can be claimed, and a claim begun before now fails.
void LaunchSlot::close() {
  const std::uint64_t number = (claim_.load(std::memory_order_relaxed) >> kPositionBits) + 1;
  claim_.store(number << kPositionBits | kPositionMask, std::memory_order_seq_cst);
}

void LaunchSlot::publish(lathe_task task, void* ctx, std::int64_t n, int threads) {
  // Close first: a worker that still holds the old word must not combine it with the new fields. The stores
  // below are releases, so whoever sees one of them also sees the word closed, and its compare-and-swap
  // fails.
  close();
  const std::int64_t tick_size = (n - 1) / kMaxTicks + 1;
  result_.store(0, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  task_.store(task, std::memory_order_release);
  ctx_.store(ctx, std::memory_order_release);
  n_.store(n, std::memory_order_release);
  tick_size_.store(tick_size, std::memory_order_release);
  threads_.store(static_cast<std::uint32_t>(threads), std::memory_order_release);
  ticks_.store(static_cast<std::uint32_t>((n - 1) / tick_size + 1), std::memory_order_release);
  claim_.store(claim_.load(std::memory_order_relaxed) & ~kPositionMask, std::memory_order_release);
}

bool LaunchSlot::claim(Chunk& chunk) {
  std::uint64_t word = claim_.load(std::memory_order_acquire);
  while (true) {
    const std::uint64_t position = word & kPositionMask;
    const std::uint32_t ticks = ticks_.load(std::memory_order_acquire);
    if (position >= ticks) return false;
    // Guided self-scheduling (Polychronopoulos and Kuck, 1987), with half of an even share at a time.
    const std::uint64_t share = (ticks - position) / (2 * threads_.load(std::memory_order_acquire));
    const std::uint64_t take = std::max<std::uint64_t>(1, share);
    const std::int64_t size = tick_size_.load(std::memory_order_acquire);
    const std::int64_t n = n_.load(std::memory_order_acquire);
    chunk.task = task_.load(std::memory_order_acquire);
    chunk.ctx = ctx_.load(std::memory_order_acquire);
    chunk.ticks = static_cast<std::uint32_t>(take);
    chunk.begin = static_cast<std::int64_t>(position) * size;
    // (position + take) * size may pass the largest int64 in the last chunk alone.
    const bool last = position + take == ticks;
    chunk.end = last ? n : static_cast<std::int64_t>(position + take) * size;
    if (claim_.compare_exchange_weak(word, word + take, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      return true;
    }
  }
}

void LaunchSlot::run(const Chunk& chunk) {
  if (result_.load(std::memory_order_relaxed) == 0) {
    const std::int32_t code = chunk.task(chunk.ctx, chunk.begin, chunk.end);
    std::int32_t none = 0;
    if (code != 0) result_.compare_exchange_strong(none, code, std::memory_order_relaxed);
  }
  // The launch may return as soon as the last tick is counted; the slot stays, so notifying it is safe.
  const std::uint32_t ticks = ticks_.load(std::memory_order_relaxed);
  if (done_.fetch_add(chunk.ticks, std::memory_order_acq_rel) + chunk.ticks == ticks) done_.notify_one();
}

bool LaunchSlot::work() {
  bool any = false;
  for (Chunk chunk; claim(chunk);) {
    run(chunk);
    any = true;
  }
  return any;
}

void LaunchSlot::wait_finished() {
  const std::uint32_t ticks = ticks_.load(std::memory_order_relaxed);
  for (std::uint32_t done; (done = done_.load(std::memory_order_acquire)) != ticks;) {
    done_.wait(done, std::memory_order_acquire);
  }
}

void LaunchSlot::abandon() {
  close();
  release();
}

}  // namespace lathe::runtime
