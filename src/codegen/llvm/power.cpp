// pow of f32, computed in f64 as 2^(y log2 |x|): f64's range holds every intermediate value, and its precision what the
// multiplication by y magnifies. The special cases are those of IEEE 754 (pow(x, 0) = pow(1, y) = 1 even for NaN).

#include <cmath>

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu::math {
namespace {

/// log2 of a positive finite f64 with a relative error of 2^-45; -inf at 0, inf at inf.
Value rough_log2(const Ops& o, Value x) {
  Builder& b = o.b;
  Value w = o.bits(x);
  constexpr std::int64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  Value biased = b.CreateLShr(b.CreateAdd(w, o.integer(w, kOne - kSqrtHalf)), o.integer(w, 52));
  Value exponent = b.CreateShl(b.CreateSub(biased, o.integer(w, 1023)), o.integer(w, 52));
  Value f = b.CreateFSub(o.from_bits(b.CreateSub(w, exponent), x->getType()), o.real(x, 1));
  Value anchored = o.from_bits(b.CreateOr(biased, o.bits(o.real(x, 0x1p52))), x->getType());
  Value k = b.CreateFSub(anchored, o.real(x, 0x1p52 + 1023));
  Value s = b.CreateFDiv(f, b.CreateFAdd(f, o.real(x, 2)));
  Value value = o.mad(s,
                      polynomial(o, b.CreateFMul(s, s),
                                 {0x1.71547652b824ep+1, 0x1.ec709dc541f15p-1, 0x1.2776c28cb34f4p-1,
                                  0x1.a61a34283709fp-2, 0x1.479471f965b84p-2, 0x1.21be155863a7cp-2}),
                      k);
  const double infinity = HUGE_VAL;
  value = b.CreateSelect(b.CreateFCmpOEQ(x, o.real(x, 0)), o.real(x, -infinity), value);
  return b.CreateSelect(b.CreateFCmpOEQ(x, o.real(x, infinity)), o.real(x, infinity), value);
}

/// 2^x with a relative error of 2^-34, for the exponents of f32.
Value rough_exp2(const Ops& o, Value x) {
  x = at_least(o, at_most(o, x, 200), -200);
  const Rounded n = round_biased(o, x, 1, 1023);
  Value r = o.b.CreateFSub(x, n.value);
  Value p = o.mad(
      r,
      polynomial(o, r,
                 {0x1.62e42fef7b763p-1, 0x1.ebfbe07b28712p-3, 0x1.c6b08df48ad1dp-5, 0x1.3b29f075a635dp-7,
                  0x1.5d87233a34f67p-10, 0x1.445eeadb60488p-13, 0x1.00f18adf4bf69p-16}),
      o.real(x, 1));
  return o.b.CreateFMul(p, power_of_two(o, n.bits, x->getType()));
}

}  // namespace

Value pow_f32(const Ops& o, Value x, Value y) {
  Builder& b = o.b;
  Type narrow = x->getType(), wide = o.with_element(narrow, b.getDoubleTy());
  Value one = o.real(x, 1), zero = o.real(x, 0);
  Value magnitude = o.abs(x);
  Value exponent = b.CreateFMul(b.CreateFPExt(y, wide), rough_log2(o, b.CreateFPExt(magnitude, wide)));
  Value value = b.CreateFPTrunc(rough_exp2(o, exponent), narrow);
  value = b.CreateSelect(b.CreateFCmpOEQ(magnitude, one), one,
                         value);  // also for infinite y, where 0 * inf is NaN

  // A negative base: the sign of an odd exponent, NaN for one that is no integer.
  Value half = b.CreateFMul(y, o.real(y, 0.5));
  Value integral = b.CreateFCmpOEQ(o.trunc(y), y);
  Value odd = b.CreateAnd(integral, b.CreateFCmpUNE(o.trunc(half), half));
  Value negative = b.CreateICmpSLT(o.bits(x), o.integer(o.bits(x), 0));
  value = b.CreateSelect(b.CreateAnd(negative, odd), b.CreateFNeg(value), value);
  Value below = b.CreateAnd(b.CreateFCmpOLT(x, zero), b.CreateFCmpOLT(magnitude, o.real(x, HUGE_VAL)));
  value = b.CreateSelect(b.CreateAnd(below, b.CreateNot(integral)), o.real(x, std::nan("")), value);

  value = b.CreateSelect(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), value);
  value = b.CreateSelect(b.CreateFCmpOEQ(y, zero), one, value);
  return b.CreateSelect(b.CreateFCmpOEQ(x, one), one, value);
}

}  // namespace lathe::codegen::cpu::math
