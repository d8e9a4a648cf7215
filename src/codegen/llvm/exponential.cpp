// exp and what is made of it. x = n ln 2 + r with |r| <= ln(2)/2, so e^x = 2^n e^r. The polynomials are minimax fits
// with coefficients rounded one after another; ln 2 is cut so that n times its upper part is exact.

#include <cmath>

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu::math {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

struct Reduced {
  Rounded n;
  Value r;
};

/// x - n ln 2.
Value without_multiple(const Ops& o, Value x, Value minus_n) {
  const bool wide = is_f64(x);
  Value r = o.mad(minus_n, o.real(x, wide ? 0x1.62e42ffp-1 : 0x1.62ep-1), x);
  return o.mad(minus_n, o.real(x, wide ? -0x1.718432a1b0e26p-35 : 0x1.0bfbe8p-15), r);
}

Reduced reduce(const Ops& o, Value x, int bias) {
  const Rounded n = round_biased(o, x, kLog2E, bias);
  return {n, without_multiple(o, x, o.b.CreateFNeg(n.value))};
}

/// e^r - 1, with a small error relative to itself.
Value expm1_reduced(const Ops& o, Value r) {
  Value tail = is_f64(r) ? polynomial(o, r,
                                      {0x1.0000000000000p-1, 0x1.5555555555559p-3, 0x1.5555555555558p-5,
                                       0x1.111111110f63ap-7, 0x1.6c16c16c14f1dp-10, 0x1.a01a01b0165a1p-13,
                                       0x1.a01a01adf862fp-16, 0x1.71ddf7ce91e17p-19, 0x1.27e4cabb12875p-22,
                                       0x1.af5fb748d0900p-26, 0x1.1f8e4d84c5c43p-29})
                         : polynomial(o, r,
                                      {0x1.000000p-1, 0x1.555556p-3, 0x1.5554ecp-5, 0x1.110fd6p-7,
                                       0x1.6d4954p-10, 0x1.a2a8c8p-13});
  return o.mad(o.b.CreateFMul(r, r), tail, r);
}

/// e^r times a power of two, with a small error relative to itself.
Value exp_reduced(const Ops& o, Value r, double power = 1) {
  if (is_f64(r)) {
    Value value = o.b.CreateFAdd(expm1_reduced(o, r), o.real(r, 1));
    return power == 1 ? value : o.b.CreateFMul(value, o.real(r, power));
  }
  return horner(o, r,
                {power, power, 0x1.fffffcp-2 * power, 0x1.555492p-3 * power, 0x1.5558b6p-5 * power,
                 0x1.1239a8p-7 * power, 0x1.6a474cp-10 * power});
}

/// x 2^n, n + 2 exponent_bias being the lowest bits of `biased`: by two factors, since 2^n alone may be no float; the
/// first product is exact, so a denormal result is rounded once.
Value scale(const Ops& o, Value x, Value biased) {
  Value half = o.b.CreateLShr(biased, o.integer(biased, 1));
  Value rest = o.b.CreateSub(biased, half);
  Type type = x->getType();
  return o.b.CreateFMul(o.b.CreateFMul(x, power_of_two(o, half, type)), power_of_two(o, rest, type));
}

/// e^x / 2^less for x <= 712 (f64) or 90 (f32).
Value exp_bounded(const Ops& o, Value x, int less) {
  x = at_least(o, x, is_f64(x) ? -747 : -105);
  const Reduced reduced = reduce(o, x, 2 * exponent_bias(x));
  Value biased = less ? o.b.CreateSub(reduced.n.bits, o.integer(reduced.n.bits, less)) : reduced.n.bits;
  return scale(o, exp_reduced(o, reduced.r), biased);
}

Value exp_shifted(const Ops& o, Value x, int less) {
  return exp_bounded(o, at_most(o, x, is_f64(x) ? 712 : 90), less);
}

/// (e^x - 1) / 2, which overflows only where e^x - 1 does.
Value half_expm1(const Ops& o, Value x) {
  const bool wide = is_f64(x);
  x = at_least(o, at_most(o, x, wide ? 710.6 : 89.5), wide ? -40 : -18);
  // A quarter first: 2^(n-2) is a number for every n that is left.
  const Reduced reduced = reduce(o, x, exponent_bias(x) - 2);
  Value power = power_of_two(o, reduced.n.bits, x->getType());
  Value quarter = o.mad(power, expm1_reduced(o, reduced.r), o.b.CreateFSub(power, o.real(x, 0.25)));
  return o.b.CreateFAdd(quarter, quarter);
}

/// x itself where |x| is so small that the function is x to the last bit: keeps -0 and denormals.
Value identity_near_zero(const Ops& o, Value x, Value y) {
  return o.b.CreateSelect(o.b.CreateFCmpOLT(o.abs(x), o.real(x, is_f64(x) ? 0x1p-54 : 0x1p-25)), x, y);
}

}  // namespace

Value exp(const Ops& o, Value x) { return exp_shifted(o, x, 0); }

