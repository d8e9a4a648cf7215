// f16 and bf16 as bits: conversions to and from f32, in the instruction set's own form where it has one
// (F16C) and by integer operations elsewhere. All round to nearest, ties to even, once.

#include "codegen/llvm/ops.h"

namespace lathe::codegen::cpu {
namespace {

using Value = ::llvm::Value*;
using Type = ::llvm::Type*;

Value half_to_float(const Ops& o, Value x, Type f32_type) {
  Builder& b = o.b;
  if (o.features.f16c)
    return b.CreateFPExt(b.CreateBitCast(x, o.with_element(x->getType(), b.getHalfTy())), f32_type);
  // Exponent and mantissa in place, then a multiplication by 2^112 rebiases normal and denormal numbers
  // alike; the exponent of infinities and NaNs is filled up.
  const Type wide = o.int_like(f32_type);
  Value w = b.CreateZExt(x, wide);
  Value magnitude = b.CreateShl(b.CreateAnd(w, o.integer(wide, 0x7fff)), o.integer(wide, 13));
  Value scaled = b.CreateFMul(o.from_bits(magnitude, f32_type), o.real(f32_type, 0x1p112));
  Value special = b.CreateOr(magnitude, o.integer(wide, 0x7f800000));
  Value is_special = b.CreateICmpUGE(magnitude, o.integer(wide, 0x0f800000));
  Value value = b.CreateSelect(is_special, special, o.bits(scaled));
  Value sign = b.CreateShl(b.CreateAnd(w, o.integer(wide, 0x8000)), o.integer(wide, 16));
  return o.from_bits(b.CreateOr(value, sign), f32_type);
}

Value float_to_half(const Ops& o, Value x, Type half_type) {
  Builder& b = o.b;
  if (o.features.f16c)
    return b.CreateBitCast(b.CreateFPTrunc(x, o.with_element(half_type, b.getHalfTy())), half_type);
  const Type f32_type = x->getType();
  Value w = o.bits(x);
  Value magnitude = b.CreateAnd(w, o.integer(w, 0x7fffffff));
  Value sign = b.CreateLShr(b.CreateAnd(w, o.integer(w, 0x80000000)), o.integer(w, 16));
  // Normal: rebias, add half of the last place less one (one more when the last place is odd), drop 13 bits.
  Value odd = b.CreateAnd(b.CreateLShr(magnitude, o.integer(w, 13)), o.integer(w, 1));
  Value rebiased = b.CreateAdd(b.CreateAdd(magnitude, o.integer(w, 0xfff - (112 << 23))), odd);
  Value normal = b.CreateLShr(rebiased, o.integer(w, 13));
  // Denormal: adding 1/2 aligns the last place of the sum with that of an f16 denormal.
  Value aligned = b.CreateFAdd(o.from_bits(magnitude, f32_type), o.real(f32_type, 0.5));
  Value denormal = b.CreateSub(o.bits(aligned), o.integer(w, 0x3f000000));
  Value result = b.CreateSelect(b.CreateICmpULT(magnitude, o.integer(w, 0x38800000)), denormal, normal);
  result = b.CreateSelect(b.CreateICmpUGE(magnitude, o.integer(w, 0x477ff000)), o.integer(w, 0x7c00), result);
  // A NaN keeps its upper bits and becomes quiet.
  Value nan = b.CreateOr(b.CreateAnd(b.CreateLShr(magnitude, o.integer(w, 13)), o.integer(w, 0x3ff)),
                         o.integer(w, 0x7e00));
  result = b.CreateSelect(b.CreateICmpUGT(magnitude, o.integer(w, 0x7f800000)), nan, result);
  return b.CreateTrunc(b.CreateOr(result, sign), half_type);
}

Value float_to_bfloat(const Ops& o, Value x, Type half_type) {
  Builder& b = o.b;
  Value w = o.bits(x);
  Value odd = b.CreateAnd(b.CreateLShr(w, o.integer(w, 16)), o.integer(w, 1));
  Value rounded = b.CreateLShr(b.CreateAdd(w, b.CreateAdd(odd, o.integer(w, 0x7fff))), o.integer(w, 16));
  Value nan = b.CreateOr(b.CreateLShr(w, o.integer(w, 16)), o.integer(w, 0x40));
  return b.CreateTrunc(b.CreateSelect(o.is_nan(x), nan, rounded), half_type);
}

/// f64 to f32 rounded to odd: a later rounding to fewer bits is then the same as rounding the f64 directly.
Value to_float_odd(const Ops& o, Value x) {
  Builder& b = o.b;
  const Type narrow = o.with_element(x->getType(), b.getFloatTy());
  Value nearest = b.CreateFPTrunc(x, narrow);
  Value back = b.CreateFPExt(nearest, x->getType());
  Value w = o.bits(nearest);
  Value past = b.CreateFCmpOGT(o.abs(back), o.abs(x));
  Value truncated = b.CreateSelect(past, b.CreateSub(w, o.integer(w, 1)), w);
  Value inexact = b.CreateFCmpONE(back, x);
  return o.from_bits(b.CreateSelect(inexact, b.CreateOr(truncated, o.integer(w, 1)), w), narrow);
}

}  // namespace

Value Ops::widen_half(DataType type, Value x) const {
  const Type f32_type = with_element(x->getType(), b.getFloatTy());
  if (type.code == TypeCode::Float) return half_to_float(*this, x, f32_type);
  Value w = b.CreateZExt(x, int_like(f32_type));
  return from_bits(b.CreateShl(w, integer(w, 16)), f32_type);
}

Value Ops::narrow_half(DataType type, Value x) const {
  if (x->getType()->getScalarType()->isDoubleTy()) x = to_float_odd(*this, x);
  const Type half_type = with_element(x->getType(), b.getInt16Ty());
  return type.code == TypeCode::Float ? float_to_half(*this, x, half_type)
                                      : float_to_bfloat(*this, x, half_type);
}

}  // namespace lathe::codegen::cpu
