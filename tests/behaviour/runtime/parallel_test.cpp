#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lathe/runtime/affinity.h"
#include "lathe/runtime/openmp.h"
#include "lathe/runtime/thread_pool.h"

using namespace lathe::runtime;

namespace {

/// Counts how often each iteration ran.
struct Visits {
  explicit Visits(std::int64_t n) : counts(static_cast<std::size_t>(n)) {}
  std::vector<std::atomic<int>> counts;

  static std::int32_t task(void* self, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      static_cast<Visits*>(self)->counts.at(static_cast<std::size_t>(i))++;
    return 0;
  }
  bool once() const {
    for (const auto& count : counts) {
      if (count != 1) return false;
    }
    return true;
  }
};

struct DefaultPoolGuard {
  PoolOptions before = default_pool_options();
  ~DefaultPoolGuard() { configure_default_pool(before); }
};

}  // namespace

TEST_CASE("a launch runs every iteration exactly once") {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool({.threads = threads});
    REQUIRE(pool.num_threads() == threads);
    for (std::int64_t n : {1, 2, 3, 7, 16, 56, 1000, 4097}) {
      Visits visits(n);
      REQUIRE(pool.launch(Visits::task, &visits, n) == 0);
      CHECK(visits.once());
    }
  }
}

TEST_CASE("a launch of no or a negative number of iterations does nothing") {
  auto fail = [](void*, std::int64_t, std::int64_t) { return std::int32_t{1}; };
  CHECK(lathe_parallel_launch(fail, nullptr, 0) == 0);
  CHECK(lathe_parallel_launch(fail, nullptr, -5) == 0);
}

TEST_CASE("loops of more iterations than 32 bits are covered without gap or overlap") {
  ThreadPool pool({.threads = 4});
  for (std::int64_t n :
       {(std::int64_t{1} << 23) + 1, (std::int64_t{1} << 33) + 12345, std::int64_t{9223372036854775807}}) {
    struct Sums {
      std::atomic<std::uint64_t> length{0}, weighted{0};
    } sums;
    auto task = [](void* ctx, std::int64_t begin, std::int64_t end) -> std::int32_t {
      auto& sums = *static_cast<Sums*>(ctx);
      if (begin < 0 || end <= begin) return 7;
      sums.length += static_cast<std::uint64_t>(end - begin);
      sums.weighted +=
          static_cast<std::uint64_t>(end) * static_cast<std::uint64_t>(end) -
          static_cast<std::uint64_t>(begin) * static_cast<std::uint64_t>(begin);  // telescopes, mod 2^64
      return 0;
    };
    REQUIRE(pool.launch(task, &sums, n) == 0);
    CHECK(sums.length == static_cast<std::uint64_t>(n));
    CHECK(sums.weighted == static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n));
  }
}

TEST_CASE("the code and text of a failed chunk reach the launching thread") {
  DefaultPoolGuard guard;
  configure_default_pool({.threads = 4});
  auto task = [](void*, std::int64_t begin, std::int64_t end) -> std::int32_t {
    if (begin <= 700 && 700 < end) {
      lathe_set_error(1234, "iteration 700 has no taste");
      return 1234;
    }
    return 0;
  };
  for (int round = 0; round < 200; ++round) {
    lathe_set_error(0, "");
    REQUIRE(lathe_parallel_launch(task, nullptr, 1000) == 1234);
    CHECK(lathe_last_error_code() == 1234);
    CHECK(std::string(lathe_last_error()) == "iteration 700 has no taste");
  }
}

TEST_CASE("a code without a text does not borrow an older one") {
  lathe_set_error(77, "an older error");
  auto task = [](void*, std::int64_t, std::int64_t) -> std::int32_t { return 77; };
  REQUIRE(lathe_parallel_launch(task, nullptr, 10) == 77);
  CHECK(std::string(lathe_last_error()) == "a parallel task returned code 77");
}

