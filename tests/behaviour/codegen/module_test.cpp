#include <fstream>
#include <thread>

#include "codegen/llvm/math.h"
#include "tests/behaviour/codegen/math.h"
#include "tests/behaviour/codegen/matmul.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

/// Different for every number, so that nothing can be shared.
Program numbered(int number) {
  Buffer in("in", f32, {64}), out("out", f32, {64});
  Var i("i");
  const Expr at = ramp(i * 8, make_index(1), 8);
  return Program(
      "numbered", {input(in), output(out)}, {},
      loop(i, make_index(8),
           store(out, call(Intrinsic::Exp, {load(in, {at})}) + broadcast(Expr(static_cast<float>(number)), 8),
                 at)));
}

void compile_and_release(int from, int to) {
  Array<float> x(64), y(64);
  for (int k = from; k < to; ++k) {
    run(compile(numbered(k), machines()[0]), {}, x, y);
    REQUIRE(y[0] == static_cast<float>(1 + k));
  }
}

}  // namespace

TEST_CASE("released kernels give their memory back") {
  compile_and_release(0, 20);
  const std::int64_t before = resident_bytes();
  compile_and_release(20, 220);
  CHECK(resident_bytes() - before < 8 << 20);
}

TEST_CASE("released kernels give their memory back: 10,000", "[.long]") {
  compile_and_release(0, 1);
  const std::int64_t before = resident_bytes();
  compile_and_release(1, 10001);
  const std::int64_t grown = resident_bytes() - before;
  std::printf("grown by %.1f MB\n", static_cast<double>(grown) / (1 << 20));
  CHECK(grown < 20 << 20);
}

TEST_CASE("a kernel outlives other kernels of its name") {
  Array<float> x(64), y(64);
  const LoadedCode first = compile(numbered(1), machines()[0]);
  { const LoadedCode second = compile(numbered(2), machines()[0]); }
  const LoadedCode third = compile(numbered(3), machines()[0]);
  run(first, {}, x, y);
  CHECK(y[0] == 2.f);
  run(third, {}, x, y);
  CHECK(y[0] == 4.f);
}

TEST_CASE("the same program gives the same bytes, in any thread") {
  const Machine machine{"x86_64-unknown-linux-gnu", "znver3", ""};
  const auto once = codegen::cpu::compile_lowered(matmul(12, 48, 16, ForKind::Parallel), machine);
  std::vector<std::vector<char>> again(4);
  std::vector<std::thread> threads;
  for (auto& bytes : again)
    threads.emplace_back(
        [&] { bytes = codegen::cpu::compile_lowered(matmul(12, 48, 16, ForKind::Parallel), machine); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& bytes : again) CHECK(bytes == once);
}

TEST_CASE("an object for a named CPU uses that CPU's instructions alone") {
  const auto text = [](const char* cpu) {
    return codegen::cpu::assembly(map_program(Intrinsic::Exp, f32, 8, 64),
                                  {"x86_64-unknown-linux-gnu", cpu, ""});
  };
  CHECK(text("x86-64").find("ymm") == std::string::npos);
  CHECK(text("x86-64-v3").find("vfmadd") != std::string::npos);
  CHECK(text("x86-64-v3").find("zmm") == std::string::npos);
  Buffer in("in", f32, {64}), out("out", f32, {64});
  const Expr at = ramp(make_index(0), make_index(1), 16);
  const Program wide("wide", {input(in), output(out)}, {}, store(out, load(in, {at}) * load(in, {at}), at));
  CHECK(codegen::cpu::assembly(wide, {"x86_64-unknown-linux-gnu", "skylake-avx512", ""}).find("zmm") !=
        std::string::npos);
}

TEST_CASE("code for another architecture") {
  const std::string text = codegen::cpu::assembly(map_program(Intrinsic::Tanh, f32, 4, 64),
                                                  {"aarch64-unknown-linux-gnu", "neoverse-v1", ""});
  CHECK(text.find("fmla") != std::string::npos);
  CHECK(text.find("\tbl\t") == std::string::npos);
}

TEST_CASE("an unknown CPU or triple is a target error") {
  CHECK_THROWS_AS(codegen::cpu::compile_lowered(numbered(1), {"x86_64-unknown-linux-gnu", "pentium-99", ""}),
                  TargetError);
  CHECK_THROWS_AS(codegen::cpu::compile_lowered(numbered(1), {"toaster-unknown-linux-gnu", "", ""}),
                  TargetError);
}

TEST_CASE("a kernel has no writable data") {
  const std::string ir = codegen::cpu::llvm_ir(matmul(12, 48, 16, ForKind::Parallel), machines()[0]) +
                         codegen::cpu::llvm_ir(map_program(Intrinsic::Sin, f32, 8, 64), machines()[0]);
  for (std::size_t at = ir.find("\n@"); at != std::string::npos; at = ir.find("\n@", at + 1)) {
    const std::string line = ir.substr(at + 1, ir.find('\n', at + 1) - at - 1);
    CAPTURE(line);
    CHECK(line.find("constant") != std::string::npos);
  }
}
