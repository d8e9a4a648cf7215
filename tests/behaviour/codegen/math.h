#pragma once
// Kernels that apply one mathematical function to an array, and what they should give.

#include <bit>
#include <cmath>
#include <limits>

#include "tests/behaviour/codegen/build.h"

namespace lathe::codegen_test {

/// out[i] = op(in[i]) for i < n, `lanes` at a time (a divisor of n).
inline Program map_program(Intrinsic op, DataType type, int lanes, std::int64_t n) {
  Buffer in("in", type, {n}), out("out", type, {n});
  Var i("i");
  const Expr at = lanes == 1 ? Expr(i) : ramp(i * lanes, make_index(1), lanes);
  return Program("map", {input(in), output(out)}, {},
                 loop(i, make_index(n / lanes), store(out, call(op, {load(in, {at})}), at)));
}
inline Program map_program2(Intrinsic op, DataType type, int lanes, std::int64_t n) {
  Buffer a("a", type, {n}), b("b", type, {n}), out("out", type, {n});
  Var i("i");
  const Expr at = lanes == 1 ? Expr(i) : ramp(i * lanes, make_index(1), lanes);
  return Program("map", {input(a), input(b), output(out)}, {},
                 loop(i, make_index(n / lanes), store(out, call(op, {load(a, {at}), load(b, {at})}), at)));
}

/// |got - want| in units of the last place of `want` as a T; 0 when both are NaN or the same infinity; infinity when
/// one is special and the other is not.
template <class T, class Wide>
double ulps(T got, Wide want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : HUGE_VAL;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(rounded) ? 0 : HUGE_VAL;
  const int exponent = std::max(std::ilogb(want), std::numeric_limits<T>::min_exponent - 1);
  const Wide unit = std::ldexp(static_cast<Wide>(1), exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - want) / unit);
}

template <class Wide>
struct Function {
  Intrinsic op;
  Wide (*reference)(Wide);
  double ulp_f32, ulp_f64;  ///< stated in codegen/llvm/math.h; 0: libm
};

template <class Wide>
Wide sigmoid_reference(Wide x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

template <class Wide>
const std::vector<Function<Wide>>& functions() {
  static const std::vector<Function<Wide>> all = {
      {Intrinsic::Exp, [](Wide x) { return std::exp(x); }, 1.2, 1.1},
      {Intrinsic::Exp2, [](Wide x) { return std::exp2(x); }, 1.5, 1.6},
      {Intrinsic::Expm1, [](Wide x) { return std::expm1(x); }, 1.9, 2.1},
      {Intrinsic::Log, [](Wide x) { return std::log(x); }, 1.0, 1.0},
      {Intrinsic::Log2, [](Wide x) { return std::log2(x); }, 1.8, 1.0},
      {Intrinsic::Log10, [](Wide x) { return std::log10(x); }, 2.8, 1.0},
      {Intrinsic::Log1p, [](Wide x) { return std::log1p(x); }, 1.7, 1.7},
      {Intrinsic::Tanh, [](Wide x) { return std::tanh(x); }, 2.8, 2.7},
      {Intrinsic::Sigmoid, sigmoid_reference<Wide>, 2.5, 2.6},
      {Intrinsic::Erf, [](Wide x) { return std::erf(x); }, 4.4, 1.7},
      {Intrinsic::Sinh, [](Wide x) { return std::sinh(x); }, 2.6, 2.6},
      {Intrinsic::Cosh, [](Wide x) { return std::cosh(x); }, 2.6, 2.6},
      {Intrinsic::Sin, [](Wide x) { return std::sin(x); }, 0.6, 0},
      {Intrinsic::Cos, [](Wide x) { return std::cos(x); }, 0.6, 0},
      {Intrinsic::Tan, [](Wide x) { return std::tan(x); }, 0.6, 0},
      {Intrinsic::Asin, [](Wide x) { return std::asin(x); }, 0.6, 0},
      {Intrinsic::Acos, [](Wide x) { return std::acos(x); }, 0.6, 0},
      {Intrinsic::Atan, [](Wide x) { return std::atan(x); }, 0.6, 0},
  };
  return all;
}

}  // namespace lathe::codegen_test
