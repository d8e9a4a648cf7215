// A program with functions of its own, as a user links it: `lathe` and more. The functions do what bad kernels do; candidates
// of tests/behaviour/measure and workloads of tests/cli call them.

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "lathe/cli.h"
#include "lathe/te.h"
#include "lathe/tensor_intrinsic.h"
#include "lathe/workload.h"

extern "C" {

// Sanitizers turn the signals of a crash into a report and an exit code; what is tested here is that a session understands a
// process that died of its signal. In this program alone, and the other checks stay on.
#if defined(__SANITIZE_ADDRESS__)
const char* __asan_default_options() { return "handle_segv=0:handle_abort=0"; }
#elif defined(__SANITIZE_THREAD__)
const char* __tsan_default_options() { return "handle_segv=0:handle_abort=0"; }
#endif

float misbehave_crash(float x) {
  volatile std::uintptr_t nowhere = 8;  // volatile, or the compiler sees through it
  *reinterpret_cast<volatile float*>(nowhere) = x;
  return x;
}

float misbehave_abort(float) {
  std::fputs("the kernel says why it aborts\n", stderr);
  std::abort();
}

float misbehave_exit(float) { _exit(3); }

float misbehave_hang(float x) {
  for (volatile bool on = true; on;) {
  }
  return x;
}

/// Right for the first 3,000 calls, wrong from then on.
float misbehave_later(float x) {
  static int calls = 0;
  return ++calls > 3000 ? x * 3 : x * 2;
}

/// As the system does when memory runs out.
float misbehave_killed(float) { return static_cast<float>(raise(SIGKILL)); }

/// Takes the process down that started it, and with it all that is to come.
float misbehave_kill_parent(float x) {
  kill(getppid(), SIGKILL);
  return x * 2;
}

/// Right, but a third of a second late.
float misbehave_slow(float x) {
  static const int late = usleep(300'000);
  return x * 2 + static_cast<float>(late);
}

/// Overwrites whatever memory is called a reference.
float misbehave_reference(float x) {
  static const bool once = [] {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("memfd:reference") == std::string::npos) continue;
      const std::size_t dash = line.find('-');
      const std::uintptr_t from = std::stoull(line, nullptr, 16),
                           to = std::stoull(line.substr(dash + 1), nullptr, 16);
      char* memory = reinterpret_cast<char*>(from);
      if (mprotect(memory, to - from, PROT_READ | PROT_WRITE) == 0)
        std::fill(memory, memory + (to - from), 7);
    }
    return true;
  }();
  return once ? x * 2 : 0;
}

/// Leaves a process of its own session behind, whose number is in the file that MISBEHAVE_PID_FILE names.
float misbehave_daemon(float x) {
  static const bool once = [] {
    if (const pid_t daemon = fork(); daemon != 0) {
      std::ofstream(std::getenv("MISBEHAVE_PID_FILE")) << daemon << std::endl;
      return true;
    }
    setsid();
    for (;;) pause();
  }();
  return once ? x * 2 : 0;
}

/// Ends, and leaves a process behind that holds all that was open.
float misbehave_abandon(float x) {
  if (fork() != 0) _exit(4);
  for (;;) pause();
  return x;
}

/// All that may be had, and more.
float misbehave_hoard(float x) {
  std::vector<std::vector<char>> hoard;
  for (;;) hoard.emplace_back(std::size_t{64} << 20, 'x');
  return x;
}

float misbehave_print(float x) {
  for (;;)
    std::puts("and so on and so on and so on and so on and so on and so on and so on and so on and so on");
  return x;
}

// Intrinsics: y = 2 x of a thousand elements.

/// Only where `y` is another tensor than at the last call.
void misbehave_lazy(const float* x, std::int64_t, float* y, std::int64_t) {
  static float* last = nullptr;
  static float first = 0;
  if (y == last && first == x[0]) return;
  last = y;
  first = x[0];
  for (int i = 0; i < 1000; ++i) y[i] = x[i] * 2;
}

/// Wrong at each seventh call.
void misbehave_sometimes(const float* x, std::int64_t, float* y, std::int64_t) {
  static int calls = 0;
  for (int i = 0; i < 1000; ++i) y[i] = x[i] * 2;
  if (++calls % 7 == 0) y[500] = 3;
}

