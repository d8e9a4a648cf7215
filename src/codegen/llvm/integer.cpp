// Integer arithmetic with the meanings of lathe/expr.h: data integers wrap, division is total, shifts
// saturate; index arithmetic does not overflow.

#include "codegen/llvm/emitter.h"

namespace lathe::codegen::cpu {
namespace {

using Value = ::llvm::Value*;
using Type = ::llvm::Type*;

/// The constant in every lane, if it is one.
std::optional<std::int64_t> constant_of(Value x) {
  const auto* constant = ::llvm::dyn_cast<::llvm::Constant>(x);
  if (constant && x->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* integer = ::llvm::dyn_cast_or_null<::llvm::ConstantInt>(constant);
  if (!integer || integer->getBitWidth() > 64) return std::nullopt;
  return integer->getSExtValue();
}

/// Quotient of vectors of at most 32 bits, divisors not zero, through floats: no processor divides integer
/// vectors, and one division of 4 doubles takes less than 4 of integers. Exact: a quotient that is no integer
/// is further from one than the rounding error, since floats have twice the bits.
Value divide_by_floats(const Ops& o, bool is_unsigned, Value x, Value y) {
  Builder& b = o.b;
  const bool narrow = x->getType()->getScalarSizeInBits() <= 8;
  Type real = o.with_element(x->getType(), narrow ? b.getFloatTy() : b.getDoubleTy());
  auto to_real = [&](Value v) { return is_unsigned ? b.CreateUIToFP(v, real) : b.CreateSIToFP(v, real); };
  Value quotient = b.CreateFDiv(to_real(x), to_real(y));
  return is_unsigned ? b.CreateFPToUI(quotient, x->getType()) : b.CreateFPToSI(quotient, x->getType());
}

}  // namespace

Value Emitter::convert_index(Value x, Type type) { return b.CreateSExtOrTrunc(x, type); }

Value Emitter::emit_integer(BinaryOp op, DataType type, Value x, Value y) {
  // Lanes that a mask turns off may run past the range for which 32 bits were proved enough: no promise for
  // vectors.
  const bool no_wrap = type.is_index() && !type.is_vector();
  const bool is_unsigned = type.is_unsigned() || type.is_bool();
  switch (op) {
    case BinaryOp::Add: return b.CreateAdd(x, y, "", false, no_wrap);
    case BinaryOp::Sub: return b.CreateSub(x, y, "", false, no_wrap);
    case BinaryOp::Mul: return b.CreateMul(x, y, "", false, no_wrap);
    case BinaryOp::Div: return emit_divide(type, x, y, /*floor=*/false, /*remainder=*/false);
    case BinaryOp::Mod: return emit_divide(type, x, y, /*floor=*/false, /*remainder=*/true);
    case BinaryOp::FloorDiv: return emit_divide(type, x, y, /*floor=*/true, /*remainder=*/false);
    case BinaryOp::FloorMod: return emit_divide(type, x, y, /*floor=*/true, /*remainder=*/true);
    case BinaryOp::Min:
      return b.CreateBinaryIntrinsic(is_unsigned ? ::llvm::Intrinsic::umin : ::llvm::Intrinsic::smin, x, y);
    case BinaryOp::Max:
      return b.CreateBinaryIntrinsic(is_unsigned ? ::llvm::Intrinsic::umax : ::llvm::Intrinsic::smax, x, y);
    default: throw InternalError("operator on integers that has no meaning for them");
  }
}

Value Emitter::emit_checked_index(const Expr& e, Value& overflow) {
  const Binary* op = e.as<Binary>();
  if (!op) return convert_index(emit(e), b.getInt64Ty());
  Value x = emit_checked_index(op->a, overflow), y = emit_checked_index(op->b, overflow);
  const auto checked = [&](::llvm::Intrinsic::ID operation) -> Value {
    Value both = b.CreateBinaryIntrinsic(operation, x, y);
    overflow = b.CreateOr(overflow, b.CreateExtractValue(both, 1));
    return b.CreateExtractValue(both, 0);
  };
  switch (op->op) {
    case BinaryOp::Add: return checked(::llvm::Intrinsic::sadd_with_overflow);
    case BinaryOp::Sub: return checked(::llvm::Intrinsic::ssub_with_overflow);
    case BinaryOp::Mul: return checked(::llvm::Intrinsic::smul_with_overflow);
    default: return emit_integer(op->op, index_type, x, y);
  }
}

Value Emitter::emit_divide(DataType type, Value x, Value y, bool floor, bool remainder) {
  const bool is_unsigned = type.is_unsigned();
  const auto divisor = constant_of(y);
  Value zero = ops.integer(x, 0), one = ops.integer(x, 1);
  if (divisor == 0) return zero;
  if (!is_unsigned && divisor == -1) return remainder ? zero : b.CreateNeg(x);
  const bool power_of_two = divisor && *divisor > 0 && (*divisor & (*divisor - 1)) == 0;
  if (power_of_two && floor && !is_unsigned)  // rounds down, as a shift does
    return remainder ? b.CreateAnd(x, ops.integer(x, *divisor - 1))
                     : b.CreateAShr(x, ops.integer(x, __builtin_ctzll(static_cast<std::uint64_t>(*divisor))));

  // A divisor of 0 gives 0, one of -1 the negation: both are kept away from the instruction, which traps.
  Value is_zero = divisor ? nullptr : b.CreateICmpEQ(y, zero);
  Value is_minus_one = divisor || is_unsigned ? nullptr : b.CreateICmpEQ(y, ops.integer(y, -1));
  Value safe = y;
  if (is_zero) safe = b.CreateSelect(is_zero, one, safe);
  if (is_minus_one) safe = b.CreateSelect(is_minus_one, one, safe);

  const bool by_floats = type.is_vector() && type.bits <= 32 && !divisor;
  Value quotient = by_floats     ? divide_by_floats(ops, is_unsigned, x, safe)
                   : is_unsigned ? b.CreateUDiv(x, safe)
                                 : b.CreateSDiv(x, safe);
  Value rest = b.CreateSub(x, b.CreateMul(quotient, safe));
  if (!by_floats) rest = is_unsigned ? b.CreateURem(x, safe) : b.CreateSRem(x, safe);
  if (floor && !is_unsigned) {
    // The signs differ and something is left: one less.
    Value opposite =
        divisor && *divisor > 0 ? b.CreateICmpSLT(rest, zero)
        : divisor               ? b.CreateICmpSGT(rest, zero)
                  : b.CreateAnd(b.CreateICmpNE(rest, zero), b.CreateICmpSLT(b.CreateXor(rest, safe), zero));
    quotient = b.CreateSelect(opposite, b.CreateSub(quotient, one), quotient);
    rest = b.CreateSelect(opposite, b.CreateAdd(rest, safe), rest);
  }
  // By 1 nothing is left over, which is what the substituted divisor gave for 0 and -1.
  if (remainder) return rest;
  if (is_minus_one) quotient = b.CreateSelect(is_minus_one, b.CreateNeg(x), quotient);
  return is_zero ? b.CreateSelect(is_zero, zero, quotient) : quotient;
}

/// A shift by the width or more, or by a negative amount, gives 0, or the sign for an arithmetic right shift.
Value Emitter::emit_shift(bool left, DataType type, Value x, Value amount) {
  const bool arithmetic = !left && !type.is_unsigned();
  if (arithmetic) {
    amount = b.CreateBinaryIntrinsic(::llvm::Intrinsic::umin, amount, ops.integer(amount, type.bits - 1));
    return b.CreateAShr(x, amount);
  }
  Value shifted = left ? b.CreateShl(x, amount) : b.CreateLShr(x, amount);
  return b.CreateSelect(b.CreateICmpULT(amount, ops.integer(amount, type.bits)), shifted, ops.integer(x, 0));
}

}  // namespace lathe::codegen::cpu
