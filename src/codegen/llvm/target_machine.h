#pragma once
// LLVM's description of a Machine, and the two ends of its pipeline: optimise, emit.

#include <memory>
#include <vector>

#include "codegen/llvm/llvm_headers.h"
#include "codegen/llvm/machine.h"

namespace lathe::codegen::cpu {

/// Throws TargetError when LLVM does not know the triple or the CPU.
std::unique_ptr<::llvm::TargetMachine> make_target_machine(const Machine& machine);

Features features_of(const ::llvm::TargetMachine& target);

/// The IR pipeline. The schedule has vectorised and unrolled already, so LLVM's loop transformations stay off, which halves
/// the compile time and changes no speed.
void optimize(::llvm::Module& module, ::llvm::TargetMachine& target);

/// Machine code as an object file, or as assembly text.
std::vector<char> emit_object(::llvm::Module& module, ::llvm::TargetMachine& target);
std::string emit_assembly(::llvm::Module& module, ::llvm::TargetMachine& target);

}  // namespace lathe::codegen::cpu
