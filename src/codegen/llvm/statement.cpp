// Statements: loops in LLVM's canonical (rotated) form, temporaries, error returns.

#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/llvm/emitter.h"
#include "lower/lower.h"

namespace lathe::codegen::cpu {

using Value = ::llvm::Value*;

namespace {

constexpr int kOutOfMemory = 1;  // LATHE_ERROR_OUT_OF_MEMORY

/// Most bytes of temporaries in one frame. Buffers whose lives do not meet share their place, so this is an
/// upper bound.
std::int64_t frame_limit(const Options& options) { return 4 * options.stack_limit; }

}  // namespace

Emitter::Emitter(ModuleContext& module, ::llvm::Function* function, std::string kernel)
    : module_(module),
      function_(function),
      kernel_(std::move(kernel)),
      b(::llvm::BasicBlock::Create(module.context, "entry", function)),
      ops{b, module.features} {}

::llvm::BasicBlock* Emitter::new_block(const char* name) {
  return ::llvm::BasicBlock::Create(module_.context, name, function_);
}

void Emitter::emit_return(Value code) {
  const ::llvm::FunctionCallee release =
      module_.hook("lathe_workspace_free", ::llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false));
  for (auto block = workspaces_.rbegin(); block != workspaces_.rend(); ++block)
    b.CreateCall(release, {*block});
  // Non-temporal stores are weakly ordered: whoever is told that the kernel is done must see them.
  if (streamed_) {
    if (module_.features.x86)
      b.CreateIntrinsic(::llvm::Intrinsic::x86_sse_sfence, ::llvm::ArrayRef<Type>(),
                        ::llvm::ArrayRef<Value>());
    else
      b.CreateFence(::llvm::AtomicOrdering::SequentiallyConsistent);
  }
  b.CreateRet(code);
}

void Emitter::finish() { emit_return(b.getInt32(0)); }

void Emitter::emit(const Stmt& s) {
  memo_.clear();
  memo_order_.clear();
  switch (s.kind()) {
    case StmtKind::For: return emit_for(*s.as<For>());
    case StmtKind::Store: return emit_store(*s.as<Store>());
    case StmtKind::Seq:
      for (const Stmt& part : s.as<Seq>()->stmts) emit(part);
      return;
    case StmtKind::If: return emit_if(*s.as<If>());
    case StmtKind::Let: {
      const Let& let = *s.as<Let>();
      vars_[let.var.node()] = emit(let.value);
      multiples_[let.var.node()] = multiple_of(let.value);
      return emit(let.body);
    }
    case StmtKind::Allocate: return emit_allocate(*s.as<Allocate>());
    case StmtKind::Evaluate: return emit_evaluate(s.as<Evaluate>()->value);
    case StmtKind::Block: break;
  }
  throw InternalError("a block is left in a lowered program");
}

/// What `MathMode::Fast` allows: any order of sums and products, division by the reciprocal. NaN, infinity and the results
/// of functions stay as they are.
static ::llvm::FastMathFlags reassociating() {
  ::llvm::FastMathFlags flags;
  flags.setAllowReassoc();
  flags.setAllowReciprocal();
  flags.setAllowContract();
  flags.setNoSignedZeros();
  return flags;
}

void Emitter::emit_for(const For& loop) {
  if (loop.for_kind == ForKind::Parallel) return emit_parallel(loop);
  internal_check(loop.for_kind != ForKind::ThreadBound && loop.for_kind != ForKind::Vectorized,
                 "a loop kind is left in a lowered program that a CPU does not have");
  const ::llvm::Type* type = value_type_of(loop.var.dtype());
  const auto constant = as_int(loop.extent);
  if (constant && *constant <= 0) return;
  Value zero = ::llvm::ConstantInt::get(const_cast<::llvm::Type*>(type), 0);
  if (constant && *constant == 1) {
    vars_[loop.var.node()] = zero;
    const ::llvm::IRBuilderBase::FastMathFlagGuard as_before(b);
    if (loop.annotations.count(lower::kMathNote)) b.setFastMathFlags(reassociating());
    return emit(loop.body);
  }
  Value extent = convert_index(emit(loop.extent), const_cast<::llvm::Type*>(type));
  emit_serial(loop, zero, extent, constant.has_value());
}

/// first, first + 1, … end - 1; `runs` says that there is at least one.
void Emitter::emit_serial(const For& loop, Value first, Value end, bool runs) {
  ::llvm::BasicBlock* body = new_block(loop.var.name().c_str());
  ::llvm::BasicBlock* exit = new_block("exit");
  ::llvm::BasicBlock* before = b.GetInsertBlock();
  if (runs)
    b.CreateBr(body);
  else
    b.CreateCondBr(b.CreateICmpSLT(first, end), body, exit);
  b.SetInsertPoint(body);
  ::llvm::PHINode* index = b.CreatePHI(first->getType(), 2, loop.var.name());
  index->addIncoming(first, before);
  vars_[loop.var.node()] = index;
  emit(loop.body);
  Value next = b.CreateAdd(index, ::llvm::ConstantInt::get(first->getType(), 1), "next", /*HasNUW=*/true,
                           /*HasNSW=*/true);
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, end), body, exit);
  b.SetInsertPoint(exit);
}

