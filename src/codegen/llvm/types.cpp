#include "codegen/llvm/types.h"

#include "lathe/error.h"

namespace lathe::codegen::cpu {
namespace {

::llvm::Type* scalar_type(::llvm::LLVMContext& context, DataType type, int bool_bits) {
  if (type.is_bool()) return ::llvm::Type::getIntNTy(context, bool_bits);
  if (!type.is_float() || type.bits == 16) return ::llvm::Type::getIntNTy(context, type.bits);
  return type.bits == 32 ? ::llvm::Type::getFloatTy(context) : ::llvm::Type::getDoubleTy(context);
}

}  // namespace

::llvm::Type* with_lanes(::llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : ::llvm::FixedVectorType::get(scalar, lanes);
}

int lanes_of(const ::llvm::Type* type) {
  const auto* vector = ::llvm::dyn_cast<::llvm::FixedVectorType>(type);
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

::llvm::Type* value_type(::llvm::LLVMContext& context, DataType type) {
  return with_lanes(scalar_type(context, type, 1), type.lanes);
}

::llvm::Type* memory_type(::llvm::LLVMContext& context, DataType type) {
  return with_lanes(scalar_type(context, type, 8), type.lanes);
}

}  // namespace lathe::codegen::cpu
