#include "codegen/llvm/version.h"

#include <llvm/Config/llvm-config.h>

namespace lathe::codegen::cpu {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace lathe::codegen::cpu
