#include "codegen/llvm/compile.h"

#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>

#include "codegen/llvm/dispatch.h"
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

#define LATHE_TEXT_OF(symbol) #symbol
#define LATHE_NAME_OF(symbol) LATHE_TEXT_OF(symbol)
constexpr const char* kRuntimeAbiSymbol = LATHE_NAME_OF(LATHE_RUNTIME_ABI_SYMBOL);
#undef LATHE_NAME_OF
#undef LATHE_TEXT_OF

/// `const int32_t lathe_module_abi`, which a loader compares with its runtime. Weak, so that objects link together. And a
/// reference to the symbol that only a runtime of that number has, for the linker to find missing.
void emit_abi_number(Compilation& c) {
  auto* type = ::llvm::Type::getInt32Ty(c.context);
  auto constant = [&](const char* name, ::llvm::Constant* value, auto linkage) {
    auto* global = ::llvm::cast<::llvm::GlobalVariable>(c.module->getOrInsertGlobal(name, value->getType()));
    global->setConstant(true);
    global->setLinkage(linkage);
    global->setInitializer(value);
    return global;
  };
  constant(LATHE_MODULE_ABI_SYMBOL, ::llvm::ConstantInt::get(type, LATHE_RUNTIME_ABI),
           ::llvm::GlobalValue::WeakODRLinkage);
  ::llvm::appendToUsed(*c.module,
                       {constant("runtime_abi", c.module->getOrInsertGlobal(kRuntimeAbiSymbol, type),
                                 ::llvm::GlobalValue::PrivateLinkage)});
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

std::vector<char> compile_lowered(const std::vector<Program>& programs, const std::string& table,
                                  const std::vector<std::int64_t>& numbers, const Machine& machine,
                                  const Options& options) {
  Compilation c(table, machine, options);
  for (const Program& program : programs) emit_kernel(c.shared, program, kernel_symbol(program));
  const std::vector<std::uint64_t> bits(numbers.begin(), numbers.end());
  ::llvm::Constant* data = ::llvm::ConstantDataArray::get(c.context, bits);
  auto* global = ::llvm::cast<::llvm::GlobalVariable>(c.module->getOrInsertGlobal(table, data->getType()));
  global->setConstant(true);
  global->setInitializer(data);
  check_module(*c.module);
  optimize(*c.module, *c.target);
  return emit_object(*c.module, *c.target);
}

ModuleObject compile_module(const std::vector<ModuleKernel>& kernels, const std::string& module_name,
                            const Machine& machine, const Options& options) {
  Compilation c(module_name, machine, options);
  for (const ModuleKernel& kernel : kernels) {
    ::llvm::Function* function = emit_kernel(c.shared, kernel.lowered, kernel.name + "_kernel");
    emit_entries(c.shared, kernel.source, function, kernel.name, kernel.label);
  }
  emit_abi_number(c);
  check_module(*c.module);
  optimize(*c.module, *c.target);
  ModuleObject object;
  object.needs = needs_of(*c.module);
  object.bytes = emit_object(*c.module, *c.target);
  return object;
}

std::vector<char> compile_dispatch(const std::vector<DispatchKernel>& kernels,
                                   const std::vector<DispatchLevel>& levels, const std::string& module_name,
                                   const Machine& machine, const Options& options) {
  Compilation c(module_name, machine, options);
  for (const DispatchKernel& kernel : kernels) emit_dispatch(c.shared, kernel, levels);
  emit_abi_number(c);
  check_module(*c.module);
  optimize(*c.module, *c.target);
  return emit_object(*c.module, *c.target);
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
