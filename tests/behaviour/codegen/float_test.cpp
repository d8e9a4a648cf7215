#include <cmath>

#include "ir/numbers.h"
#include "tests/behaviour/codegen/math.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

const std::vector<float>& edges() {
  static const std::vector<float> values = [] {
    std::vector<float> list;
    for (const float v : {0.f, 1e-45f, 1.17549435e-38f, 0.3f, 0.5f, 0.99999994f, 1.f, 1.5f, 2.5f, 3.f,
                          8388607.5f, 8388608.f, 8388609.f, 16777216.f, 1e30f, 3.4028235e38f, HUGE_VALF})
      for (const float sign : {1.f, -1.f}) list.push_back(sign * v);
    list.push_back(std::nanf(""));
    return list;
  }();
  return values;
}

/// All pairs of edge values, padded to whole vectors.
struct Pairs {
  Pairs() : a(((edges().size() * edges().size()) + 7) / 8 * 8, 1.f), b(a.size(), 1.f) {
    std::size_t k = 0;
    for (const float x : edges())
      for (const float y : edges()) a[k] = x, b[k++] = y;
  }
  Array<float> a, b;
};

Array<float> apply(const std::function<Expr(Expr, Expr)>& f, int lanes, const Machine& machine,
                   const Options& options = {}) {
  Pairs p;
  const auto n = static_cast<std::int64_t>(p.a.size());
  Buffer a("a", f32, {n}), b("b", f32, {n}), out("out", f32, {n});
  Var i("i");
  const Expr at = lanes == 1 ? Expr(i) : ramp(i * lanes, make_index(1), lanes);
  const Program program("floats", {input(a), input(b), output(out)}, {},
                        loop(i, make_index(n / lanes), store(out, f(load(a, {at}), load(b, {at})), at)));
  Array<float> result(p.a.size());
  REQUIRE(run(compile(program, machine, options), {}, p.a, p.b, result) == 0);
  return result;
}

void check(const char* name, const std::function<Expr(Expr, Expr)>& f,
           const std::function<float(float, float)>& want) {
  const Pairs p;
  for (const Machine& machine : machines())
    for (const int lanes : {1, 8}) {
      const Array<float> got = apply(f, lanes, machine);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const float w = want(p.a[i], p.b[i]);
        if (std::isnan(w) ? std::isnan(got[i])
                          : std::bit_cast<std::uint32_t>(w) == std::bit_cast<std::uint32_t>(got[i]))
          continue;
        CAPTURE(name, machine.cpu, lanes, p.a[i], p.b[i], got[i], w);
        CHECK(false);
      }
    }
}

float reference(BinaryOp op, float x, float y) { return static_cast<float>(float_op(f32, op, x, y)); }

}  // namespace

TEST_CASE("min and max propagate NaN and order zeros") {
  for (const BinaryOp op : {BinaryOp::Min, BinaryOp::Max}) {
    check(
        spelling(op), [op](Expr x, Expr y) { return binary(op, x, y); },
        [op](float x, float y) { return reference(op, x, y); });
    for (const float c : {0.f, -0.f, 1.5f, -3.f, HUGE_VALF, std::nanf("")}) {
      check(
          "constant right", [op, c](Expr x, Expr) { return binary(op, x, make_const(x.dtype(), c)); },
          [op, c](float x, float) { return reference(op, x, c); });
      check(
          "constant left", [op, c](Expr x, Expr) { return binary(op, make_const(x.dtype(), c), x); },
          [op, c](float x, float) { return reference(op, c, x); });
    }
  }
}

TEST_CASE("with nnan, min and max of numbers are what they were") {
  const Pairs p;
  Options options;
  options.nnan = true;
  for (const BinaryOp op : {BinaryOp::Min, BinaryOp::Max}) {
    const Array<float> got =
        apply([op](Expr x, Expr y) { return binary(op, x, y); }, 8, machines()[0], options);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!std::isnan(p.a[i]) && !std::isnan(p.b[i])) CHECK(got[i] == reference(op, p.a[i], p.b[i]));
  }
}

TEST_CASE("max with zero is one comparison, and one instruction with nnan") {
  Buffer in("in", f32, {64}), out("out", f32, {64});
  Var i("i");
  const Expr at = ramp(i * 8, make_index(1), 8);
  const Program relu("relu", {input(in), output(out)}, {},
                     loop(i, make_index(8), store(out, max(load(in, {at}), Expr(0.f)), at)));
  const Machine zen{"x86_64-unknown-linux-gnu", "znver3", ""};
  auto count = [](const std::string& text, const std::string& word) {
    int n = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
    return n;
  };
  CHECK(count(codegen::cpu::assembly(relu, zen), "vcmp") == 1);
  Options options;
  options.nnan = true;
  const std::string fast = codegen::cpu::assembly(relu, zen, options);
  CHECK(count(fast, "vmaxps") == 1);
  CHECK(count(fast, "vcmp") == 0);
}

