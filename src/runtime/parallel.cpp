// The C hook for parallel loops: picks the backend, keeps nested launches inline, and brings errors home.
// Backends only have to run tasks.

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>

#include "lathe/runtime/affinity.h"
#include "lathe/runtime/c_api.h"
#include "lathe/runtime/thread_pool.h"
#include "runtime/default_pool.h"
#include "runtime/error_state.h"

namespace lathe::runtime {
namespace {

std::atomic<const lathe_parallel_backend*> host_backend{nullptr};

/// Tasks that this thread is inside of.
thread_local int task_depth = 0;

/// A launch as the backend sees it: `run` over [0, n) with this as its context.
class GuardedLaunch {
 public:
  GuardedLaunch(lathe_task task, void* ctx) : task_(task), ctx_(ctx) {}

  static std::int32_t run(void* self, std::int64_t begin, std::int64_t end) {
    return static_cast<GuardedLaunch*>(self)->run_chunk(begin, end);
  }

  /// The launch's code, after all chunks; the error becomes the calling thread's own.
  std::int32_t finish(std::int32_t from_backend) {
    if (!failed_.load(std::memory_order_acquire)) return from_backend;
    last_error().set(first_.code, first_.text.data());
    return first_.code;
  }

 private:
  std::int32_t run_chunk(std::int64_t begin, std::int64_t end) {
    if (failed_.load(std::memory_order_relaxed)) return dropped_;
    // The text belongs to the code only when this very chunk has set it.
    ErrorState& error = last_error();
    const std::int32_t code_before = error.code;
    error.code = 0;
    ++task_depth;
    const std::int32_t code = call(begin, end);
    --task_depth;
    if (code == 0) {
      error.code = code_before;
      return 0;
    }
    if (!taken_.exchange(true)) {
      dropped_ = code;
      char no_text[64];
      std::snprintf(no_text, sizeof(no_text), "a parallel task returned code %d", static_cast<int>(code));
      first_.set(code, error.code == code ? error.text.data() : no_text);
      failed_.store(true, std::memory_order_release);
    }
    return code;
  }

  std::int32_t call(std::int64_t begin, std::int64_t end) {
    try {
      return task_(ctx_, begin, end);
    } catch (const std::exception& error) {
      last_error().set(LATHE_ERROR_EXCEPTION, error.what());
    } catch (...) {
      last_error().set(LATHE_ERROR_EXCEPTION, "a parallel task threw something that is no std::exception");
    }
    return LATHE_ERROR_EXCEPTION;
  }

  lathe_task task_;
  void* ctx_;
  std::atomic<bool> taken_{false};   ///< somebody writes first_
  std::atomic<bool> failed_{false};  ///< first_ is written
  std::atomic<std::int32_t> dropped_{0};
  ErrorState first_;
};

/// Ends the pool's workers when the program ends, or when the library that holds this code is unloaded.
struct PoolOwner {
  ThreadPool pool;
  PoolOwner();
  ~PoolOwner();
};

std::atomic<ThreadPool*> pool_in_use{nullptr};
std::atomic<bool> pool_ended{false};

PoolOwner::PoolOwner() { pool_in_use.store(&pool, std::memory_order_release); }
PoolOwner::~PoolOwner() {
  pool_ended.store(true);
  pool_in_use.store(nullptr);
}

}  // namespace

ThreadPool* default_pool() {
  if (ThreadPool* pool = pool_in_use.load(std::memory_order_acquire)) return pool;
  if (pool_ended.load()) return nullptr;
  static PoolOwner owner;
  return &owner.pool;
}

void configure_default_pool(const PoolOptions& options) {
  if (ThreadPool* pool = default_pool()) pool->configure(options);
}

PoolOptions default_pool_options() {
  ThreadPool* pool = default_pool();
  return pool == nullptr ? PoolOptions{} : pool->options();
}

void parallel_for(std::int64_t n, const std::function<void(std::int64_t)>& body) {
  struct Loop {
    const std::function<void(std::int64_t)>& body;
    std::once_flag once;
    std::exception_ptr thrown;
  } loop{body, {}, nullptr};
  auto task = [](void* ctx, std::int64_t begin, std::int64_t end) -> std::int32_t {
    Loop& loop = *static_cast<Loop*>(ctx);
    try {
      for (std::int64_t i = begin; i < end; ++i) loop.body(i);
      return 0;
    } catch (...) {
      std::call_once(loop.once, [&] { loop.thrown = std::current_exception(); });
      return LATHE_ERROR_EXCEPTION;
    }
  };
  lathe_parallel_launch(task, &loop, n);
  if (loop.thrown) std::rethrow_exception(loop.thrown);
}

}  // namespace lathe::runtime

using namespace lathe::runtime;

extern "C" {

int32_t lathe_parallel_launch(lathe_task task, void* ctx, int64_t n) {
  if (n <= 0) return 0;
  GuardedLaunch launch(task, ctx);
  if (n == 1 || task_depth > 0) return launch.finish(GuardedLaunch::run(&launch, 0, n));
  if (const lathe_parallel_backend* host = host_backend.load(std::memory_order_acquire)) {
    return launch.finish(host->launch(host->self, &GuardedLaunch::run, &launch, n));
  }
  ThreadPool* pool = default_pool();
  if (pool == nullptr) return launch.finish(GuardedLaunch::run(&launch, 0, n));
  return launch.finish(pool->launch(&GuardedLaunch::run, &launch, n));
}

int32_t lathe_num_threads(void) {
  if (const lathe_parallel_backend* host = host_backend.load(std::memory_order_acquire)) {
    return host->num_threads(host->self);
  }
  ThreadPool* pool = default_pool();
  return pool == nullptr ? 1 : pool->num_threads();
}

void lathe_set_num_threads(int32_t threads) {
  PoolOptions options = default_pool_options();
  options.threads = threads > 0 ? threads : 0;
  configure_default_pool(options);
}

void lathe_set_parallel_backend(const lathe_parallel_backend* backend) {
  host_backend.store(backend, std::memory_order_release);
}

}  // extern "C"
