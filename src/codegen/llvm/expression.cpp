// Expressions: literals, operators, selection.

#include "codegen/llvm/emitter.h"
#include "ir/visitor.h"

namespace lathe::codegen::cpu {

using Value = ::llvm::Value*;

/// Forgets, at its end, the values that were computed since its start: they are in a block that need not run.
struct Emitter::MemoScope {
  explicit MemoScope(Emitter& e) : emitter(e), size(e.memo_order_.size()) {}
  ~MemoScope() {
    while (emitter.memo_order_.size() > size) {
      emitter.memo_.erase(emitter.memo_order_.back().get());
      emitter.memo_order_.pop_back();
    }
  }
  Emitter& emitter;
  std::size_t size;
};

Value Emitter::emit(const Expr& e) {
  const auto known = memo_.find(e.get());
  if (known != memo_.end()) return known->second;
  Value value = emit_node(e);
  if (memo_.emplace(e.get(), value).second) memo_order_.push_back(e);
  return value;
}

Value Emitter::emit_node(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::IntImm: return ops.integer(value_type_of(e.dtype()), e.as<IntImm>()->value);
    case ExprKind::FloatImm: return emit_literal(e.dtype(), e.as<FloatImm>()->value);
    case ExprKind::Var: {
      const auto found = vars_.find(e.as<VarNode>());
      internal_check(found != vars_.end(), "a variable is used outside its scope in a lowered program");
      return found->second;
    }
    case ExprKind::Binary: return emit_binary(*e.as<Binary>());
    case ExprKind::Not: return b.CreateNot(emit(e.as<Not>()->a));
    case ExprKind::Cast: {
      const Expr& from = e.as<Cast>()->a;
      return emit_cast(e.dtype(), from.dtype(), emit(from));
    }
    case ExprKind::Select: return emit_select(*e.as<Select>());
    case ExprKind::Load: return emit_load(*e.as<Load>());
    case ExprKind::Call: return emit_call(*e.as<Call>());
    case ExprKind::Ramp: return emit_ramp(*e.as<Ramp>());
    case ExprKind::Broadcast: return ops.splat(emit(e.as<Broadcast>()->value), e.dtype().lanes);
  }
  throw InternalError("unknown expression");
}

Value Emitter::emit_literal(DataType type, double value) {
  if (!is_half(type)) return ops.real(value_type_of(type), value);
  ::llvm::APFloat bits(value);
  bool loses = false;
  bits.convert(type.code == TypeCode::BFloat ? ::llvm::APFloat::BFloat() : ::llvm::APFloat::IEEEhalf(),
               ::llvm::APFloat::rmNearestTiesToEven, &loses);
  return ::llvm::ConstantInt::get(value_type_of(type), bits.bitcastToAPInt());
}

Value Emitter::emit_ramp(const Ramp& e) {
  Value base = ops.splat(emit(e.base), e.lanes());
  std::vector<::llvm::Constant*> steps;
  Type element = base->getType()->getScalarType();
  for (int lane = 0; lane < e.lanes(); ++lane)
    steps.push_back(::llvm::ConstantInt::get(element, static_cast<std::uint64_t>(lane)));
  Value stride = ops.splat(emit(e.stride), e.lanes());
  return b.CreateAdd(base, b.CreateMul(stride, ::llvm::ConstantVector::get(steps)));
}

