// A matrix product scheduled by hand, step by step: from three plain loops to the structure of a BLAS kernel.
//
//     matmul_by_hand [N = 512]
//
// Each step prints its loop nest, checks the result, and measures the speed. The steps are in matmul_schedule.h.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lathe/compile.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/timer.h"
#include "matmul_schedule.h"

using namespace lathe;

namespace {

/// Operands, and the product that every step must reproduce to the last bit: whole numbers, so that the order of the
/// additions does not matter.
struct Data {
  explicit Data(std::int64_t n) : n(n), a(f32, {n, n}), b(f32, {n, n}), c(f32, {n, n}), want(f32, {n, n}) {
    runtime::fill_integers(a, 1);
    runtime::fill_integers(b, 2);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t j = 0; j < n; ++j)
          want.as<float>()[i * n + j] += a.as<float>()[i * n + k] * b.as<float>()[k * n + j];
      }
    }
  }
  std::int64_t n;
  runtime::Tensor a, b, c, want;
};

/// Shows, checks and measures the schedule as it stands.
void report(const char* step, const Schedule& s, Data& data, double& previous) {
  std::printf("==== %s\n\n%s\n", step, to_string(s.program()).c_str());
  const Kernel kernel = compile(s, Target::host());
  runtime::fill_poison(data.c);
  kernel({&data.a, &data.b, &data.c});
  if (!std::ranges::equal(data.c.as<float>(), data.want.as<float>())) {
    std::printf("wrong result\n");
    std::exit(1);
  }
  double best = 1e30;
  runtime::Timer all;
  for (int run = 0; run < 3 || (run < 30 && all.seconds() < 0.3); ++run) {
    runtime::Timer timer;
    kernel({&data.a, &data.b, &data.c});
    best = std::min(best, timer.seconds());
  }
  const double n = static_cast<double>(data.n), speed = 2 * n * n * n / best / 1e9;
  std::printf("%s: %.2f GF/s", step, speed);
  if (previous > 0) std::printf(", %.2f times the step before", speed / previous);
  std::printf("\n\n");
  previous = speed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 512;
  if (n < 1) {
    std::fprintf(stderr, "usage: matmul_by_hand [N >= 1]\n");
    return 2;
  }
  const examples::Matmul matmul(n);
  Schedule s(matmul.program());
  Data data(n);
  double speed = 0;
  report("naive", s, data, speed);
  examples::schedule_matmul(s, matmul, [&](const char* step) { report(step, s, data, speed); });
}
