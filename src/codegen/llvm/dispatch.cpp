#include "codegen/llvm/dispatch.h"

#include "lathe/runtime/c_api.h"

namespace lathe::codegen::cpu {
namespace {

/// One function of the object, under `name` and, for a level, under `base` + suffix + `ending`.
void emit_choice(ModuleContext& module, const std::string& base, const std::string& ending,
                 const std::vector<DispatchLevel>& levels, const std::vector<::llvm::Type*>& types) {
  ::llvm::LLVMContext& context = module.context;
  auto* i32 = ::llvm::Type::getInt32Ty(context);
  auto* i64 = ::llvm::Type::getInt64Ty(context);
  auto* pointer = ::llvm::PointerType::getUnqual(context);
  auto* type = ::llvm::FunctionType::get(i32, types, false);
  ::llvm::Function* function = module.new_function(base + ending, type, /*internal=*/false);
  Builder b(::llvm::BasicBlock::Create(context, "entry", function));
  std::vector<::llvm::Value*> arguments;
  for (::llvm::Argument& argument : function->args()) arguments.push_back(&argument);

  ::llvm::Value* have =
      b.CreateCall(module.hook("lathe_cpu_features", ::llvm::FunctionType::get(i64, false)));
  std::string names;
  for (const DispatchLevel& level : levels) {
    names += (names.empty() ? "" : ", ") + level.name;
    ::llvm::FunctionCallee version = module.module.getOrInsertFunction(base + level.suffix + ending, type);
    auto* there = ::llvm::cast<::llvm::Function>(version.getCallee());
    there->setDoesNotThrow();
    there->setVisibility(::llvm::GlobalValue::HiddenVisibility);
    auto* runs = ::llvm::BasicBlock::Create(context, "runs", function);
    auto* next = ::llvm::BasicBlock::Create(context, "next", function);
    ::llvm::Value* needs = b.getInt64(level.features);
    b.CreateCondBr(b.CreateICmpEQ(b.CreateAnd(have, needs), needs), runs, next);
    b.SetInsertPoint(runs);
    b.CreateRet(b.CreateCall(version, arguments));
    b.SetInsertPoint(next);
  }
  auto* set_error = ::llvm::FunctionType::get(::llvm::Type::getVoidTy(context), {i32, pointer}, false);
  b.CreateCall(
      module.hook("lathe_set_error", set_error),
      {b.getInt32(LATHE_ERROR_CPU),
       module.text(base + ": this CPU has not the features of any level it was built for (" + names + ")")});
  b.CreateRet(b.getInt32(LATHE_ERROR_CPU));
}

}  // namespace

void emit_dispatch(ModuleContext& module, const DispatchKernel& kernel,
                   const std::vector<DispatchLevel>& levels) {
  auto* pointer = ::llvm::PointerType::getUnqual(module.context);
  std::vector<::llvm::Type*> types;
  for (const Param& param : kernel.source->params)
    types.push_back(param.buffer ? static_cast<::llvm::Type*>(pointer)
                                 : ::llvm::Type::getInt64Ty(module.context));
  emit_choice(module, kernel.name, "", levels, types);
  emit_choice(module, kernel.name, "_dlpack", levels, types);
  emit_choice(module, kernel.name, "_kernel", levels, {pointer, pointer});
}

}  // namespace lathe::codegen::cpu
