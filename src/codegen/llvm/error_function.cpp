// erf = 1 - e^-R(|x|), where R, the logarithm of the complement, is smooth.
//
// In f32, R(a) = a T(a) with one polynomial T for the whole range: near 0, 1 - 2^-R is computed as expm1 is, so the
// result is as exact relative to itself as R is. In f64 T would need too high a degree: below 1 an odd polynomial
// takes its place.

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu::math {
namespace {

Value erf_f32(const Ops& o, Value x) {
  Builder& b = o.b;
  Value magnitude = at_most(o, o.abs(x), 3.93);  // from there on the result is 1
  Value exponent = b.CreateFMul(
      magnitude, polynomial(o, magnitude,
                            {-0x1.a0be84p+0, -0x1.d63e60p-1, -0x1.2fc392p-3, 0x1.c85ed6p-6, -0x1.1a1164p-12,
                             -0x1.de725ap-10, 0x1.239f7ap-11, -0x1.f3ec5ap-15}));
  const Rounded n = round_biased(o, exponent, 1, exponent_bias(x));
  Value rest = b.CreateFSub(exponent, n.value);
  // 2^rest - 1
  Value fraction = b.CreateFMul(rest, polynomial(o, rest,
                                                 {0x1.62e430p-1, 0x1.ebfbe0p-3, 0x1.c6af72p-5, 0x1.3b2a3cp-7,
                                                  0x1.5f0e22p-10, 0x1.443224p-13}));
  Value power = power_of_two(o, n.bits, x->getType());
  Value value = o.mad(b.CreateFNeg(power), fraction, b.CreateFSub(o.real(x, 1), power));
  return with_sign_of(o, value, x);
}

Value erf_f64(const Ops& o, Value x) {
  Value magnitude = o.abs(x);
  Value near = o.mad(x,
                     polynomial(o, o.b.CreateFMul(x, x),
                                {0x1.06eba8214db68p-3, -0x1.812746b0379b4p-2, 0x1.ce2f21a040a68p-4,
                                 -0x1.b82ce311f4dc5p-6, 0x1.565bccf8c81c6p-8, -0x1.c02db0372005fp-11,
                                 0x1.f9a2ba884e4f6p-14, -0x1.f4ca50c53f80cp-17, 0x1.b9801a0628edep-20,
                                 -0x1.5c097b1f73c43p-23, 0x1.d72e80ff97b90p-27, -0x1.abefccdf0bf98p-31}),
                     x);
  Value r = polynomial(
      o, at_most(o, magnitude, 6),
      {0x1.dd9f538c2a77bp-26,  0x1.20dd70cc9194cp+0,   0x1.45f32721f55d5p-1,   0x1.a4f302d87eddfp-4,
       -0x1.3964d63a50784p-6,  -0x1.a84309d5390cdp-13, 0x1.b714ed50352ddp-10,  -0x1.2198596e00373p-11,
       -0x1.71457bd88d385p-16, 0x1.d0ab0b01f7265p-14,  -0x1.0fa1dd312fef7p-14, 0x1.975cc90fa3c92p-16,
       -0x1.c749030a69a0ap-18, 0x1.8a87528595bc6p-20,  -0x1.0a7116c10bf00p-22, 0x1.148dc1902ff1dp-25,
       -0x1.ab2fbb0d67ab4p-29, 0x1.cef2cd3aa99b0p-33,  -0x1.3a25cf55733f6p-37, 0x1.91ad70150b7dap-43});
  Value far = o.b.CreateFSub(o.real(x, 1), exp_of_negative(o, o.b.CreateFNeg(r)));
  return o.b.CreateSelect(o.b.CreateFCmpOLT(magnitude, o.real(x, 1)), near, o.copysign(far, x));
}

}  // namespace

Value erf(const Ops& o, Value x) { return is_f64(x) ? erf_f64(o, x) : erf_f32(o, x); }

}  // namespace lathe::codegen::cpu::math
