#include "codegen/llvm/compile.h"

#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "codegen/llvm/entry.h"
#include "codegen/llvm/module.h"
#include "codegen/llvm/target_machine.h"
#include "lathe/runtime/c_api.h"

namespace lathe::codegen::cpu {
namespace {

/// An empty module for a machine. LLVM's contexts are not thread-safe: each compilation has its own.
struct Compilation {
  Compilation(const std::string& name, const Machine& machine, const Options& options)
      : target(make_target_machine(machine)),
        module(std::make_unique<::llvm::Module>(name, context)),
        shared(*module, features_of(*target), options) {
    module->setDataLayout(target->createDataLayout());
    set_triple(*module, target->getTargetTriple().str());
  }
  Compilation(const Program& program, const Machine& machine, const Options& options)
      : Compilation(program->name, machine, options) {
    emit_kernel(shared, program, options.symbol.empty() ? kernel_symbol(program) : options.symbol);
    check_module(*module);
  }

  ::llvm::LLVMContext context;
  std::unique_ptr<::llvm::TargetMachine> target;
  std::unique_ptr<::llvm::Module> module;
  ModuleContext shared;
};

/// `const int32_t lathe_module_abi`, which a loader compares with its runtime. Weak, so that objects link together.
void emit_abi_number(Compilation& c) {
  auto* type = ::llvm::Type::getInt32Ty(c.context);
  new ::llvm::GlobalVariable(*c.module, type, /*isConstant=*/true, ::llvm::GlobalValue::WeakODRLinkage,
                             ::llvm::ConstantInt::get(type, LATHE_RUNTIME_ABI), LATHE_MODULE_ABI_SYMBOL);
}

std::vector<std::string> needs_of(const ::llvm::Module& module) {
  std::vector<std::string> names;
  for (const ::llvm::Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        function.getName().str().rfind("lathe_", 0) != 0)
      names.push_back(function.getName().str());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<char> compile_lowered(const Program& program, const Machine& machine, const Options& options) {
  Compilation c(program, machine, options);
  optimize(*c.module, *c.target);
  return emit_object(*c.module, *c.target);
}

ModuleObject compile_module(const std::vector<ModuleKernel>& kernels, const std::string& module_name,
                            const Machine& machine, const Options& options) {
  Compilation c(module_name, machine, options);
  for (const ModuleKernel& kernel : kernels) {
    ::llvm::Function* function = emit_kernel(c.shared, kernel.lowered, kernel.name + "_kernel");
    emit_entries(c.shared, kernel.source, function, kernel.name);
  }
  emit_abi_number(c);
  check_module(*c.module);
  optimize(*c.module, *c.target);
  ModuleObject object;
  object.needs = needs_of(*c.module);
  object.bytes = emit_object(*c.module, *c.target);
  return object;
}

std::string llvm_ir(const Program& program, const Machine& machine, const Options& options, bool optimized) {
  Compilation c(program, machine, options);
  if (optimized) optimize(*c.module, *c.target);
  std::string text;
  ::llvm::raw_string_ostream stream(text);
  c.module->print(stream, nullptr);
  return stream.str();
}

std::string assembly(const Program& program, const Machine& machine, const Options& options) {
  Compilation c(program, machine, options);
  optimize(*c.module, *c.target);
  return emit_assembly(*c.module, *c.target);
}

}  // namespace lathe::codegen::cpu