TEST_CASE("comparisons of floats are IEEE: false for NaN, but for !=") {
  for (const BinaryOp op :
       {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge})
    check(
        spelling(op),
        [op](Expr x, Expr y) {
          return select(binary(op, x, y), make_const(x.dtype(), 1), make_const(x.dtype(), 0));
        },
        [op](float x, float y) { return reference(op, x, y); });
}

TEST_CASE("rounding to integral values keeps signs of zero, NaN and large numbers") {
  auto unary = [](Intrinsic op) { return [op](Expr x, Expr) { return call(op, {x}); }; };
  check("floor", unary(Intrinsic::Floor), [](float x, float) { return std::floor(x); });
  check("ceil", unary(Intrinsic::Ceil), [](float x, float) { return std::ceil(x); });
  check("trunc", unary(Intrinsic::Trunc), [](float x, float) { return std::trunc(x); });
  check("round", unary(Intrinsic::Round), [](float x, float) { return std::nearbyint(x); });
  check("sqrt", unary(Intrinsic::Sqrt), [](float x, float) { return std::sqrt(x); });
  check("rsqrt", unary(Intrinsic::Rsqrt), [](float x, float) { return 1 / std::sqrt(x); });
  check("abs", unary(Intrinsic::Abs), [](float x, float) { return std::fabs(x); });
  check(
      "copysign",
      [](Expr x, Expr y) {
        return call(Intrinsic::CopySign, {x, y});
      },
      [](float x, float y) { return std::copysign(x, y); });
}

TEST_CASE("tests of floats") {
  auto test = [](Intrinsic op) {
    return [op](Expr x, Expr) {
      return select(call(op, {x}), make_const(x.dtype(), 1), make_const(x.dtype(), 0));
    };
  };
  check("isnan", test(Intrinsic::IsNan), [](float x, float) { return std::isnan(x) ? 1.f : 0.f; });
  check("isinf", test(Intrinsic::IsInf), [](float x, float) { return std::isinf(x) ? 1.f : 0.f; });
  check("isfinite", test(Intrinsic::IsFinite), [](float x, float) { return std::isfinite(x) ? 1.f : 0.f; });
}

TEST_CASE("fma rounds once, also where the processor has none") {
  for (const float c : {0.f, 1.f, -1.f, 1e-30f, -8388608.f, 3e38f, 0x1p-149f, -0x1p-60f})
    check(
        "fma", [c](Expr x, Expr y) { return fma(x, y, make_const(x.dtype(), c)); },
        [c](float x, float y) { return std::fma(x, y, c); });
  // Products that need all their bits: a sum rounded twice would differ in one of a few thousand.
  constexpr std::int64_t kCount = 80000;
  Array<float> a(kCount), b(kCount), c(kCount), out(kCount);
  std::uint64_t state = 9;
  auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (std::size_t i = 0; i < kCount; ++i) {
    a[i] = 1 + static_cast<float>(next() >> 41) * 0x1p-23f;
    b[i] = 1 + static_cast<float>(next() >> 41) * 0x1p-23f;
    c[i] = std::ldexp(i % 2 ? 1.f : -1.f, static_cast<int>(next() >> 58) - 32) *
           (1 + static_cast<float>(next() >> 41) * 0x1p-23f);
  }
  Buffer x("x", f32, {kCount}), y("y", f32, {kCount}), z("z", f32, {kCount}), r("r", f32, {kCount});
  Var i("i");
  const Expr at = ramp(i * 8, make_index(1), 8);
  const Program program(
      "fma", {input(x), input(y), input(z), output(r)}, {},
      loop(i, make_index(kCount / 8), store(r, fma(load(x, {at}), load(y, {at}), load(z, {at})), at)));
  for (const Machine& machine : machines()) {
    REQUIRE(run(compile(program, machine), {}, a, b, c, out) == 0);
    for (std::size_t k = 0; k < kCount; ++k)
      if (out[k] != std::fma(a[k], b[k], c[k])) CHECK(out[k] == std::fma(a[k], b[k], c[k]));
  }
}

TEST_CASE("no float operation is reordered or contracted unless asked for") {
  Buffer in("in", f32, {3}), out("out", f32, {2});
  const auto at = [&](int i) { return load(in, {make_index(i)}); };
  const Program program("exact", {input(in), output(out)}, {},
                        make_seq({store(out, (at(0) + at(1)) + at(2), make_index(0)),
                                  store(out, at(0) * at(1) + at(2), make_index(1))}));
  Array<float> x{1.f + 0x1p-23f, 1.f - 0x1p-23f, -1.f}, y(2);
  REQUIRE(run(compile(program, machines()[0]), {}, x, y) == 0);
  volatile float product = x[0] * x[1];
  CHECK(y[1] == product + x[2]);
  CHECK(codegen::cpu::llvm_ir(program, machines()[0], {}, false).find(" fast ") == std::string::npos);
  Options options;
  options.fast_math = true;
  CHECK(codegen::cpu::llvm_ir(program, machines()[0], options, false).find("reassoc") != std::string::npos);
}
