#pragma once
// From what the user asks for to what lowering and code generation take.

#include "codegen/llvm/compile.h"
#include "lathe/compile.h"
#include "lower/lower.h"

namespace lathe::driver {

lower::Options lower_options(const Target& target, const CompileOptions& options);
/// Throws TargetError C010 for a target that is no CPU.
codegen::cpu::Machine machine_for(const Target& target);
/// The same, of which nothing but the listed features is taken for granted: the least CPU of the architecture with those.
codegen::cpu::Machine least_machine_for(const Target& target);
codegen::cpu::Options codegen_options(const Target& target);
/// Throws TargetError C010 when this machine lacks a feature of the target.
void check_runs_here(const Target& target);
/// Verified and lowered.
Program lowered(const Program& program, const Target& target, const CompileOptions& options);

}  // namespace lathe::driver