void Emitter::emit_if(const If& s) {
  const auto constant = as_int(s.condition);
  if (constant) {
    const Stmt& taken = *constant ? s.then_case : s.else_case;
    if (taken) emit(taken);
    return;
  }
  Value condition = emit(s.condition);
  ::llvm::BasicBlock* yes = new_block("then");
  ::llvm::BasicBlock* no = s.else_case ? new_block("else") : nullptr;
  ::llvm::BasicBlock* join = new_block("join");
  b.CreateCondBr(condition, yes, no ? no : join);
  b.SetInsertPoint(yes);
  emit(s.then_case);
  b.CreateBr(join);
  if (no) {
    b.SetInsertPoint(no);
    emit(s.else_case);
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
}

void Emitter::emit_allocate(const Allocate& s) {
  std::int64_t elements = 1, bytes = 0;
  bool constant = true;
  for (const Expr& extent : s.buffer->shape) {
    const auto value = as_int(extent);
    constant =
        constant && value && !__builtin_mul_overflow(elements, std::max<std::int64_t>(*value, 0), &elements);
  }
  constant = constant && !__builtin_mul_overflow(elements, std::int64_t{s.buffer->dtype.bytes()}, &bytes);
  if (constant && bytes <= module_.options.stack_limit &&
      stack_bytes_ + bytes <= frame_limit(module_.options)) {
    stack_bytes_ += bytes;
    emit_stack(s, elements);
  } else {
    emit_workspace(s);
  }
}

void Emitter::emit_stack(const Allocate& s, std::int64_t elements) {
  ::llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  Type element = memory_type(module_.context, s.buffer->dtype);
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(elements, 1));
  auto* type = ::llvm::ArrayType::get(element, count);
  ::llvm::AllocaInst* memory = at_entry.CreateAlloca(type, nullptr, s.buffer->name);
  memory->setAlignment(::llvm::Align(static_cast<std::uint64_t>(std::max(1, s.buffer->alignment))));
  const std::uint64_t bytes = count * static_cast<std::uint64_t>(s.buffer->dtype.bytes());
  lifetime_start(b, memory, bytes);
  buffers_[s.buffer.get()] = memory;
  emit(s.body);
  lifetime_end(b, memory, bytes);
}

void Emitter::emit_workspace(const Allocate& s) {
  // The product of the extents, or all ones when it does not fit: no host has that much.
  Value bytes = b.getInt64(static_cast<std::uint64_t>(s.buffer->dtype.bytes()));
  Value overflow = b.getFalse();
  for (const Expr& extent : s.buffer->shape) {
    Value product = b.CreateBinaryIntrinsic(::llvm::Intrinsic::umul_with_overflow, bytes,
                                            emit_checked_index(extent, overflow));
    bytes = b.CreateExtractValue(product, 0);
    overflow = b.CreateOr(overflow, b.CreateExtractValue(product, 1));
  }
  bytes = b.CreateSelect(overflow, b.getInt64(~std::uint64_t{0}), bytes);
  const int alignment = std::max(1, s.buffer->alignment);
  const ::llvm::FunctionCallee allocate =
      module_.hook("lathe_workspace_alloc",
                   ::llvm::FunctionType::get(b.getPtrTy(), {b.getInt64Ty(), b.getInt64Ty()}, false));
  // One byte at least: a block of none may be the null that means failure.
  Value at_least_one = b.CreateBinaryIntrinsic(::llvm::Intrinsic::umax, bytes, b.getInt64(1));
  ::llvm::CallInst* memory =
      b.CreateCall(allocate, {at_least_one, b.getInt64(static_cast<std::uint64_t>(alignment))});
  memory->addRetAttr(::llvm::Attribute::NoAlias);
  memory->addRetAttr(::llvm::Attribute::getWithAlignment(
      module_.context, ::llvm::Align(static_cast<std::uint64_t>(alignment))));
  memory->setName(s.buffer->name);
  ::llvm::BasicBlock *failed = new_block("no_memory"), *ready = new_block("allocated");
  b.CreateCondBr(b.CreateIsNull(memory), failed, ready,
                 ::llvm::MDBuilder(module_.context).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(failed);
  emit_return(b.getInt32(kOutOfMemory));
  b.SetInsertPoint(ready);
  buffers_[s.buffer.get()] = memory;
  workspaces_.push_back(memory);
  emit(s.body);
  workspaces_.pop_back();
  b.CreateCall(
      module_.hook("lathe_workspace_free", ::llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false)),
      {memory});
}

void Emitter::emit_evaluate(const Expr& e) {
  const Call* call = e.as<Call>();
  if (call && call->op == Intrinsic::Prefetch) {
    const Load* load = call->args.at(0).as<Load>();
    internal_check(load != nullptr, "prefetch of something that is no load");
    emit_prefetch(*load);
    return;
  }
  if (call && call->op == Intrinsic::Extern) return emit_effect(*call);
  emit(e);
}

}  // namespace lathe::codegen::cpu
