// Conversions between element types: integers wrap, floats truncate and saturate to integers (NaN to 0),
// anything to Bool asks whether it differs from 0.

#include <cmath>

#include "codegen/llvm/emitter.h"

namespace lathe::codegen::cpu {

using Value = ::llvm::Value*;

Value Emitter::emit_cast(DataType to, DataType from, Value x) {
  if (to == from) return x;
  const Type type = value_type_of(to);
  if (is_half(from)) {
    x = ops.widen_half(from, x);
    from = DataType{TypeCode::Float, 32, from.lanes};
    if (to == from) return x;
  }
  if (to.is_bool())
    return from.is_float() ? b.CreateFCmpUNE(x, ops.real(x, 0)) : b.CreateICmpNE(x, ops.integer(x, 0));
  if (from.is_float()) {
    if (!to.is_float()) return float_to_integer(to, x);
    if (is_half(to)) return ops.narrow_half(to, x);
    return to.bits < from.bits ? b.CreateFPTrunc(x, type) : b.CreateFPExt(x, type);
  }
  if (to.is_float()) return integer_to_float(to, from, x);
  return from.is_unsigned() || from.is_bool() ? b.CreateZExtOrTrunc(x, type) : b.CreateSExtOrTrunc(x, type);
}

Value Emitter::float_to_integer(DataType to, Value x) {
  const bool is_unsigned = to.is_unsigned();
  // Narrow types go through 32 bits, which conversion instructions have.
  const int bits = std::max<int>(to.bits, 32);
  const Type type = ops.with_element(x->getType(), b.getIntNTy(static_cast<unsigned>(bits)));
  const bool wide_is_unsigned = is_unsigned && to.bits >= 32;
  const double high = std::ldexp(1.0, wide_is_unsigned ? bits : bits - 1);
  const double low = wide_is_unsigned ? 0.0 : -high;
  Value fits = b.CreateAnd(b.CreateFCmpOGE(x, ops.real(x, low)), b.CreateFCmpOLT(x, ops.real(x, high)));
  Value safe = b.CreateSelect(fits, x, ops.real(x, 0));
  Value value = wide_is_unsigned ? b.CreateFPToUI(safe, type) : b.CreateFPToSI(safe, type);
  Value largest = wide_is_unsigned
                      ? ops.integer(type, -1)
                      : ops.integer(type, static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1));
  value = b.CreateSelect(b.CreateFCmpOGE(x, ops.real(x, high)), largest, value);
  if (!wide_is_unsigned) {
    Value smallest = b.CreateNot(largest);
    value = b.CreateSelect(b.CreateFCmpOLT(x, ops.real(x, low)), smallest, value);
  }
  if (to.bits >= 32) return value;
  const std::int64_t least = is_unsigned ? 0 : -(std::int64_t{1} << (to.bits - 1));
  const std::int64_t most = (std::int64_t{1} << (is_unsigned ? to.bits : to.bits - 1)) - 1;
  value = b.CreateBinaryIntrinsic(::llvm::Intrinsic::smax, value, ops.integer(value, least));
  value = b.CreateBinaryIntrinsic(::llvm::Intrinsic::smin, value, ops.integer(value, most));
  return b.CreateTrunc(value, value_type_of(to));
}

Value Emitter::integer_to_float(DataType to, DataType from, Value x) {
  const bool is_unsigned = from.is_unsigned() || from.is_bool();
  if (!is_half(to)) {
    const Type type = value_type_of(to);
    return is_unsigned ? b.CreateUIToFP(x, type) : b.CreateSIToFP(x, type);
  }
  // Through f64, which holds 32 bits exactly. Of wider integers the low bits only matter as "something is
  // left": 53 bits are far more than the result keeps, so the lowest of them can say so.
  if (from.bits == 64) {
    Value low = b.CreateICmpNE(b.CreateAnd(x, ops.integer(x, 0xfff)), ops.integer(x, 0));
    Value kept = b.CreateOr(b.CreateAnd(x, ops.integer(x, ~std::int64_t{0xfff})),
                            b.CreateShl(b.CreateZExt(low, x->getType()), ops.integer(x, 11)));
    // Small values are exact as they are.
    Value magnitude = is_unsigned ? x : b.CreateXor(x, b.CreateAShr(x, ops.integer(x, 63)));
    Value small = b.CreateICmpULT(magnitude, ops.integer(x, std::int64_t{1} << 52));
    x = b.CreateSelect(small, x, kept);
  }
  const Type wide = ops.with_element(x->getType(), b.getDoubleTy());
  return ops.narrow_half(to, is_unsigned ? b.CreateUIToFP(x, wide) : b.CreateSIToFP(x, wide));
}

Value Emitter::emit_reinterpret(DataType to, DataType from, Value x) {
  if (from.is_bool() && !to.is_bool()) x = b.CreateZExt(x, memory_type(module_.context, from));
  if (to.is_bool()) return from.is_bool() ? x : b.CreateICmpNE(x, ops.integer(x, 0));
  return b.CreateBitCast(x, value_type_of(to));
}

}  // namespace lathe::codegen::cpu
