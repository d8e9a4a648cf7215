#pragma once
// Element types as LLVM types.
//
// A value of Bool is i1 and its memory one byte. f16 and bf16 are i16 in both: arithmetic on them goes
// through f32, so nothing depends on what a target thinks of `half`.

#include "codegen/llvm/llvm_headers.h"
#include "lathe/dtype.h"

namespace lathe::codegen::cpu {

inline bool is_half(DataType t) { return t.is_float() && t.bits == 16; }

::llvm::Type* value_type(::llvm::LLVMContext& context, DataType type);
::llvm::Type* memory_type(::llvm::LLVMContext& context, DataType type);
/// `scalar`, or a vector of it.
::llvm::Type* with_lanes(::llvm::Type* scalar, int lanes);
/// Lanes of a value or type; 1 for scalars.
int lanes_of(const ::llvm::Type* type);
inline int lanes_of(const ::llvm::Value* value) { return lanes_of(value->getType()); }

}  // namespace lathe::codegen::cpu
