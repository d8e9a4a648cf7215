#include "lathe/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <mutex>
#include <vector>

#include "lathe/runtime/affinity.h"
#include "runtime/fork_generation.h"
#include "runtime/launch_slot.h"
#include "runtime/spin.h"

namespace lathe::runtime {

namespace {

struct Worker {
  pthread_t thread{};
  std::atomic<bool> ended{false};
};

}  // namespace

struct ThreadPool::State {
  // ---- What launches touch
  std::array<LaunchSlot, 8> slots;
  alignas(64) std::atomic<std::uint32_t> signal{0};  ///< counts launches; idle workers watch it
  std::atomic<std::uint32_t> sleepers{0};
  alignas(64) std::atomic<int> threads{1};
  std::atomic<int> spin_microseconds{0};
  std::atomic<bool> started{false};
  std::atomic<std::uint32_t> crew{0};  ///< workers of an older crew end
  std::atomic<std::uint64_t> forks{0};

  // ---- Under the administration mutex
  PoolOptions options;
  std::vector<std::unique_ptr<Worker>> workers;  ///< with those of older crews that have not ended yet

  void configure(const PoolOptions& wanted);
  void start();
  void start_worker(int index, const std::vector<int>& cpus);
  void forget_workers_of_parent();
  void join_ended();
  void retire();
  void work_as(std::uint32_t my_crew);
  LaunchSlot* acquire_slot();
  void wake(std::uint32_t wanted);
};

namespace {

/// What a worker thread is started with.
struct WorkerStart {
  void (*run)(void* state, std::uint32_t crew);
  void* state;
  Worker* worker;
  std::uint32_t crew;
  int cpu;  ///< to pin to; -1: none
};

void* worker_main(void* argument) {
  const std::unique_ptr<WorkerStart> start(static_cast<WorkerStart*>(argument));
  if (start->cpu >= 0) pin_current_thread(start->cpu);
  start->run(start->state, start->crew);
  start->worker->ended.store(true);
  return nullptr;
}

/// Allowed CPUs, beginning after the one that the caller runs on, so that the first workers leave it alone.
std::vector<int> cpus_for_workers() {
  std::vector<int> cpus = process_cpus();
  const auto here = std::find(cpus.begin(), cpus.end(), sched_getcpu());
  if (here != cpus.end()) {
    // Stay among the first of each core as long as those last: rotate them alone.
    const auto cores_end = cpus.begin() + process_cores();
    if (here < cores_end) {
      std::rotate(cpus.begin(), here + 1, cores_end);
    }
  }
  return cpus;
}

}  // namespace

void ThreadPool::State::configure(const PoolOptions& wanted) {
  options = wanted;
  threads.store(wanted.threads > 0 ? wanted.threads : default_num_threads());
  const bool oversubscribed = threads.load() > static_cast<int>(process_cpus().size());
  spin_microseconds.store(oversubscribed ? 0 : std::max(0, wanted.spin_microseconds));
}

/// Begins the threads, at the first launch that has use for them.
void ThreadPool::State::start() {
  const std::lock_guard lock(administration_mutex());
  if (forks.load() != fork_generation()) forget_workers_of_parent();
  if (started.load()) return;
  join_ended();
  const int count = threads.load() - 1;
  std::vector<int> cpus;
  const bool quota_limits = std::ceil(cpu_quota()) < process_cores();
  if (options.pin && !quota_limits && count < static_cast<int>(process_cpus().size()))
    cpus = cpus_for_workers();
  for (int i = 0; i < count; ++i) start_worker(i, cpus);
  started.store(true);
}

void ThreadPool::State::start_worker(int index, const std::vector<int>& cpus) {
  auto run = [](void* state, std::uint32_t my_crew) { static_cast<State*>(state)->work_as(my_crew); };
  const int cpu = cpus.empty() ? -1 : cpus[static_cast<std::size_t>(index) % cpus.size()];
  auto worker = std::make_unique<Worker>();
  auto start = std::make_unique<WorkerStart>(WorkerStart{run, this, worker.get(), crew.load(), cpu});
  // Signals are the host's business and go to its threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Without a thread the launch is slower, not wrong.
  if (pthread_create(&worker->thread, nullptr, worker_main, start.get()) == 0) {
    start.release();
    workers.push_back(std::move(worker));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// In the child of a fork: the workers are gone, and so are the other threads whose launches were in flight.
void ThreadPool::State::forget_workers_of_parent() {
  workers.clear();
  for (LaunchSlot& slot : slots) slot.abandon();
  sleepers.store(0);
  started.store(false);
  forks.store(fork_generation());
}

void ThreadPool::State::join_ended() {
  std::erase_if(workers, [](const std::unique_ptr<Worker>& worker) {
    return worker->ended.load() && pthread_join(worker->thread, nullptr) == 0;
  });
}

/// Tells the present workers to end, without waiting: the caller may be one of them.
void ThreadPool::State::retire() {
  crew.fetch_add(1);
  signal.fetch_add(1);
  signal.notify_all();
  started.store(false);
}

void ThreadPool::State::work_as(std::uint32_t my_crew) {
  while (true) {
    const std::uint32_t seen = signal.load();
    if (crew.load() != my_crew) return;
    bool worked = false;
    for (LaunchSlot& slot : slots) worked |= slot.work();
    if (worked) continue;
    const auto limit = std::chrono::microseconds(spin_microseconds.load(std::memory_order_relaxed));
    if (spin_until([&] { return signal.load(std::memory_order_acquire) != seen; }, limit)) continue;
    // Counted before looking at `signal` again; a launch changes `signal` before it looks at the count. One
    // of the two sees the other.
    sleepers.fetch_add(1);
    signal.wait(seen);
    sleepers.fetch_sub(1);
  }
}

LaunchSlot* ThreadPool::State::acquire_slot() {
  for (LaunchSlot& slot : slots) {
    if (slot.acquire()) return &slot;
  }
  return nullptr;
}

void ThreadPool::State::wake(std::uint32_t wanted) {
  signal.fetch_add(1);
  const std::uint32_t asleep = sleepers.load();
  if (asleep == 0) return;
  if (wanted >= asleep) return signal.notify_all();
  for (std::uint32_t i = 0; i < wanted; ++i) signal.notify_one();
}

ThreadPool::ThreadPool(PoolOptions options) : state_(std::make_unique<State>()) {
  state_->forks.store(fork_generation());
  state_->configure(options);
}

ThreadPool::~ThreadPool() {
  state_->retire();
  if (state_->forks.load() != fork_generation()) return;  // those were threads of the parent
  for (const auto& worker : state_->workers) pthread_join(worker->thread, nullptr);
}

std::int32_t ThreadPool::launch(lathe_task task, void* ctx, std::int64_t n) {
  if (n <= 0) return 0;
  State& state = *state_;
  const int threads = state.threads.load(std::memory_order_relaxed);
  if (n == 1 || threads <= 1) return task(ctx, 0, n);
  if (!state.started.load(std::memory_order_acquire) ||
      state.forks.load(std::memory_order_relaxed) != fork_generation()) {
    state.start();
  }
  LaunchSlot* slot = state.acquire_slot();
  if (slot == nullptr) return task(ctx, 0, n);
  slot->publish(task, ctx, n, threads);
  state.wake(static_cast<std::uint32_t>(std::min<std::int64_t>(n, threads) - 1));
  slot->work();
  const auto limit = std::chrono::microseconds(state.spin_microseconds.load(std::memory_order_relaxed));
  if (!spin_until([&] { return slot->finished(); }, limit)) slot->wait_finished();
  const std::int32_t result = slot->result();
  slot->release();
  return result;
}

int ThreadPool::num_threads() const { return state_->threads.load(); }

void ThreadPool::configure(const PoolOptions& options) {
  const std::lock_guard lock(administration_mutex());
  state_->retire();
  state_->configure(options);
}

PoolOptions ThreadPool::options() const {
  const std::lock_guard lock(administration_mutex());
  return state_->options;
}

}  // namespace lathe::runtime