Value exp_of_negative(const Ops& o, Value x) {
  const Reduced reduced = reduce(o, x, exponent_bias(x));
  return o.b.CreateFMul(exp_reduced(o, reduced.r), power_of_two(o, reduced.n.bits, x->getType()));
}

Value exp2(const Ops& o, Value x) {
  const bool wide = is_f64(x);
  x = at_least(o, at_most(o, x, wide ? 1025 : 129), wide ? -1076 : -151);
  const Rounded n = round_biased(o, x, 1, 2 * exponent_bias(x));
  Value r = o.b.CreateFSub(x, n.value);
  Value slope = wide ? polynomial(o, r,
                                  {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a1e6p-5,
                                   0x1.3b2ab6fba4d68p-7, 0x1.5d87fe786f114p-10, 0x1.430912f8baff7p-13,
                                   0x1.ffcbfd65e7fa0p-17, 0x1.62c021097efd1p-20, 0x1.b522f48a45c62p-24,
                                   0x1.e4d34c9141799p-28, 0x1.eccd226b29b3ep-32, 0x1.bf4d3496eacc1p-36})
                     : polynomial(o, r,
                                  {0x1.62e430p-1, 0x1.ebfbe0p-3, 0x1.c6af72p-5, 0x1.3b2a3cp-7, 0x1.5f0e22p-10,
                                   0x1.443224p-13});
  return scale(o, o.mad(r, slope, o.real(r, 1)), n.bits);
}

Value expm1(const Ops& o, Value x) {
  Value half = half_expm1(o, x);
  return identity_near_zero(o, x, o.b.CreateFAdd(half, half));
}

Value sigmoid(const Ops& o, Value x) {
  // With x = n ln 2 + r: e^x / (1 + e^x) = e^r / (2^-n + e^r), where nothing is denormal but the result. Both sides are
  // made smaller by 2^shift, so that 2^-n is a number as long as the result is not 0.
  const bool wide = is_f64(x);
  const int shift = wide ? 64 : 32;
  x = at_most(o, at_least(o, x, wide ? -747 : -105), wide ? 40 : 20);  // from there on the result is 0 or 1
  const Rounded minus_n = round_biased(o, x, -kLog2E, exponent_bias(x) - shift);
  Value e = exp_reduced(o, without_multiple(o, x, minus_n.value), std::ldexp(1.0, -shift));
  return o.b.CreateFDiv(e, o.b.CreateFAdd(e, power_of_two(o, minus_n.bits, x->getType())));
}

Value tanh(const Ops& o, Value x) {
  // t = 1 - e^(-2|x|) is in [0, 1) and exact near 0; tanh |x| = t / (2 - t).
  Value magnitude = at_most(o, o.abs(x), is_f64(x) ? 20 : 10), expm1, n;
  if (is_f64(x)) {
    const Reduced reduced = reduce(o, o.b.CreateFMul(magnitude, o.real(x, -2)), exponent_bias(x));
    expm1 = expm1_reduced(o, reduced.r);
    n = reduced.n.bits;
  } else {
    // |x| = r - n ln(2)/2 needs only one step: the larger n, the less e^-2|x| counts beside 1.
    const Rounded rounded = round_biased(o, magnitude, -2 * kLog2E, exponent_bias(x));
    Value r = o.mad(rounded.value, o.real(x, 0x1.62e43p-2), magnitude);
    expm1 = o.b.CreateFMul(
        r, horner(o, r, {-2, 0x1.fffffep+0, -0x1.5554b2p+0, 0x1.555704p-1, -0x1.1226aep-2, 0x1.6b88c2p-4}));
    n = rounded.bits;
  }
  Value power = power_of_two(o, n, x->getType());
  Value t = o.mad(o.b.CreateFNeg(power), expm1, o.b.CreateFSub(o.real(x, 1), power));
  return with_sign_of(o, o.b.CreateFDiv(t, o.b.CreateFSub(o.real(x, 2), t)), x);
}

Value sinh(const Ops& o, Value x) {
  // With h = (e^|x| - 1) / 2: sinh |x| = h + h / (2h + 1).
  Value h = half_expm1(o, o.abs(x));
  Value value = o.b.CreateFAdd(h, o.b.CreateFDiv(h, o.b.CreateFAdd(o.b.CreateFAdd(h, h), o.real(x, 1))));
  // Past 2^127 h is infinite before sinh is only where both are; there inf / inf would be NaN.
  value = o.b.CreateSelect(o.b.CreateFCmpOGT(h, o.real(x, is_f64(x) ? 0x1p60 : 0x1p30)), h, value);
  return identity_near_zero(o, x, o.copysign(value, x));
}

Value cosh(const Ops& o, Value x) {
  Value half = exp_shifted(o, o.abs(x), 1);
  return o.b.CreateFAdd(half, o.b.CreateFDiv(o.real(x, 0.25), half));
}

}  // namespace lathe::codegen::cpu::math
