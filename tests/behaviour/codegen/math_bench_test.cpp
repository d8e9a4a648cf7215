#include <chrono>
#include <cstdio>

#include "codegen/llvm/math.h"
#include "tests/behaviour/codegen/math.h"

using namespace lathe;
using namespace lathe::codegen_test;

TEST_CASE("speed of mathematical functions", "[.bench]") {
  using clock = std::chrono::steady_clock;
  constexpr std::int64_t kCount = 4096;
  Array<float> in(kCount), out(kCount);
  for (std::size_t i = 0; i < kCount; ++i) in[i] = (static_cast<float>(i * 2654435761u % 4096) - 2000) / 500;
  Array<double> in64(kCount), out64(kCount);
  for (std::size_t i = 0; i < kCount; ++i) in64[i] = in[i];
  for (const Function<double>& f : functions<double>()) {
    const LoadedCode code = compile(map_program(f.op, f32, 8, kCount), machines()[0]);
    const LoadedCode code64 = compile(map_program(f.op, f64, 4, kCount), machines()[0]);
    double best = 1e9, best64 = 1e9;
    for (int i = 0; i < 300; ++i) {
      const auto start = clock::now();
      run(code, {}, in, out);
      const auto middle = clock::now();
      run(code64, {}, in64, out64);
      const auto end = clock::now();
      best = std::min(best, std::chrono::duration<double, std::nano>(middle - start).count() / kCount);
      best64 = std::min(best64, std::chrono::duration<double, std::nano>(end - middle).count() / kCount);
    }
    std::printf("%-8s f32 %.3f ns   f64 %.3f ns%s\n", spelling(f.op), best, best64,
                codegen::cpu::is_scalar_only(f.op, f64) ? " (libm)" : "");
  }
}
