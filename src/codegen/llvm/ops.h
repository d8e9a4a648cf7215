#pragma once
// Operations on LLVM values, scalars and vectors alike: what several files of this folder build from.

#include <optional>

#include "codegen/llvm/llvm_headers.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/types.h"
#include "lathe/expr.h"

namespace lathe::codegen::cpu {

/// A builder with the features of the target.
struct Ops {
  Builder& b;
  const Features& features;

  using Value = ::llvm::Value*;
  using Type = ::llvm::Type*;

  // ---- Constants of a value's type (splat over its lanes).
  Value real(Type type, double value) const;
  Value integer(Type type, std::int64_t value) const;
  Value real(Value like, double value) const { return real(like->getType(), value); }
  Value integer(Value like, std::int64_t value) const { return integer(like->getType(), value); }
  /// `value` in every lane.
  Value splat(Value value, int lanes) const { return lanes == 1 ? value : b.CreateVectorSplat(lanes, value); }

  // ---- Types with the lanes of another.
  /// Integers as wide as the elements of `type`.
  Type int_like(Type type) const;
  Type with_element(Type like, Type element) const { return with_lanes(element, lanes_of(like)); }

  // ---- Bits and signs.
  Value bits(Value x) const { return b.CreateBitCast(x, int_like(x->getType())); }
  Value from_bits(Value x, Type type) const { return b.CreateBitCast(x, type); }
  Value abs(Value x) const { return b.CreateUnaryIntrinsic(::llvm::Intrinsic::fabs, x); }
  Value copysign(Value magnitude, Value sign) const {
    return b.CreateBinaryIntrinsic(::llvm::Intrinsic::copysign, magnitude, sign);
  }
  Value sqrt(Value x) const { return b.CreateUnaryIntrinsic(::llvm::Intrinsic::sqrt, x); }
  Value is_nan(Value x) const { return b.CreateFCmpUNO(x, x); }

  // ---- Floats.
  /// a*b + c, fused where the target has it: for polynomials, whose error bounds hold either way.
  Value mad(Value a, Value b, Value c) const;
  /// a*b + c rounded once, on every target.
  Value fma(Value a, Value b, Value c) const;
  /// To an integral value: nearest (ties to even), down, up, towards zero. NaN and the sign of zero stay.
  Value round_even(Value x) const;
  Value floor(Value x) const;
  Value ceil(Value x) const;
  Value trunc(Value x) const;
  /// The smaller or larger; NaN if either is; -0 below +0. With `nnan` any result for NaNs and zeros of
  /// either sign.
  Value min_max(bool max, Value x, Value y, bool nnan) const;

  // ---- 16-bit floats, whose values are their bits.
  Value widen_half(DataType type, Value x) const;   ///< to f32
  Value narrow_half(DataType type, Value x) const;  ///< from f32 or f64, rounded once
};

}  // namespace lathe::codegen::cpu
