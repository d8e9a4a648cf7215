// Logarithms. x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), so that near x = 1 k is 0 and nothing cancels.

#include <cmath>

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu::math {
namespace {

struct Split {
  Value k;       ///< as a float
  Value biased;  ///< k plus the exponent's bias, integer
  Value f;
};

/// Of a positive normal number; of others, some split.
Split split(const Ops& o, Value x) {
  const int shift = mantissa_bits(x), bias = exponent_bias(x);
  const std::int64_t one = static_cast<std::int64_t>(bias) << shift;
  const std::int64_t sqrt_half = is_f64(x) ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value w = o.bits(x);
  Value biased = o.b.CreateLShr(o.b.CreateAdd(w, o.integer(w, one - sqrt_half)), o.integer(w, shift));
  Value exponent = o.b.CreateShl(o.b.CreateSub(biased, o.integer(w, bias)), o.integer(w, shift));
  Value fraction = o.from_bits(o.b.CreateSub(w, exponent), x->getType());
  // An integer below 2^mantissa in the mantissa of 2^mantissa: a conversion that every vector unit has.
  const double anchor = std::ldexp(1.0, shift);
  Value anchored = o.from_bits(o.b.CreateOr(biased, o.bits(o.real(x, anchor))), x->getType());
  return {o.b.CreateFSub(anchored, o.real(x, anchor + bias)), biased, o.b.CreateFSub(fraction, o.real(x, 1))};
}

/// The same with denormal numbers scaled up first.
Split split_any(const Ops& o, Value x) {
  const int shift = mantissa_bits(x);
  Value small = o.b.CreateFCmpOLT(x, o.real(x, is_f64(x) ? 0x1p-1022 : 0x1p-126));
  Value scaled = o.b.CreateSelect(small, o.b.CreateFMul(x, o.real(x, std::ldexp(1.0, shift))), x);
  Split s = split(o, scaled);
  s.k = o.b.CreateSelect(small, o.b.CreateFSub(s.k, o.real(x, shift)), s.k);
  return s;
}

/// `value` where 0 < x < inf; -inf at 0, inf at inf, NaN elsewhere.
Value with_limits(const Ops& o, Value x, Value value) {
  const double infinity = HUGE_VAL;
  Value zero = o.real(x, 0), inf = o.real(x, infinity);
  Value inside = o.b.CreateAnd(o.b.CreateFCmpOGT(x, zero), o.b.CreateFCmpOLT(x, inf));
  Value limit = o.b.CreateSelect(o.b.CreateFCmpOEQ(x, inf), inf, o.real(x, std::nan("")));
  limit = o.b.CreateSelect(o.b.CreateFCmpOEQ(x, zero), o.real(x, -infinity), limit);
  return o.b.CreateSelect(inside, value, limit);
}

/// log(1 + f) = f - half_square + rest, in f64: with s = f / (2 + f), log(1 + f) = 2s + s R(s^2).
struct Series {
  Value half_square, rest;
};
Series series(const Ops& o, Value f) {
  Value s = o.b.CreateFDiv(f, o.b.CreateFAdd(f, o.real(f, 2)));
  Value z = o.b.CreateFMul(s, s);
  Value r = o.b.CreateFMul(
      z, polynomial(o, z,
                    {0x1.555555555558cp-1, 0x1.99999999816acp-2, 0x1.24924940d9628p-2, 0x1.c71c52c444018p-3,
                     0x1.74661eaf63204p-3, 0x1.39a47e99b8512p-3, 0x1.2eed7da6d7529p-3}));
  Value half_square = o.b.CreateFMul(o.b.CreateFMul(f, f), o.real(f, 0.5));
  return {half_square, o.b.CreateFMul(s, o.b.CreateFAdd(half_square, r))};
}

/// k ln 2 + log(1 + f).
Value log_of_split(const Ops& o, Value k, Value f) {
  if (is_f64(f)) {
    const Series t = series(o, f);
    Value low = o.mad(k, o.real(f, -0x1.718432a1b0e26p-35), t.rest);
    Value sum = o.b.CreateFSub(f, o.b.CreateFSub(t.half_square, low));
    return o.mad(k, o.real(f, 0x1.62e42ffp-1), sum);
  }
  Value p = polynomial(o, f,
                       {-0.5, 0x1.555548p-2, -0x1.ffffeep-3, 0x1.99a46ap-3, -0x1.556264p-3, 0x1.234132p-3,
                        -0x1.fb618ap-4, 0x1.e5af56p-4, -0x1.e20d10p-4, 0x1.1b8e9cp-4});
  Value low = o.mad(o.b.CreateFMul(f, f), p, o.b.CreateFMul(k, o.real(f, 0x1.0bfbe8p-15)));
  return o.mad(k, o.real(f, 0x1.62ep-1), o.b.CreateFAdd(low, f));
}

/// k * log_b(2) + log_b(1 + f) in f64: log(1 + f) as an upper part of 21 bits and the rest, so that its product with
/// the upper part of 1 / ln(b) is exact.
Value log_base_f64(const Ops& o, const Split& s, double unit_high, double unit_low, double scale_high,
                   double scale_low) {
  Builder& b = o.b;
  const Series t = series(o, s.f);
  Value upper = b.CreateFSub(s.f, t.half_square);
  Value w = o.bits(upper);
  upper = o.from_bits(b.CreateAnd(w, o.integer(w, ~std::int64_t{0xffffffff})), s.f->getType());
  Value lower = b.CreateFAdd(b.CreateFSub(b.CreateFSub(s.f, upper), t.half_square), t.rest);
  Value whole = b.CreateFMul(s.k, o.real(s.f, unit_high));
  Value high = b.CreateFMul(upper, o.real(s.f, scale_high));
  Value low =
      o.mad(b.CreateFAdd(lower, upper), o.real(s.f, scale_low), b.CreateFMul(s.k, o.real(s.f, unit_low)));
  low = o.mad(lower, o.real(s.f, scale_high), low);
  Value sum = b.CreateFAdd(whole, high);
  low = b.CreateFAdd(low, b.CreateFAdd(b.CreateFSub(whole, sum), high));
  return b.CreateFAdd(sum, low);
}

}  // namespace

Value log(const Ops& o, Value x) {
  const Split s = split_any(o, x);
  return with_limits(o, x, log_of_split(o, s.k, s.f));
}

Value log2(const Ops& o, Value x) {
  const Split s = split_any(o, x);
  if (is_f64(x)) return with_limits(o, x, log_base_f64(o, s, 1, 0, 0x1.71547p+0, 0x1.94ae0bf85ddf4p-22));
  // log2(1 + f) = f + f q(f): the 1 in the factor keeps the rounding error of 1 / ln 2 out.
  Value q = polynomial(o, s.f,
                       {0x1.c551dap-2, -0x1.715476p-1, 0x1.ec7052p-2, -0x1.7157bep-2, 0x1.2785d4p-2,
                        -0x1.eb2dbep-3, 0x1.a26b44p-3, -0x1.83a926p-3, 0x1.7f1ef0p-3, -0x1.d62574p-4});
  return with_limits(o, x, o.b.CreateFAdd(s.k, o.mad(s.f, q, s.f)));
}

Value log10(const Ops& o, Value x) {
  const Split s = split_any(o, x);
  if (is_f64(x))
    return with_limits(
        o, x,
        log_base_f64(o, s, 0x1.3441350ap-2, -0x1.0c0219dc1da99p-39, 0x1.bcb7bp-2, 0x1.526e50e32a6abp-26));
  Value q = polynomial(o, s.f,
                       {0x1.bcb7b2p-2, -0x1.bcb7b4p-3, 0x1.28795ep-3, -0x1.bcb6eap-4, 0x1.64237cp-4,
                        -0x1.2869cap-4, 0x1.effa92p-5, -0x1.c0bc34p-5, 0x1.ee55e0p-5, -0x1.67100cp-5});
  Value low = o.mad(s.f, q, o.b.CreateFMul(s.k, o.real(x, 0x1.3509f8p-18)));
  return with_limits(o, x, o.mad(s.k, o.real(x, 0x1.344p-2), low));
}

Value log1p(const Ops& o, Value x) {
  Builder& b = o.b;
  // u = 1 + x rounded, and what the rounding lost, brought to the scale of f.
  Value one = o.real(x, 1);
  Value u = b.CreateFAdd(x, one);
  Value lost = b.CreateSelect(b.CreateFCmpOGT(x, one), b.CreateFSub(one, b.CreateFSub(u, x)),
                              b.CreateFSub(x, b.CreateFSub(u, one)));
  const Split s = split(o, u);
  Value inverse =
      power_of_two(o, b.CreateSub(o.integer(s.biased, 2 * exponent_bias(x)), s.biased), x->getType());
  Value moderate = b.CreateFCmpOLT(x, o.real(x, is_f64(x) ? 0x1p60 : 0x1p30));
  Value correction = b.CreateSelect(moderate, b.CreateFMul(lost, inverse), o.real(x, 0));
  Value value = log_of_split(o, s.k, b.CreateFAdd(s.f, correction));
  value = b.CreateSelect(b.CreateFCmpOGE(o.abs(x), o.real(x, is_f64(x) ? 0x1p-54 : 0x1p-25)), value, x);
  return with_limits(o, u, value);
}

}  // namespace lathe::codegen::cpu::math
