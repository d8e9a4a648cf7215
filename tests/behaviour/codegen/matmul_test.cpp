#include "tests/behaviour/codegen/matmul.h"

#include <chrono>
#include <cstdio>

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

struct Matrices {
  Matrices(std::size_t m, std::size_t n, std::size_t k) : a(m * k), b(k * n), c(m * n, NAN), want(m * n) {
    unsigned state = 1;
    auto next = [&] { return static_cast<float>((state = state * 1664525u + 1013904223u) >> 28) - 7.5f; };
    for (auto& x : {&a, &b})
      for (std::size_t i = 0; i < x->size(); ++i) (*x)[i] = next();
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t q = 0; q < k; ++q) sum += a[i * k + q] * b[q * n + j];
        want[i * n + j] = static_cast<float>(sum);
      }
  }
  Array<float> a, b, c, want;
};

}  // namespace

TEST_CASE("a register-tiled matrix product is exact on small numbers") {
  for (const Machine& machine : machines())
    for (ForKind outer : {ForKind::Serial, ForKind::Parallel}) {
      CAPTURE(machine.cpu);
      Matrices x(12, 48, 37);
      REQUIRE(run(compile(matmul(12, 48, 37, outer), machine), {}, x.a, x.b, x.c) == 0);
      for (std::size_t i = 0; i < x.c.size(); ++i) REQUIRE(x.c[i] == x.want[i]);
    }
}

TEST_CASE("accumulators of a register-tiled product stay in registers") {
  const std::string text = codegen::cpu::llvm_ir(matmul(12, 48, 64), {"x86_64-pc-linux-gnu", "znver3", ""});
  CHECK(text.find("alloca [96 x float]") == std::string::npos);
}

TEST_CASE("speed of a matrix product", "[.bench]") {
  using clock = std::chrono::steady_clock;
  const std::int64_t m = 510, n = 512, k = 512;
  const Program program = matmul(m, n, k);
  const auto start = clock::now();
  const auto object = codegen::cpu::compile_lowered(program, machines()[0]);
  const auto middle = clock::now();
  const LoadedCode code = codegen::cpu::load(object, codegen::cpu::kernel_symbol(program));
  const auto loaded = clock::now();
  const auto again = clock::now();
  codegen::cpu::compile_lowered(program, machines()[0]);
  const auto done = clock::now();
  auto ms = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
  std::printf("compile %.1f ms (first), %.1f ms, load %.2f ms, %zu bytes\n", ms(middle - start),
              ms(done - again), ms(loaded - middle), object.size());
  Matrices x(m, n, k);
  double best = 1e9;
  for (int i = 0; i < 200; ++i) {
    const auto before = clock::now();
    run(code, {}, x.a, x.b, x.c);
    best = std::min(best, ms(clock::now() - before));
  }
  std::printf("%.3f ms, %.1f GF/s\n", best, 2e-6 * static_cast<double>(m * n * k) / best);
}
