// erf: in f32 an odd rational function for the whole range; in f64 an odd polynomial near 0 and 1 - e^-R(|x|) further
// out, where R, the logarithm of the complement, is smooth enough for one polynomial.

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu::math {
namespace {

Value erf_f32(const Ops& o, Value x) {
  // All coefficients are positive: nothing cancels. From 3.93 on the result is 1.
  Value t = at_least(o, at_most(o, x, 3.93), -3.93);
  Value u = o.b.CreateFMul(t, t);
  Value p = polynomial(
      o, u, {0x1.20dd74p+0, 0x1.86b880p-3, 0x1.b07436p-5, 0x1.ef6146p-9, 0x1.2aa0d2p-12, 0x1.120d68p-19});
  Value q = polynomial(
      o, u, {0x1.000000p+0, 0x1.013bb0p-1, 0x1.d3fe88p-4, 0x1.eb6d1ep-7, 0x1.317014p-10, 0x1.3ec8c6p-15});
  Value value = o.b.CreateFDiv(o.b.CreateFMul(t, p), q);
  return at_least(o, at_most(o, value, 1), -1);
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
