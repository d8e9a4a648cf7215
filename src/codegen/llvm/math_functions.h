#pragma once
// The functions behind emit_math, by family, and the few things that they share.

#include <initializer_list>

#include "codegen/llvm/math.h"
#include "codegen/llvm/ops.h"

namespace lathe::codegen::cpu {

/// The value of the function; `args` are f32 or f64, scalars or vectors. Not for what is_scalar_only names.
::llvm::Value* emit_math(const Ops& ops, Intrinsic op, const std::vector<::llvm::Value*>& args);

}  // namespace lathe::codegen::cpu

namespace lathe::codegen::cpu::math {

using Value = ::llvm::Value*;
using Type = ::llvm::Type*;

inline bool is_f64(Value x) { return x->getType()->getScalarType()->isDoubleTy(); }

/// c[0] + c[1] x + c[2] x^2 + … in pairs (Estrin, 1960): a few multiplications more than Horner's rule and a third of
/// its latency, which the out-of-order window of a loop over vectors cannot hide.
Value polynomial(const Ops& o, Value x, std::initializer_list<double> coefficients);
/// The same by Horner's rule: the fewest operations. Better where what surrounds it is short, because the window then
/// holds more iterations.
Value horner(const Ops& o, Value x, std::initializer_list<double> coefficients);
/// The smaller (larger) of x and a constant other than 0; NaN stays.
inline Value at_most(const Ops& o, Value x, double c) { return o.min_max(false, x, o.real(x, c), false); }
inline Value at_least(const Ops& o, Value x, double c) { return o.min_max(true, x, o.real(x, c), false); }

/// A value whose sign bit is clear, with the sign of x.
inline Value with_sign_of(const Ops& o, Value value, Value x) {
  Value sign = o.b.CreateAnd(o.bits(x), o.bits(o.real(x, -0.0)));
  return o.from_bits(o.b.CreateOr(o.bits(value), sign), x->getType());
}

/// n = x rounded to an integer, in a float whose lowest bits are n + bias: shifted to the exponent's place they are the
/// float 2^(n + bias - exponent bias).
struct Rounded {
  Value bits;   ///< of the integer type
  Value value;  ///< n as a float
};
Rounded round_biased(const Ops& o, Value x, double factor, int bias);
/// 2^e of a float type, given bits whose lowest ones are e plus the exponent bias.
Value power_of_two(const Ops& o, Value biased, Type type);
/// Bits of mantissa that are stored, and the exponent's bias.
inline int mantissa_bits(Value x) { return is_f64(x) ? 52 : 23; }
inline int exponent_bias(Value x) { return is_f64(x) ? 1023 : 127; }

// exponential.cpp
Value exp(const Ops& o, Value x);
Value exp2(const Ops& o, Value x);
Value expm1(const Ops& o, Value x);
Value sigmoid(const Ops& o, Value x);
Value tanh(const Ops& o, Value x);
Value sinh(const Ops& o, Value x);
Value cosh(const Ops& o, Value x);
/// e^x for x <= 0 that gives no denormal number.
Value exp_of_negative(const Ops& o, Value x);
// logarithm.cpp
Value log(const Ops& o, Value x);
Value log2(const Ops& o, Value x);
Value log10(const Ops& o, Value x);
Value log1p(const Ops& o, Value x);
// error_function.cpp
Value erf(const Ops& o, Value x);
// power.cpp
Value pow_f32(const Ops& o, Value x, Value y);
// trigonometric.cpp
Value sin_f32(const Ops& o, Value x);
Value cos_f32(const Ops& o, Value x);
Value tan_f32(const Ops& o, Value x);
Value asin_f32(const Ops& o, Value x);
Value acos_f32(const Ops& o, Value x);
Value atan_f32(const Ops& o, Value x);
Value atan2_f32(const Ops& o, Value y, Value x);

}  // namespace lathe::codegen::cpu::math
