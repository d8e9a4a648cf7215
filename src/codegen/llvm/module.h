#pragma once
// Kernels as functions of an LLVM module.

#include "codegen/llvm/emitter.h"

namespace lathe::codegen::cpu {

/// Adds the kernel of a lowered program to the module.
::llvm::Function* emit_kernel(ModuleContext& module, const Program& program, const std::string& symbol);

/// Throws InternalError when LLVM's verifier objects.
void check_module(const ::llvm::Module& module);

}  // namespace lathe::codegen::cpu