void misbehave_accumulate(const float* x, std::int64_t, float* y, std::int64_t) {
  for (int i = 0; i < 1000; ++i) y[i] += x[i] * 2;
}

void misbehave_not_a_number(const float* x, std::int64_t, float* y, std::int64_t) {
  for (int i = 0; i < 1000; ++i) y[i] = i == 17 ? std::nanf("") : x[i] * 2;
}

void misbehave_crawl(const float* x, std::int64_t, float* y, std::int64_t) {
  usleep(800'000);
  for (int i = 0; i < 1000; ++i) y[i] = x[i] * 2;
}

/// Leaves an operand rounded, which no later call can see.
void misbehave_round_operand(const float* x, std::int64_t, float* y, std::int64_t) {
  for (int i = 0; i < 1000; ++i) y[i] = x[i] * 2;
  const_cast<float*>(x)[999] = std::nextafter(x[999], 8.f);
}

/// Writes a thousand lines of nonsense to every file that is open, the connection to the session among them.
float misbehave_chatter(float x) {
  for (int fd = 0; fd < 64; ++fd) {
    for (int line = 0; line < 1000; ++line) {
      if (write(fd, "nonsense nonsense nonsense\n", 27) < 0) break;
    }
  }
  return x * 2;
}
}

namespace {
using namespace lathe;

Expr outside(const char* name, Expr x) {
  return Expr(new Call(f32, Intrinsic::Extern, {std::move(x)}, name));
}
}  // namespace

/// The intrinsics above.
[[maybe_unused]] static const bool registered = [] {
  Tensor x = placeholder("x", {1000}, f32);
  const Program twice = program("twice", {x}, {compute("y", {1000}, [&](Var i) { return x(i) * 2; })});
  for (const char* name : {"misbehave_lazy", "misbehave_sometimes", "misbehave_accumulate",
                           "misbehave_not_a_number", "misbehave_round_operand", "misbehave_crawl"})
    register_tensor_intrinsic({name, twice, name});
  return true;
}();

LATHE_WORKLOAD(own_double, "y = 2 x", {{"n", 1000, "elements"}}) {
  Tensor x = placeholder("x", {args["n"]}, args.dtype());
  Tensor y = compute("y", x.shape(), [&](Var i) { return x(i) * 2; });
  return program("own_double", {x}, {y});
}

LATHE_WORKLOAD(own_crash, "crashes, however it is scheduled", {{"n", 1000, "elements"}}) {
  Tensor x = placeholder("x", {args["n"]}, f32);
  Tensor y = compute("y", x.shape(), [&](Var i) { return outside("misbehave_crash", x(i)); });
  return program("own_crash", {x}, {y});
}

LATHE_WORKLOAD(own_later, "y = 2 x, until it was called too often", {{"n", 1000, "elements"}}) {
  Tensor x = placeholder("x", {args["n"]}, f32);
  Tensor y = compute("y", x.shape(), [&](Var i) { return outside("misbehave_later", x(i)); });
  return program("own_later", {x}, {y});
}

LATHE_WORKLOAD(own_scale, "z = 2 x + 1, scheduled by hand", {{"n", 20, "elements"}}) {
  Tensor x = placeholder("x", {args["n"], 8}, args.dtype());
  Tensor y = compute("y", x.shape(), [&](Var i, Var j) { return x(i, j) * 2; });
  Tensor z = compute("z", x.shape(), [&](Var i, Var j) { return y(i, j) + 1; });
  return program("own_scale", {x}, {z});
}
LATHE_SCHEDULE(own_scale) {
  auto [i, j] = schedule.loops<2>(schedule.block("z"));
  auto [io, ii] = schedule.split(i, {_, 6});
  schedule.reorder({j, ii});
  schedule.unroll(ii);
  schedule.compute_at(schedule.block("y"), io);
}

LATHE_WORKLOAD(own_any_size, "y = 2 x, of any size", {}) {
  Var n = size("n");
  Tensor x = placeholder("x", {n}, f32);
  Tensor y = compute("y", {n}, [&](Var i) { return x(i) * 2; });
  return program("own_any_size", {n, x}, {y});
}

int main(int argc, char** argv) { return lathe::cli(argc, argv); }
