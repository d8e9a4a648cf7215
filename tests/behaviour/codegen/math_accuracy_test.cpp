#include <cstdio>

#include "codegen/llvm/math.h"
#include "tests/behaviour/codegen/math.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

constexpr std::int64_t kBlock = 4096;

struct Worst {
  double error = 0, at = 0, got = 0, want = 0;
};

/// The worst error over the f32 with bit patterns first, first + step, …
Worst worst_f32(const Function<double>& f, const LoadedCode& code, std::uint32_t first, std::uint32_t step) {
  Array<float> in(kBlock), out(kBlock);
  Worst worst;
  std::uint64_t bits = first;
  while (bits <= 0xffffffff) {
    for (std::size_t i = 0; i < kBlock; ++i, bits += step)
      in[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    run(code, {}, in, out);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const double want = f.reference(in[i]), error = ulps(out[i], want);
      if (error > worst.error) worst = {error, in[i], out[i], want};
    }
  }
  return worst;
}

void check_f32(std::uint32_t step_of_common, std::uint32_t step_of_others, bool print) {
  for (const Function<double>& f : functions<double>()) {
    const bool common = f.op == Intrinsic::Exp || f.op == Intrinsic::Tanh || f.op == Intrinsic::Erf ||
                        f.op == Intrinsic::Sigmoid;
    for (const Machine& machine : machines()) {
      const LoadedCode code = compile(map_program(f.op, f32, 8, kBlock), machine);
      const Worst worst = worst_f32(f, code, 0, common ? step_of_common : step_of_others);
      if (print)
        std::printf("%-8s %-8s %.3f ulp at %.9g (got %.9g, want %.9g)\n", spelling(f.op), machine.cpu.c_str(),
                    worst.error, worst.at, worst.got, worst.want);
      CAPTURE(spelling(f.op), machine.cpu, worst.at, worst.got, worst.want);
      CHECK(worst.error <= f.ulp_f32);
    }
  }
}

}  // namespace

TEST_CASE("f32 functions keep their error bound over the whole range") { check_f32(1031, 4099, false); }
TEST_CASE("f32 functions: every 257th float", "[.long]") { check_f32(257, 257, true); }
TEST_CASE("f32 functions: every float", "[.exhaustive]") { check_f32(1, 1, true); }

TEST_CASE("f64 functions keep their error bound over the whole range") {
  // Exponents uniformly, and dense where the functions bend.
  std::vector<double> inputs;
  std::uint64_t state = 7;
  auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (int i = 0; i < 60000; ++i) inputs.push_back(std::bit_cast<double>(next() ^ next() >> 32));
  for (int i = 0; i < 120000; ++i)
    inputs.push_back((static_cast<double>(next() >> 11) * 0x1p-53 - 0.5) * (i % 3 ? 12 : 1500));
  for (int i = 0; i < 60000; ++i)
    inputs.push_back(1 + (static_cast<double>(next() >> 11) * 0x1p-53 - 0.5) * std::ldexp(1.0, -(i % 50)));
  inputs.resize(inputs.size() / kBlock * kBlock);
  for (const Function<long double>& f : functions<long double>()) {
    if (f.ulp_f64 == 0) continue;
    for (const Machine& machine : machines()) {
      const LoadedCode code = compile(map_program(f.op, f64, 4, kBlock), machine);
      Array<double> in(kBlock), out(kBlock);
      Worst worst;
      for (std::size_t base = 0; base < inputs.size(); base += kBlock) {
        for (std::size_t i = 0; i < kBlock; ++i) in[i] = inputs[base + i];
        run(code, {}, in, out);
        for (std::size_t i = 0; i < kBlock; ++i) {
          const long double want = f.reference(in[i]);
          const double error = ulps(out[i], want);
          if (error > worst.error) worst = {error, in[i], out[i], static_cast<double>(want)};
        }
      }
      CAPTURE(spelling(f.op), machine.cpu, worst.at, worst.got, worst.want);
      CHECK(worst.error <= f.ulp_f64);
    }
  }
}

namespace {

template <class T>
void check_same_bits(DataType type) {
  constexpr std::int64_t kCount = 480;
  Array<T> in(kCount), scalar(kCount), vector(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const T x =
        static_cast<T>(std::ldexp(1.0 + static_cast<double>(i % 37) / 37, static_cast<int>(i % 60) - 40));
    in[i] = i % 2 ? x : -x;
  }
  in[0] = std::numeric_limits<T>::infinity();
  in[1] = std::numeric_limits<T>::quiet_NaN();
  in[2] = -0.0;
  in[3] = std::numeric_limits<T>::denorm_min();
  for (const Function<double>& f : functions<double>())
    for (const Machine& machine : machines()) {
      if (codegen::cpu::is_scalar_only(f.op, type)) continue;
      run(compile(map_program(f.op, type, 1, kCount), machine), {}, in, scalar);
      for (const int lanes : {2, 4, 8, 16}) {
        run(compile(map_program(f.op, type, lanes, kCount), machine), {}, in, vector);
        CAPTURE(spelling(f.op), lanes, machine.cpu);
        CHECK(std::memcmp(scalar.data(), vector.data(), kCount * sizeof(T)) == 0);
      }
    }
}

}  // namespace

TEST_CASE("a function has the same bits in scalar code and in vectors of any width") {
  check_same_bits<float>(f32);
  check_same_bits<double>(f64);
}

TEST_CASE("vector loops call no library function") {
  for (const DataType type : {f32, f64})
    for (const Function<double>& f : functions<double>())
      for (const Machine& machine : machines()) {
        if (codegen::cpu::is_scalar_only(f.op, type)) continue;
        // Without FMA, fma of f64 is a call; these functions do not depend on it.
        const std::string text =
            codegen::cpu::assembly(map_program(f.op, type, 256 / type.bits, 64), machine);
        CAPTURE(spelling(f.op), type.str(), machine.cpu);
        for (std::size_t at = text.find("\tcall"); at != std::string::npos; at = text.find("\tcall", at + 1))
          CHECK(text.substr(at, text.find('\n', at) - at).find("lathe.reduce") != std::string::npos);
      }
}