Value Emitter::emit_comparison(BinaryOp op, DataType type, Value x, Value y) {
  using P = ::llvm::CmpInst;
  if (is_half(type)) {
    x = ops.widen_half(type, x);
    y = ops.widen_half(type, y);
  }
  if (type.is_float()) {
    static constexpr P::Predicate kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                                              P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
    return b.CreateFCmp(kFloat[static_cast<int>(op) - static_cast<int>(BinaryOp::Eq)], x, y);
  }
  static constexpr P::Predicate kSigned[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT,
                                             P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  P::Predicate predicate = kSigned[static_cast<int>(op) - static_cast<int>(BinaryOp::Eq)];
  if (type.is_unsigned() || type.is_bool()) predicate = ::llvm::ICmpInst::getUnsignedPredicate(predicate);
  return b.CreateICmp(predicate, x, y);
}

Value Emitter::emit_binary(const Binary& e) {
  if (e.op == BinaryOp::And || e.op == BinaryOp::Or) return emit_logical(e);
  const DataType type = e.a.dtype();
  Value x = emit(e.a), y = emit(e.b);
  if (is_comparison(e.op)) return emit_comparison(e.op, type, x, y);
  if (!type.is_float()) return emit_integer(e.op, type, x, y);
  if (is_half(type)) {
    // f32 has more than twice the bits: rounding its sum, product or quotient again is the same as rounding
    // once.
    x = ops.widen_half(type, x);
    y = ops.widen_half(type, y);
  }
  // The user's arithmetic alone: the polynomials of math.h depend on the order of their operations.
  Builder::FastMathFlagGuard guard(b);
  if (module_.options.fast_math) {
    ::llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    flags.setAllowReciprocal();
    flags.setAllowContract(true);
    flags.setNoSignedZeros();
    flags.setNoNaNs();
    b.setFastMathFlags(flags);
  }
  Value result = nullptr;
  switch (e.op) {
    case BinaryOp::Add: result = b.CreateFAdd(x, y); break;
    case BinaryOp::Sub: result = b.CreateFSub(x, y); break;
    case BinaryOp::Mul: result = b.CreateFMul(x, y); break;
    case BinaryOp::Div: result = b.CreateFDiv(x, y); break;
    case BinaryOp::Min:
    case BinaryOp::Max: result = ops.min_max(e.op == BinaryOp::Max, x, y, module_.options.nnan); break;
    default: throw InternalError("operator on floats that has no meaning for them");
  }
  return is_half(type) ? ops.narrow_half(type, result) : result;
}

namespace {

/// May evaluating it do more than compute: touch memory, or call the user's code?
bool has_access(const Expr& e) {
  bool found = false;
  walk(e, [&](const Expr& part) {
    const Call* call = part.as<Call>();
    found = found || part.as<Load>() || (call && !is_pure(call->op));
    return !found;
  });
  return found;
}

}  // namespace

Value Emitter::emit_branches(Value condition, const std::function<Value()>& if_true,
                             const std::function<Value()>& if_false) {
  ::llvm::BasicBlock *yes = new_block("yes"), *no = new_block("no"), *join = new_block("join");
  b.CreateCondBr(condition, yes, no);
  auto side = [&](::llvm::BasicBlock* block, const std::function<Value()>& value) {
    MemoScope scope(*this);
    b.SetInsertPoint(block);
    Value result = value();
    b.CreateBr(join);
    return std::pair(result, b.GetInsertBlock());
  };
  const auto [true_value, true_block] = side(yes, if_true);
  const auto [false_value, false_block] = side(no, if_false);
  b.SetInsertPoint(join);
  ::llvm::PHINode* phi = b.CreatePHI(true_value->getType(), 2);
  phi->addIncoming(true_value, true_block);
  phi->addIncoming(false_value, false_block);
  return phi;
}

Value Emitter::emit_logical(const Binary& e) {
  const bool is_and = e.op == BinaryOp::And;
  Value x = emit(e.a);
  if (x->getType()->isVectorTy() || !has_access(e.b)) {
    Value y = emit(e.b);
    return is_and ? b.CreateLogicalAnd(x, y) : b.CreateLogicalOr(x, y);
  }
  auto right = [&] { return emit(e.b); };
  if (is_and) return emit_branches(x, right, [&]() -> Value { return b.getFalse(); });
  return emit_branches(
      x, [&]() -> Value { return b.getTrue(); }, right);
}

Value Emitter::emit_select(const Select& e) {
  Value condition = emit(e.condition);
  const bool eager =
      condition->getType()->isVectorTy() || (!has_access(e.if_true) && !has_access(e.if_false));
  if (!eager)
    return emit_branches(
        condition, [&] { return emit(e.if_true); }, [&] { return emit(e.if_false); });
  Value yes = emit(e.if_true);
  return b.CreateSelect(condition, yes, emit(e.if_false));
}

}  // namespace lathe::codegen::cpu
