// Parallel loops: the body becomes a function over [begin, end), called by the host's threads through
// lathe_parallel_launch. What the body uses from outside travels in a struct on the launching thread's stack,
// which outlives the launch.

#include "codegen/llvm/emitter.h"
#include "ir/visitor.h"

namespace lathe::codegen::cpu {
namespace {

/// Variables and buffers of a loop that are defined outside it, in order of first use.
struct Captures {
  std::vector<const VarNode*> vars;
  std::vector<const BufferNode*> buffers;
};

template <class VarDefined, class BufferDefined>
Captures captures_of(const For& loop, const VarDefined& var_defined, const BufferDefined& buffer_defined) {
  Captures found;
  std::unordered_set<const void*> seen;
  auto use_buffer = [&](const Buffer& buffer) {
    if (buffer_defined(buffer.get()) && seen.insert(buffer.get()).second)
      found.buffers.push_back(buffer.get());
  };
  walk(
      loop.body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<Store>()) use_buffer(store->buffer);
        // Extents of an allocation are not among the expressions of a walk.
        if (const auto* allocate = s.as<Allocate>())
          for (const Expr& extent : allocate->buffer->shape)
            for (const Var& var : free_vars(extent))
              if (var_defined(var.node()) && seen.insert(var.node()).second) found.vars.push_back(var.node());
        return true;
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<Load>()) use_buffer(load->buffer);
        if (const auto* var = e.as<VarNode>())
          if (var_defined(var) && seen.insert(var).second) found.vars.push_back(var);
        return true;
      });
  return found;
}

}  // namespace

void Emitter::emit_parallel(const For& loop) {
  const Captures captured = captures_of(
      loop, [&](const VarNode* v) { return vars_.count(v) > 0; },
      [&](const BufferNode* f) { return buffers_.count(f) > 0; });

  std::vector<Value> values;
  for (const BufferNode* buffer : captured.buffers) values.push_back(buffers_.at(buffer));
  for (const VarNode* var : captured.vars) values.push_back(vars_.at(var));
  std::vector<::llvm::Type*> types;
  for (Value value : values) types.push_back(value->getType());
  auto* record = ::llvm::StructType::get(module_.context, types);

  auto* task_type =
      ::llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
  const std::string name = kernel_ + ".parallel" + std::to_string(module_.next_parallel_loop++);
  ::llvm::Function* task = module_.new_function(name, task_type, /*internal=*/true);
  task->getArg(0)->addAttr(::llvm::Attribute::NoAlias);
  task->getArg(0)->addAttr(::llvm::Attribute::ReadOnly);

  // The task.
  Emitter inner(module_, task, kernel_);
  Builder& in = inner.b;
  unsigned field = 0;
  auto load_field = [&](const std::string& label) {
    ::llvm::LoadInst* load =
        in.CreateLoad(types[field], in.CreateStructGEP(record, task->getArg(0), field), label);
    load->setMetadata(::llvm::LLVMContext::MD_invariant_load, ::llvm::MDNode::get(module_.context, {}));
    ++field;
    return load;
  };
  for (const BufferNode* buffer : captured.buffers) {
    ::llvm::LoadInst* load = load_field(buffer->name);
    if (const auto* outer = ::llvm::dyn_cast<::llvm::LoadInst>(buffers_.at(buffer)))
      for (unsigned kind : {::llvm::LLVMContext::MD_nonnull, ::llvm::LLVMContext::MD_align,
                            ::llvm::LLVMContext::MD_dereferenceable})
        load->setMetadata(kind, outer->getMetadata(kind));
    inner.buffers_[buffer] = load;
  }
  for (const VarNode* var : captured.vars) inner.vars_[var] = load_field(var->name);
  inner.multiples_ = multiples_;
  Type index = inner.value_type_of(loop.var.dtype());
  inner.emit_serial(loop, in.CreateTrunc(task->getArg(1), index), in.CreateTrunc(task->getArg(2), index),
                    /*runs=*/false);
  inner.finish();

  // The launch.
  ::llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  ::llvm::AllocaInst* context = at_entry.CreateAlloca(record, nullptr, "context");
  for (std::size_t i = 0; i < values.size(); ++i)
    b.CreateStore(values[i], b.CreateStructGEP(record, context, static_cast<unsigned>(i)));
  Value extent = convert_index(emit(loop.extent), b.getInt64Ty());
  auto* launch_type =
      ::llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
  Value code = b.CreateCall(module_.hook("lathe_parallel_launch", launch_type), {task, context, extent});
  ::llvm::BasicBlock *failed = new_block("failed"), *done = new_block("done");
  b.CreateCondBr(b.CreateIsNotNull(code), failed, done,
                 ::llvm::MDBuilder(module_.context).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(failed);
  emit_return(code);
  b.SetInsertPoint(done);
}

}  // namespace lathe::codegen::cpu
