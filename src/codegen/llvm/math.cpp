#include "codegen/llvm/math.h"

namespace lathe::codegen::cpu {

bool is_scalar_only(Intrinsic, DataType) { return true; }

::llvm::Value* emit_math(const Ops&, Intrinsic, const std::vector<::llvm::Value*>&) {
  throw InternalError("unknown function");
}

}  // namespace lathe::codegen::cpu
