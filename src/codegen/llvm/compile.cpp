#include "codegen/llvm/compile.h"

#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/module.h"
#include "codegen/llvm/target_machine.h"

namespace lathe::codegen::cpu {
namespace {

/// A module with the kernel in it. LLVM's contexts are not thread-safe: each compilation has its own.
struct Compilation {
  Compilation(const Program& program, const Machine& machine, const Options& options)
      : target(make_target_machine(machine)),
        module(std::make_unique<::llvm::Module>(program->name, context)) {
    module->setDataLayout(target->createDataLayout());
    set_triple(*module, target->getTargetTriple().str());
    emit_kernel(*module, program, features_of(*target), options);
    check_module(*module);
  }

  ::llvm::LLVMContext context;
  std::unique_ptr<::llvm::TargetMachine> target;
  std::unique_ptr<::llvm::Module> module;
};

}  // namespace

std::vector<char> compile_lowered(const Program& program, const Machine& machine, const Options& options) {
  Compilation c(program, machine, options);
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
