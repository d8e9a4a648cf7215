// Arithmetic of every type, against the arithmetic of ir/numbers.h and of the C library.

#include "ir/numbers.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "behaviour/interp/programs.h"
#include "interp/half.h"

namespace lathe::interp {
namespace {

const std::vector<DataType> kFloats{f64, f32, f16, bf16};
const std::vector<DataType> kIntegers{i8, i16, i32, i64, u8, u16, u32, u64};

constexpr int kCount = 400;

Outcome apply(DataType t, DataType result, const std::function<Expr(Expr, Expr)>& f, std::uint64_t seed = 5) {
  const Program p = pointwise(t, result, kCount, f);
  return run(p, {Array::edges(t, {kCount}, seed), Array::edges(t, {kCount}, seed + 1)});
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST_CASE("binary operators on integers agree with the arithmetic of the IR", "[interp]") {
  const std::vector<BinaryOp> ops{BinaryOp::Add, BinaryOp::Sub,      BinaryOp::Mul,      BinaryOp::Div,
                                  BinaryOp::Mod, BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::Min,
                                  BinaryOp::Max, BinaryOp::Eq,       BinaryOp::Ne,       BinaryOp::Lt,
                                  BinaryOp::Le,  BinaryOp::Gt,       BinaryOp::Ge};
  for (DataType t : kIntegers) {
    for (BinaryOp op : ops) {
      CAPTURE(t.str(), spelling(op));
      const Outcome o =
          apply(t, is_comparison(op) ? boolean : t, [&](Expr a, Expr b) { return binary(op, a, b); });
      REQUIRE(o.report.text() == "");
      for (int i = 0; i < kCount; ++i) {
        const std::int64_t x = o["a"].get_int(i), y = o["b"].get_int(i);
        CAPTURE(x, y);
        REQUIRE(o["c"].get_int(i) == integer_op(t, op, x, y));
      }
    }
  }
}

TEST_CASE("the edges of integer division are those that the IR defines", "[interp]") {
  const Program p = pointwise(i32, i32, 4, [](Expr a, Expr b) { return truncdiv(a, b); });
  const std::int64_t lowest = INT32_MIN;
  const double low = static_cast<double>(lowest);
  const Outcome o = run(p, {Array(i32, {4}, {7, low, -7, low}), Array(i32, {4}, {0, -1, 2, 0})});
  REQUIRE(o["c"].get_int(0) == 0);
  REQUIRE(o["c"].get_int(1) == lowest);
  REQUIRE(o["c"].get_int(2) == -3);
  REQUIRE(o["c"].get_int(3) == 0);
}

TEST_CASE("binary operators on floats agree with the arithmetic of the IR", "[interp]") {
  const std::vector<BinaryOp> ops{BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div,
                                  BinaryOp::Min, BinaryOp::Max, BinaryOp::Eq,  BinaryOp::Ne,
                                  BinaryOp::Lt,  BinaryOp::Le,  BinaryOp::Gt,  BinaryOp::Ge};
  for (DataType t : kFloats) {
    for (BinaryOp op : ops) {
      CAPTURE(t.str(), spelling(op));
      const Outcome o =
          apply(t, is_comparison(op) ? boolean : t, [&](Expr a, Expr b) { return binary(op, a, b); });
      for (int i = 0; i < kCount; ++i) {
        const double x = o["a"].get(i), y = o["b"].get(i);
        CAPTURE(x, y);
        REQUIRE(same(o["c"].get(i), float_op(t, op, x, y)));
      }
    }
  }
}

TEST_CASE("16-bit floats are converted without error and rounded to nearest even", "[interp]") {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    const float f = f16_to_float(h), b = bf16_to_float(h);
    if (!std::isnan(f))
      REQUIRE(float_to_f16(f) == h);
    else
      REQUIRE(std::isnan(f16_to_float(float_to_f16(f))));
    if (!std::isnan(b))
      REQUIRE(float_to_bf16(b) == h);
    else
      REQUIRE(std::isnan(bf16_to_float(float_to_bf16(b))));
    // Halfway to the next value, and a little to both sides of it.
    if (std::isnan(f) || std::isinf(f) || (h & 0x7fff) == 0x7bff) continue;
    const double half = (static_cast<double>(f) + f16_to_float(h + 1)) / 2;
    for (double v : {half, std::nextafter(half, 1e9), std::nextafter(half, -1e9)}) {
      const double rounded = f16_to_float(float_to_f16(narrow_to_odd(v)));
      if (!same(rounded, round_to(f16, v))) FAIL(h << " " << v << " gave " << rounded);
    }
  }
}

TEST_CASE("fma rounds once in every float type", "[interp]") {
  for (DataType t : kFloats) {
    CAPTURE(t.str());
    Buffer a("a", t, {kCount}), b("b", t, {kCount}), c("c", t, {kCount}), d("d", t, {kCount});
    Var i("i");
    const Program p("fma", {in(a), in(b), in(c), out(d)}, {},
                    loop(i, kCount, store(d, {i}, fma(load(a, {i}), load(b, {i}), load(c, {i})))));
    // c close to -a*b, so that most of the product cancels.
    Array x = Array::random(t, {kCount}, 1), y = Array::random(t, {kCount}, 2), z(t, {kCount});
    for (int k = 0; k < kCount; ++k) z.set(k, -x.get(k) * y.get(k) * (k % 3 ? 1 : 0.5));
    const Outcome o = run(p, {x, y, z});
    int differ_from_two_roundings = 0;
    for (int k = 0; k < kCount; ++k) {
      const double u = x.get(k), v = y.get(k), w = z.get(k);
      double exact;
      if (t == f64)
        exact = std::fma(u, v, w);
      else if (t == f32)
        exact = static_cast<float>(static_cast<long double>(u) * v + static_cast<long double>(w));
      else
        exact = round_to(t, u * v + w);  // both exact in double for values of this size
      CAPTURE(u, v, w);
      REQUIRE(o["d"].get(k) == exact);
      differ_from_two_roundings += exact != float_op(t, BinaryOp::Add, float_op(t, BinaryOp::Mul, u, v), w);
    }
    REQUIRE(differ_from_two_roundings > kCount / 10);
  }
}

TEST_CASE("fma of 16 bits is not rounded by way of double", "[interp]") {
  // The sum lies half-way between two f16 values but for an addend far below double's last bit.
  const double a = 1 + std::ldexp(1, -10), b = std::ldexp(1, -11) * 1.0, tiny = std::ldexp(1, -24);
  const double sum = add_to_odd(a, b);
  REQUIRE(round_to(f16, sum) == round_to(f16, a + b));
  const double big = std::ldexp(1.0, 15) + 16;  // f16 values there are 32 apart: a tie
  REQUIRE(round_to(f16, add_to_odd(big, std::ldexp(tiny, -24))) == std::ldexp(1.0, 15) + 32);
  REQUIRE(round_to(f16, add_to_odd(big, -std::ldexp(tiny, -24))) == std::ldexp(1.0, 15));
}

TEST_CASE("casts between all types agree with the arithmetic of the IR", "[interp]") {
  std::vector<DataType> all = kFloats;
  all.insert(all.end(), kIntegers.begin(), kIntegers.end());
  all.push_back(boolean);
  for (DataType from : all) {
    for (DataType to : all) {
      CAPTURE(from.str(), to.str());
      const Outcome o = apply(from, to, [&](Expr a, Expr) { return cast(to, a); });
      for (int i = 0; i < kCount; ++i) {
        CAPTURE(o["a"].get(i));
        if (from.is_float() && to.is_float()) {
          REQUIRE(same(o["c"].get(i), round_to(to, o["a"].get(i))));
        } else if (from.is_float()) {
          REQUIRE(o["c"].get_int(i) == float_to_integer(to, o["a"].get(i)));
        } else if (!to.is_float()) {
          REQUIRE(o["c"].get_int(i) == wrap_integer(to, o["a"].get_int(i)));
        } else {
          const std::int64_t v = o["a"].get_int(i);
          const long double exact = from.is_unsigned()
                                        ? static_cast<long double>(static_cast<std::uint64_t>(v))
                                        : static_cast<long double>(v);
          const double expected = to == f64   ? static_cast<double>(exact)
                                  : to == f32 ? static_cast<float>(exact)
                                              : round_to(to, static_cast<double>(exact));
          REQUIRE(o["c"].get(i) == expected);
        }
      }
    }
  }
}

TEST_CASE("a 64-bit integer is rounded to bf16 once", "[interp]") {
  // 2^62 + 2^54 + 1: to double it rounds to a tie of bf16, but it lies above.
  const std::int64_t v = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  Buffer a("a", i64, {1}), c("c", bf16, {1});
  const Program p("cast", {in(a), out(c)}, {}, store(c, {0}, cast(bf16, load(a, {0}))));
  Array x(i64, {1});
  x.set_int(0, v);
  REQUIRE(run(p, {x})["c"].get(0) == std::ldexp(1.0, 62) + std::ldexp(1.0, 55));
}

TEST_CASE("functions of floats are those of the C library, rounded", "[interp]") {
  struct Function {
    Intrinsic op;
    double (*f)(double);
  };
  const std::vector<Function> functions{
      {Intrinsic::Exp, std::exp},
      {Intrinsic::Exp2, std::exp2},
      {Intrinsic::Expm1, std::expm1},
      {Intrinsic::Log, std::log},
      {Intrinsic::Log2, std::log2},
      {Intrinsic::Log10, std::log10},
      {Intrinsic::Log1p, std::log1p},
      {Intrinsic::Sin, std::sin},
      {Intrinsic::Cos, std::cos},
      {Intrinsic::Tan, std::tan},
      {Intrinsic::Asin, std::asin},
      {Intrinsic::Acos, std::acos},
      {Intrinsic::Atan, std::atan},
      {Intrinsic::Sinh, std::sinh},
      {Intrinsic::Cosh, std::cosh},
      {Intrinsic::Tanh, std::tanh},
      {Intrinsic::Erf, std::erf},
      {Intrinsic::Sqrt, std::sqrt},
      {Intrinsic::Floor, std::floor},
      {Intrinsic::Ceil, std::ceil},
      {Intrinsic::Trunc, std::trunc},
      {Intrinsic::Abs, std::fabs},
      {Intrinsic::Round, std::rint},
      {Intrinsic::Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Intrinsic::Rsqrt, [](double x) { return 1 / std::sqrt(x); }},
  };
  for (DataType t : kFloats) {
    for (const Function& function : functions) {
      CAPTURE(t.str(), spelling(function.op));
      const Outcome o = apply(t, t, [&](Expr a, Expr) { return call(function.op, {a}); });
      for (int i = 0; i < kCount; ++i) REQUIRE(same(o["c"].get(i), round_to(t, function.f(o["a"].get(i)))));
    }
  }
}

TEST_CASE("two-argument functions and predicates of floats", "[interp]") {
  for (DataType t : kFloats) {
    CAPTURE(t.str());
    const std::vector<std::pair<Intrinsic, double (*)(double, double)>> functions{
        {Intrinsic::Atan2, std::atan2},
        {Intrinsic::Pow, std::pow},
        {Intrinsic::CopySign, std::copysign},
        {Intrinsic::FloatMod, std::fmod}};
    for (auto [op, f] : functions) {
      const Outcome o = apply(t, t, [&, op = op](Expr a, Expr b) { return call(op, {a, b}); });
      for (int i = 0; i < kCount; ++i)
        REQUIRE(same(o["c"].get(i), round_to(t, f(o["a"].get(i), o["b"].get(i)))));
    }
    const Outcome nan = apply(t, boolean, [](Expr a, Expr) { return call(Intrinsic::IsNan, {a}); });
    const Outcome inf = apply(t, boolean, [](Expr a, Expr) { return call(Intrinsic::IsInf, {a}); });
    const Outcome finite = apply(t, boolean, [](Expr a, Expr) { return call(Intrinsic::IsFinite, {a}); });
    for (int i = 0; i < kCount; ++i) {
      const double v = nan["a"].get(i);
      REQUIRE(nan["c"].get(i) == std::isnan(v));
      REQUIRE(inf["c"].get(i) == std::isinf(v));
      REQUIRE(finite["c"].get(i) == std::isfinite(v));
    }
  }
}

/// The value with only the low `bits` bits, as the unsigned number that they are.
std::uint64_t low(std::int64_t v, int bits) {
  return bits == 64 ? static_cast<std::uint64_t>(v)
                    : static_cast<std::uint64_t>(v) & ((std::uint64_t{1} << bits) - 1);
}

TEST_CASE("functions of integers, shifts by too much included", "[interp]") {
  for (DataType t : kIntegers) {
    CAPTURE(t.str());
    const int bits = t.bits;
    auto each = [&](Intrinsic op, const std::function<std::int64_t(std::int64_t, std::int64_t)>& f) {
      CAPTURE(spelling(op));
      const bool two = arity(op) == 2;
      const Outcome o = apply(t, t, [&](Expr a, Expr b) { return two ? call(op, {a, b}) : call(op, {a}); });
      for (int i = 0; i < kCount; ++i) {
        const std::int64_t x = o["a"].get_int(i), y = o["b"].get_int(i);
        CAPTURE(x, y);
        REQUIRE(o["c"].get_int(i) == wrap_integer(t, f(x, y)));
      }
    };
    each(Intrinsic::BitAnd, [](auto x, auto y) { return x & y; });
    each(Intrinsic::BitOr, [](auto x, auto y) { return x | y; });
    each(Intrinsic::BitXor, [](auto x, auto y) { return x ^ y; });
    each(Intrinsic::BitNot, [](auto x, auto) { return ~x; });
    each(Intrinsic::Popcount, [&](auto x, auto) { return std::popcount(low(x, bits)); });
    each(Intrinsic::CountLeadingZeros,
         [&](auto x, auto) { return std::countl_zero(low(x, bits)) - (64 - bits); });
    each(Intrinsic::Abs, [&](auto x, auto) {
      return t.is_unsigned() || x >= 0 ? x : static_cast<std::int64_t>(-static_cast<std::uint64_t>(x));
    });
    each(Intrinsic::ShiftLeft, [&](auto x, auto y) {
      return low(y, 64) >= static_cast<std::uint64_t>(bits) ? 0 : static_cast<std::int64_t>(low(x, 64) << y);
    });
    each(Intrinsic::ShiftRight, [&](auto x, auto y) -> std::int64_t {
      const bool out = low(y, 64) >= static_cast<std::uint64_t>(bits);
      if (t.is_unsigned()) return out ? 0 : static_cast<std::int64_t>(low(x, 64) >> y);
      return out ? (x < 0 ? -1 : 0) : x >> y;
    });
  }
}

TEST_CASE("the bitwise complement of a Bool is its negation", "[interp]") {
  const Outcome o = apply(boolean, boolean, [](Expr a, Expr) { return call(Intrinsic::BitNot, {a}); });
  for (int i = 0; i < kCount; ++i) REQUIRE(o["c"].get_int(i) == !o["a"].get_int(i));
}

TEST_CASE("reinterpretation keeps the bits", "[interp]") {
  const Outcome o = apply(f32, i32, [](Expr a, Expr) { return reinterpret(i32, a); });
  REQUIRE(std::memcmp(o["a"].data(), o["c"].data(), o["a"].bytes()) == 0);
  const Outcome back = apply(u16, f16, [](Expr a, Expr) { return reinterpret(f16, a); });
  for (int i = 0; i < kCount; ++i) {
    REQUIRE(same(back["c"].get(i), f16_to_float(static_cast<std::uint16_t>(back["a"].get_int(i)))));
  }
}

TEST_CASE("arrays hold what is set, rounded or wrapped to their type", "[interp]") {
  Array a(i8, {2, 3});
  a.set_int({1, 2}, 200);
  REQUIRE(a.get_int({1, 2}) == -56);
  REQUIRE(a.get_int(5) == -56);
  Array b(f16, {1});
  b.set(0, 1.0 / 3);
  REQUIRE(b.get(0) == round_to(f16, 1.0 / 3));
  REQUIRE(std::isnan(Array::poison(bf16, {1}).get(0)));
  REQUIRE(Array::iota(u8, {300}).get_int(299) == 43);
  REQUIRE_THROWS_AS(a.get({2, 0}), std::out_of_range);
  REQUIRE_THROWS_AS(a.get(std::vector<std::int64_t>{0}), std::out_of_range);
}

TEST_CASE("random contents are signed, finite and the same for the same seed", "[interp]") {
  for (DataType t : {f32, f16, i8, i32}) {
    CAPTURE(t.str());
    const Array a = Array::random(t, {1000}, 9);
    REQUIRE(a == Array::random(t, {1000}, 9));
    REQUIRE_FALSE(a == Array::random(t, {1000}, 10));
    int negative = 0, positive = 0;
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(std::isfinite(a.get(i)));
      negative += a.get(i) < 0;
      positive += a.get(i) > 0;
    }
    REQUIRE(negative > 200);
    REQUIRE(positive > 200);
  }
}

TEST_CASE("difference finds the worst element", "[interp]") {
  const Array a(f32, {2, 2}, {1, 2, 3, 4});
  Array b = a;
  REQUIRE(difference(a, b).text == "");
  b.set({1, 0}, 5);
  b.set({0, 1}, 2.5);
  const Difference d = difference(b, a);
  REQUIRE(d.text == "2 of 4 elements differ, most at [1, 0]: 5 instead of 3");
  REQUIRE(d.max_absolute == 2);
  b.set({0, 0}, NAN);
  REQUIRE(difference(b, a).worst == 0);
}

}  // namespace
}  // namespace lathe::interp
