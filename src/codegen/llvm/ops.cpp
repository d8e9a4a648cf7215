#include "codegen/llvm/ops.h"

#include <cmath>

namespace lathe::codegen::cpu {

using Value = ::llvm::Value*;
using Type = ::llvm::Type*;

Value Ops::real(Type type, double value) const { return ::llvm::ConstantFP::get(type, value); }

Value Ops::integer(Type type, std::int64_t value) const {
  return ::llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value), /*isSigned=*/true);
}

Type Ops::int_like(Type type) const {
  return with_lanes(b.getIntNTy(type->getScalarSizeInBits()), lanes_of(type));
}

Value Ops::mad(Value x, Value y, Value z) const {
  if (features.fma) return b.CreateIntrinsic(::llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  return b.CreateFAdd(b.CreateFMul(x, y), z);
}

Value Ops::fma(Value x, Value y, Value z) const {
  if (features.fma || x->getType()->getScalarType()->isDoubleTy())
    return b.CreateIntrinsic(::llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  // f32 without the instruction. The product is exact in f64, so only the sum rounds there; rounding that sum
  // to odd (Boldo and Melquiond, 2008) makes the second rounding, to f32, the only one that counts.
  Type wide = with_element(x->getType(), b.getDoubleTy());
  Value product = b.CreateFMul(b.CreateFPExt(x, wide), b.CreateFPExt(y, wide));
  Value addend = b.CreateFPExt(z, wide);
  Value sum = b.CreateFAdd(product, addend);
  Value back = b.CreateFSub(sum, product);
  Value error = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, back)), b.CreateFSub(addend, back));
  Value sum_bits = bits(sum);
  // Truncate towards zero when the error points there, then mark the result as inexact.
  Value inexact = b.CreateFCmpONE(error, real(wide, 0));
  Value same_sign = b.CreateICmpSGE(b.CreateXor(sum_bits, bits(error)), integer(sum_bits, 0));
  Value truncated = b.CreateSelect(same_sign, sum_bits, b.CreateSub(sum_bits, integer(sum_bits, 1)));
  Value odd = b.CreateOr(truncated, integer(sum_bits, 1));
  Value finite = b.CreateFCmpOLT(abs(sum), real(wide, INFINITY));
  Value chosen = b.CreateSelect(b.CreateAnd(inexact, finite), odd, sum_bits);
  return b.CreateFPTrunc(from_bits(chosen, wide), x->getType());
}

Value Ops::round_even(Value x) const {
  if (features.round) return b.CreateUnaryIntrinsic(::llvm::Intrinsic::roundeven, x);
  // Adding and subtracting 2^23 (2^52) drops the fraction, rounded as the sum is; larger values have none.
  const double big = x->getType()->getScalarType()->isDoubleTy() ? 0x1p52 : 0x1p23;
  Value magnitude = abs(x);
  Value rounded = b.CreateFSub(b.CreateFAdd(magnitude, real(x, big)), real(x, big));
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, real(x, big)), copysign(rounded, x), x);
}

Value Ops::floor(Value x) const {
  if (features.round) return b.CreateUnaryIntrinsic(::llvm::Intrinsic::floor, x);
  Value r = round_even(x);
  return copysign(b.CreateSelect(b.CreateFCmpOGT(r, x), b.CreateFSub(r, real(x, 1)), r), x);
}

Value Ops::ceil(Value x) const {
  if (features.round) return b.CreateUnaryIntrinsic(::llvm::Intrinsic::ceil, x);
  Value r = round_even(x);
  return copysign(b.CreateSelect(b.CreateFCmpOLT(r, x), b.CreateFAdd(r, real(x, 1)), r), x);
}

Value Ops::trunc(Value x) const {
  if (features.round) return b.CreateUnaryIntrinsic(::llvm::Intrinsic::trunc, x);
  return copysign(floor(abs(x)), x);
}

namespace {

/// The constant in every lane of `x`, if it is one.
const ::llvm::ConstantFP* constant_of(Value x) {
  if (const auto* scalar = ::llvm::dyn_cast<::llvm::ConstantFP>(x)) return scalar;
  const auto* vector = ::llvm::dyn_cast<::llvm::Constant>(x);
  if (!vector || !x->getType()->isVectorTy()) return nullptr;
  return ::llvm::dyn_cast_or_null<::llvm::ConstantFP>(vector->getSplatValue());
}

bool is_x86(const ::llvm::IRBuilderBase& b) {
  return ::llvm::Triple(b.GetInsertBlock()->getModule()->getTargetTriple()).isX86();
}

}  // namespace

Value Ops::min_max(bool max, Value x, Value y, bool nnan) const {
  const auto beats = max ? ::llvm::CmpInst::FCMP_OGT : ::llvm::CmpInst::FCMP_OLT;
  if (nnan) return b.CreateSelect(b.CreateFCmp(beats, x, y), x, y);
  if (constant_of(x) && !constant_of(y)) std::swap(x, y);
  if (const auto* c = constant_of(y); c && !c->isNaN()) {
    // One comparison: a NaN in x wins because the comparison is unordered; the constant wins a tie of zeros
    // when it is the zero to prefer (+0 for max), and x wins it when it is the other one.
    const bool constant_wins_ties = c->isZero() && c->isNegative() != max;
    if (constant_wins_ties) return b.CreateSelect(max ? b.CreateFCmpUGT(x, y) : b.CreateFCmpULT(x, y), x, y);
    return b.CreateSelect(b.CreateFCmp(beats, y, x), y, x);
  }
  if (is_x86(b)) {
    // Two instructions that each give their second operand when either is NaN or both are zero: they differ in these cases only,
    // where the bits of both together give what wins; but the bits of a NaN and a number, if both must be set, may be those of a
    // number. (The intrinsic below becomes more instructions here.)
    Value one = b.CreateSelect(b.CreateFCmp(beats, x, y), x, y),
          other = b.CreateSelect(b.CreateFCmp(beats, y, x), y, x);
    if (!max) return from_bits(b.CreateOr(bits(one), bits(other)), x->getType());
    Value is_nan = b.CreateSExt(b.CreateFCmpUNO(x, y), int_like(x->getType()));
    return from_bits(b.CreateOr(b.CreateAnd(bits(one), bits(other)), is_nan), x->getType());
  }
#if LLVM_VERSION_MAJOR >= 17
  return b.CreateBinaryIntrinsic(max ? ::llvm::Intrinsic::maximum : ::llvm::Intrinsic::minimum, x, y);
#else
  Value chosen = b.CreateSelect(b.CreateFCmp(beats, x, y), x, y);
  Value both = max ? b.CreateAnd(bits(x), bits(y))
                   : b.CreateOr(bits(x), bits(y));  // of equal values: the zero to prefer
  chosen = b.CreateSelect(b.CreateFCmpOEQ(x, y), from_bits(both, x->getType()), chosen);
  return b.CreateSelect(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), chosen);
#endif
}

}  // namespace lathe::codegen::cpu
