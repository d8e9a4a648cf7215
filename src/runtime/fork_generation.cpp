#include "runtime/fork_generation.h"

#include <pthread.h>

#include <atomic>

namespace lathe::runtime {
namespace {

std::mutex mutex;  // constant-initialised
std::atomic<std::uint64_t> generation{0};

void before_fork() { mutex.lock(); }
void after_fork_in_parent() { mutex.unlock(); }
void after_fork_in_child() {
  generation.fetch_add(1);
  mutex.unlock();
}

void watch_forks() {
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  static_cast<void>(registered);
}

}  // namespace

std::uint64_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

std::mutex& administration_mutex() noexcept {
  watch_forks();
  return mutex;
}

}  // namespace lathe::runtime
