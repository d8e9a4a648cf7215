#pragma once

#include <string>

namespace lathe::codegen::cpu {

/// "19.1.7": the LLVM that generates the code.
std::string llvm_version();

}  // namespace lathe::codegen::cpu
