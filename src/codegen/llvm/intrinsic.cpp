// Calls: exact float operations, integer bit operations, reductions of a vector, mathematical functions
// (math.h), and functions of the user's.

#include <cmath>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu {

using Value = ::llvm::Value*;

Value Emitter::emit_call(const Call& e) {
  if (e.op == Intrinsic::Extern) return emit_extern(e);
  internal_check(
      e.op != Intrinsic::BarrierBlock && e.op != Intrinsic::BarrierWarp && e.op != Intrinsic::Prefetch,
      "an effect is left in a lowered program that a CPU expression cannot have");
  std::vector<Value> args;
  for (const Expr& arg : e.args) args.push_back(emit(arg));
  const DataType from = e.args.at(0).dtype();
  switch (e.op) {
    case Intrinsic::Reinterpret: return emit_reinterpret(e.dtype, from, args[0]);
    case Intrinsic::VectorSum:
    case Intrinsic::VectorProd:
    case Intrinsic::VectorMin:
    case Intrinsic::VectorMax: return emit_reduction(e, args[0]);
    default: break;
  }
  if (!from.is_float()) return emit_integer_call(e, args);
  if (!is_half(from)) return emit_float_call(e, args);
  for (std::size_t i = 0; i < args.size(); ++i) args[i] = ops.widen_half(e.args[i].dtype(), args[i]);
  Value result = emit_float_call(e, args);
  return e.dtype.is_bool() ? result : ops.narrow_half(e.dtype, result);
}

Value Emitter::emit_float_call(const Call& e, std::vector<Value> args) {
  Value x = args[0];
  const double infinity = HUGE_VAL;
  switch (e.op) {
    case Intrinsic::Sqrt: return ops.sqrt(x);
    case Intrinsic::Rsqrt: return b.CreateFDiv(ops.real(x, 1), ops.sqrt(x));
    case Intrinsic::Floor: return ops.floor(x);
    case Intrinsic::Ceil: return ops.ceil(x);
    case Intrinsic::Round: return ops.round_even(x);
    case Intrinsic::Trunc: return ops.trunc(x);
    case Intrinsic::CopySign: return ops.copysign(x, args[1]);
    case Intrinsic::Fma: return ops.fma(x, args[1], args[2]);
    case Intrinsic::Abs: return ops.abs(x);
    case Intrinsic::IsNan: return ops.is_nan(x);
    case Intrinsic::IsInf: return b.CreateFCmpOEQ(ops.abs(x), ops.real(x, infinity));
    case Intrinsic::IsFinite: return b.CreateFCmpOLT(ops.abs(x), ops.real(x, infinity));
    default: break;
  }
  const DataType type{TypeCode::Float, static_cast<std::uint8_t>(x->getType()->getScalarSizeInBits())};
  // The error bounds of the functions rest on the order of their operations, whatever the math mode of the block.
  const ::llvm::IRBuilderBase::FastMathFlagGuard as_before(b);
  b.clearFastMathFlags();
  if (!is_scalar_only(e.op, type)) return emit_math(ops, e.op, args);
  return call_by_lane(std::string(spelling(e.op)) + (type.bits == 32 ? "f" : ""),
                      x->getType()->getScalarType(), args,
                      /*pure=*/true);
}

Value Emitter::emit_integer_call(const Call& e, const std::vector<Value>& args) {
  const DataType type = e.args[0].dtype();
  Value x = args[0];
  switch (e.op) {
    case Intrinsic::Abs:
      return type.is_unsigned() || type.is_bool()
                 ? x
                 : b.CreateBinaryIntrinsic(::llvm::Intrinsic::abs, x, /*INT_MIN is poison=*/b.getFalse());
    case Intrinsic::BitAnd: return b.CreateAnd(x, args[1]);
    case Intrinsic::BitOr: return b.CreateOr(x, args[1]);
    case Intrinsic::BitXor: return b.CreateXor(x, args[1]);
    case Intrinsic::BitNot: return b.CreateNot(x);
    case Intrinsic::ShiftLeft:
    case Intrinsic::ShiftRight: return emit_shift(e.op == Intrinsic::ShiftLeft, type, x, args[1]);
    case Intrinsic::Popcount: return b.CreateUnaryIntrinsic(::llvm::Intrinsic::ctpop, x);
    case Intrinsic::CountLeadingZeros:
      return b.CreateBinaryIntrinsic(::llvm::Intrinsic::ctlz, x, /*zero is poison=*/b.getFalse());
    default:
      throw InternalError(std::string("intrinsic on integers that has no meaning for them: ") +
                          spelling(e.op));
  }
}

