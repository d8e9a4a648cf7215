#include "team.h"

namespace lathe::bench {

Team::Team(int threads) {
  for (int index = 1; index < threads; ++index) workers_.emplace_back([this, index] { serve(index); });
}

Team::~Team() {
  stop_ = true;
  ++epoch_;
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_ = static_cast<int>(workers_.size());
  ++epoch_;
  epoch_.notify_all();
  work(0);
  while (running_.load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
}

void Team::serve(int index) {
  unsigned seen = 0;
  for (;;) {
    // Spin briefly, because waking a sleeping thread costs more than a short piece of work; then sleep,
    // because a spinning one disturbs whoever is measured next.
    for (int spin = 0; spin < 20000 && epoch_.load(std::memory_order_acquire) == seen; ++spin)
      __builtin_ia32_pause();
    epoch_.wait(seen);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_) return;
    (*work_)(index);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace lathe::bench
