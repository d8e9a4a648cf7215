#include "codegen/llvm/math.h"
#include "tests/behaviour/codegen/math.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// Zeros, ones, denormals, extremes, integers odd and even, and numbers near them.
std::vector<float> edge_values() {
  std::vector<float> values = {0.f,   1.f,         2.f,        3.f,        0.5f,         1.5f,
                               2.5f,  0.99999994f, 1.0000001f, 1e-45f,     1e-40f,       1e-30f,
                               1e30f, 3.4e38f,     16777215.f, 16777216.f, 4294967296.f, 7.f,
                               88.7f, 103.9f,      127.f,      128.f,      kInf,         1.17549435e-38f,
                               10.f,  33.f,        0.1f,       0.3f};
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) values.push_back(-values[i]);
  values.push_back(kNan);
  return values;
}

struct Pairs {
  Pairs() {
    const std::vector<float> edges = edge_values();
    std::vector<std::pair<float, float>> list;
    for (const float x : edges)
      for (const float y : edges) list.emplace_back(x, y);
    unsigned state = 3;
    auto next = [&] { return state = state * 1664525u + 1013904223u; };
    for (int i = 0; i < 60000; ++i)
      list.emplace_back(std::bit_cast<float>(next()), std::bit_cast<float>(next()));
    for (int i = 0; i < 60000; ++i)
      list.emplace_back(
          std::ldexp(1 + static_cast<float>(next() >> 8) * 0x1p-24f, static_cast<int>(next() >> 28) - 8),
          (static_cast<float>(next() >> 8) * 0x1p-24f - 0.5f) * 20);
    while (list.size() % 8) list.emplace_back(1.f, 1.f);
    a = Array<float>(list.size());
    b = Array<float>(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) a[i] = list[i].first, b[i] = list[i].second;
  }
  Array<float> a{0.f}, b{0.f};
};

}  // namespace

TEST_CASE("pow and atan2 agree with the mathematical library, special cases included") {
  Pairs pairs;
  const auto n = static_cast<std::int64_t>(pairs.a.size());
  for (const Intrinsic op : {Intrinsic::Pow, Intrinsic::Atan2})
    for (const Machine& machine : machines()) {
      Array<float> out(pairs.a.size());
      REQUIRE(run(compile(map_program2(op, f32, 8, n), machine), {}, pairs.a, pairs.b, out) == 0);
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double x = pairs.a[i], y = pairs.b[i];
        const double error = ulps(out[i], op == Intrinsic::Pow ? std::pow(x, y) : std::atan2(x, y));
        if (error > worst) worst = error, at = i;
      }
      CAPTURE(spelling(op), machine.cpu, pairs.a[at], pairs.b[at], out[at]);
      CHECK(worst <= 0.6);
    }
}

TEST_CASE("functions that are left to libm work in scalars and vectors") {
  constexpr std::int64_t kCount = 64;
  Array<double> in(kCount), out(kCount);
  for (std::size_t i = 0; i < kCount; ++i) in[i] = (static_cast<double>(i) - 32) / 33;
  for (const Function<double>& f : functions<double>()) {
    if (!codegen::cpu::is_scalar_only(f.op, f64)) continue;
    for (const int lanes : {1, 4}) {
      REQUIRE(run(compile(map_program(f.op, f64, lanes, kCount), machines()[0]), {}, in, out) == 0);
      for (std::size_t i = 0; i < kCount; ++i) CHECK(out[i] == f.reference(in[i]));
    }
  }
  Array<float> a(kCount), b(kCount), rest(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    a[i] = static_cast<float>(i) * 1.7f - 50, b[i] = static_cast<float>(i % 7) - 3;
  REQUIRE(run(compile(map_program2(Intrinsic::FloatMod, f32, 8, kCount), machines()[0]), {}, a, b, rest) ==
          0);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(ulps(rest[i], std::fmod(a[i], b[i])) == 0);
}