/// Halves against halves: the upper lanes onto the lower ones, until one is left.
Value Emitter::emit_reduction(const Call& e, Value x) {
  const DataType type = e.args[0].dtype().element();
  auto combine = [&](Value p, Value q) {
    const DataType wide = type.with_lanes(lanes_of(p));
    if (is_half(type)) {
      p = ops.widen_half(type, p);
      q = ops.widen_half(type, q);
    }
    Value result = nullptr;
    const bool max = e.op == Intrinsic::VectorMax;
    if (e.op == Intrinsic::VectorMin || max)
      result = type.is_float() ? ops.min_max(max, p, q, module_.options.nnan)
                               : emit_integer(max ? BinaryOp::Max : BinaryOp::Min, wide, p, q);
    else if (e.op == Intrinsic::VectorSum)
      result = type.is_float() ? b.CreateFAdd(p, q) : emit_integer(BinaryOp::Add, wide, p, q);
    else
      result = type.is_float() ? b.CreateFMul(p, q) : emit_integer(BinaryOp::Mul, wide, p, q);
    return is_half(type) ? ops.narrow_half(type, result) : result;
  };
  auto lanes_from = [&](Value v, int first, int count) -> Value {
    if (count == 1) return b.CreateExtractElement(v, static_cast<std::uint64_t>(first));
    std::vector<int> pick(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) pick[static_cast<std::size_t>(i)] = first + i;
    return b.CreateShuffleVector(v, pick);
  };
  Value left_over = nullptr;
  for (int lanes = lanes_of(x); lanes > 1; lanes /= 2) {
    if (lanes % 2) {
      Value last = lanes_from(x, lanes - 1, 1);
      left_over = left_over ? combine(last, left_over) : last;
    }
    x = combine(lanes_from(x, 0, lanes / 2), lanes_from(x, lanes / 2, lanes / 2));
  }
  return left_over ? combine(x, left_over) : x;
}

Value Emitter::call_by_lane(const std::string& symbol, Type result, const std::vector<Value>& args,
                            bool pure) {
  std::vector<Type> types;
  int lanes = 1;
  for (Value arg : args) {
    types.push_back(arg->getType()->getScalarType());
    lanes = std::max(lanes, lanes_of(arg));
  }
  ::llvm::FunctionCallee callee =
      module_.hook(symbol.c_str(), ::llvm::FunctionType::get(result, types, false));
  if (pure) {
    auto* function = ::llvm::cast<::llvm::Function>(callee.getCallee());
    function->setDoesNotAccessMemory();
    function->setWillReturn();
  }
  if (lanes == 1) return b.CreateCall(callee, args);
  Value whole = ::llvm::PoisonValue::get(with_lanes(result, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<Value> at;
    for (Value arg : args)
      at.push_back(lanes_of(arg) == 1 ? arg : b.CreateExtractElement(arg, static_cast<std::uint64_t>(lane)));
    whole = b.CreateInsertElement(whole, b.CreateCall(callee, at), static_cast<std::uint64_t>(lane));
  }
  return whole;
}

/// Arguments go by value: Bool as one byte, 16-bit floats as their bits.
Value Emitter::emit_extern(const Call& e) {
  std::vector<Value> args;
  for (const Expr& arg : e.args) args.push_back(to_memory(arg.dtype(), emit(arg)));
  Value result =
      call_by_lane(e.symbol, memory_type(module_.context, e.dtype.element()), args, /*pure=*/false);
  return from_memory(e.dtype, result);
}

/// A call for its effect: what it gets of a load is the address.
void Emitter::emit_effect(const Call& e) {
  std::vector<Value> args;
  std::vector<Type> types;
  for (const Expr& arg : e.args) {
    const Load* load = arg.as<Load>();
    args.push_back(load ? address_of(*load) : to_memory(arg.dtype(), emit(arg)));
    types.push_back(args.back()->getType());
  }
  b.CreateCall(module_.hook(e.symbol.c_str(), ::llvm::FunctionType::get(b.getVoidTy(), types, false)), args);
}

}  // namespace lathe::codegen::cpu