TEST_CASE("after a failure, chunks not yet begun are dropped") {
  DefaultPoolGuard guard;
  configure_default_pool({.threads = 2});
  std::atomic<std::int64_t> ran{0};
  auto task = [](void* ctx, std::int64_t begin, std::int64_t end) -> std::int32_t {
    static_cast<std::atomic<std::int64_t>*>(ctx)->fetch_add(end - begin);
    return 5;
  };
  REQUIRE(lathe_parallel_launch(task, &ran, 1 << 20) == 5);
  CHECK(ran <= (1 << 20) / 2);  // two threads, a quarter of the rest each
}

TEST_CASE("an exception in a task becomes a code and a text") {
  auto task = [](void*, std::int64_t, std::int64_t) -> std::int32_t {
    throw std::runtime_error("thrown in a task");
  };
  for (std::int64_t n : {1, 100}) {
    REQUIRE(lathe_parallel_launch(task, nullptr, n) == LATHE_ERROR_EXCEPTION);
    CHECK(std::string(lathe_last_error()) == "thrown in a task");
  }
}

TEST_CASE("parallel_for throws what its body threw") {
  CHECK_THROWS_WITH(parallel_for(100,
                                 [](std::int64_t i) {
                                   if (i == 50) throw std::runtime_error("fifty");
                                 }),
                    "fifty");
  std::atomic<std::int64_t> sum{0};
  parallel_for(1000, [&](std::int64_t i) { sum += i; });
  CHECK(sum == 499500);
}

TEST_CASE("a launch inside a task runs inline on the task's thread") {
  DefaultPoolGuard guard;
  configure_default_pool({.threads = 4});
  std::atomic<int> inner_runs{0}, foreign{0};
  parallel_for(64, [&](std::int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(10, [&](std::int64_t) {
      ++inner_runs;
      if (std::this_thread::get_id() != outer) ++foreign;
    });
  });
  CHECK(inner_runs == 640);
  CHECK(foreign == 0);
}

