#pragma once
// Mathematical functions as polynomials in LLVM IR, for scalars and vectors of any width with the same bits.

#include "codegen/llvm/ops.h"

namespace lathe::codegen::cpu {

/// Is there no such function here, so that a call of libm per lane is emitted instead?
bool is_scalar_only(Intrinsic op, DataType type);

/// The value of the function; `args` are f32 or f64, scalars or vectors.
::llvm::Value* emit_math(const Ops& ops, Intrinsic op, const std::vector<::llvm::Value*>& args);

}  // namespace lathe::codegen::cpu
