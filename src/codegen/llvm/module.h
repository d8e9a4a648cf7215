#pragma once
// Kernels as functions of an LLVM module.

#include "codegen/llvm/compile.h"
#include "codegen/llvm/llvm_headers.h"

namespace lathe::codegen::cpu {

/// Adds the kernel of a lowered program to the module.
::llvm::Function* emit_kernel(::llvm::Module& module, const Program& program, const Features& features,
                              const Options& options);

/// Throws InternalError when LLVM's verifier objects.
void check_module(const ::llvm::Module& module);

}  // namespace lathe::codegen::cpu