TEST_CASE("eight host threads launch at once, each on its own data") {
  DefaultPoolGuard guard;
  configure_default_pool({.threads = 3});
  std::atomic<int> wrong{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 8; ++host) {
    hosts.emplace_back([&, host] {
      std::vector<int> data(257);
      for (int round = 0; round < 300; ++round) {
        std::fill(data.begin(), data.end(), 0);
        struct Job {
          int* data;
          int value;
        } job{data.data(), host * 1000 + round};
        auto task = [](void* ctx, std::int64_t begin, std::int64_t end) -> std::int32_t {
          auto& job = *static_cast<Job*>(ctx);
          for (std::int64_t i = begin; i < end; ++i) job.data[i] += job.value + static_cast<int>(i);
          return 0;
        };
        if (lathe_parallel_launch(task, &job, 257) != 0) ++wrong;
        for (int i = 0; i < 257; ++i) wrong += data[static_cast<std::size_t>(i)] != job.value + i;
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  CHECK(wrong == 0);
}

TEST_CASE("first launches of eight threads at once start one crew") {
  ThreadPool pool({.threads = 2});
  std::atomic<int> wrong{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 8; ++host) {
    hosts.emplace_back([&] {
      while (!go) std::this_thread::yield();
      Visits visits(100);
      if (pool.launch(Visits::task, &visits, 100) != 0 || !visits.once()) ++wrong;
    });
  }
  go = true;
  for (std::thread& host : hosts) host.join();
  CHECK(wrong == 0);
}

TEST_CASE("the number of threads can change while launches run") {
  ThreadPool pool({.threads = 2});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, launches{0};
  std::thread host([&] {
    while (!stop) {
      Visits visits(64);
      if (pool.launch(Visits::task, &visits, 64) != 0 || !visits.once()) ++wrong;
      ++launches;
    }
  });
  for (int round = 0; round < 60; ++round) {
    pool.configure({.threads = 1 + round % 4, .spin_microseconds = round % 3 == 0 ? 0 : 50});
    const int before = launches;
    while (launches < before + 2) std::this_thread::yield();
  }
  stop = true;
  host.join();
  CHECK(wrong == 0);
}

TEST_CASE("a task may change the number of threads") {
  DefaultPoolGuard guard;
  configure_default_pool({.threads = 3});
  std::atomic<int> sum{0};
  parallel_for(100, [&](std::int64_t i) {
    if (i % 50 == 0) lathe_set_num_threads(2);
    ++sum;
  });
  CHECK(sum == 100);
  CHECK(lathe_num_threads() == 2);
}

TEST_CASE("launches work with sleeping workers too") {
  ThreadPool pool({.threads = 3, .pin = false, .spin_microseconds = 0});
  for (int round = 0; round < 500; ++round) {
    Visits visits(10);
    REQUIRE(pool.launch(Visits::task, &visits, 10) == 0);
    REQUIRE(visits.once());
  }
}

TEST_CASE("the child of a fork launches, and ends cleanly") {
  DefaultPoolGuard guard;
  configure_default_pool({.threads = 3});
  parallel_for(100, [](std::int64_t) {});
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    Visits visits(1000);
    bool good = true;
    for (int round = 0; round < 20; ++round) {
      Visits again(1000);
      good = good && lathe_parallel_launch(Visits::task, &again, 1000) == 0 && again.once();
    }
    {
      ThreadPool own({.threads = 2});
      good = good && own.launch(Visits::task, &visits, 1000) == 0 && visits.once();
    }
    _exit(good ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  parallel_for(100, [](std::int64_t) {});
}

TEST_CASE("the host's own threads can stand behind the hook") {
  struct Host {
    std::atomic<int> launches{0};
  } host;
  lathe_parallel_backend backend{[](void* self, lathe_task task, void* ctx, std::int64_t n) -> std::int32_t {
                                   static_cast<Host*>(self)->launches++;
                                   std::int32_t code = 0;
                                   std::thread half([&] { code = task(ctx, 0, n / 2); });
                                   const std::int32_t mine = task(ctx, n / 2, n);
                                   half.join();
                                   return code != 0 ? code : mine;
                                 },
                                 [](void*) -> std::int32_t { return 2; }, &host};
  lathe_set_parallel_backend(&backend);
  CHECK(lathe_num_threads() == 2);
  Visits visits(101);
  std::int32_t code = lathe_parallel_launch(Visits::task, &visits, 101);
  auto fail = [](void*, std::int64_t begin, std::int64_t) -> std::int32_t {
    if (begin != 0) return 0;
    lathe_set_error(9, "in the host's thread");
    return 9;
  };
  const std::int32_t failed = lathe_parallel_launch(fail, nullptr, 100);
  const std::string text = lathe_last_error();
  lathe_set_parallel_backend(nullptr);
  CHECK(code == 0);
  CHECK(visits.once());
  CHECK(failed == 9);
  CHECK(text == "in the host's thread");
  CHECK(host.launches == 2);
}

TEST_CASE("workers do not inherit the launching thread's pin, and the pin ends with its scope") {
  const std::vector<int> before = allowed_cpus();
  {
    ScopedPin pin(before.front());
    REQUIRE(pin.pinned());
    CHECK(allowed_cpus() == std::vector<int>{before.front()});
    CHECK(process_cpus().size() == before.size());
    ThreadPool pool({.threads = 2});
    Visits visits(100);
    CHECK(pool.launch(Visits::task, &visits, 100) == 0);
  }
  CHECK(allowed_cpus() == before);
  CHECK_FALSE(pin_current_thread(-1));
  CHECK(allowed_cpus() == before);
}

#ifdef TEST_OPENMP
TEST_CASE("OpenMP's threads can stand behind the hook") {
  lathe_set_parallel_backend(lathe_openmp_backend());
  const int threads = lathe_num_threads();
  bool good = true;
  for (std::int64_t n : {1, 2, 7, 1000}) {
    Visits visits(n);
    good = good && lathe_parallel_launch(Visits::task, &visits, n) == 0 && visits.once();
  }
  auto fail = [](void*, std::int64_t, std::int64_t) -> std::int32_t {
    lathe_set_error(1001, "in OpenMP's thread");
    return 1001;
  };
  const std::int32_t code = lathe_parallel_launch(fail, nullptr, 100);
  const std::string text = lathe_last_error();
  lathe_set_parallel_backend(nullptr);
  CHECK(threads >= 1);
  CHECK(good);
  CHECK(code == 1001);
  CHECK(text == "in OpenMP's thread");
}
#endif
