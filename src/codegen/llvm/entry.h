#pragma once
// The functions by which C programs call a kernel of an object file.
//
//     int32_t NAME_kernel(void* const* buffers, const int64_t* scalars);    the kernel itself; checks nothing
//     int32_t NAME(const float* x, …, float* out, int64_t n, …);            plain pointers, in parameter order
//     int32_t NAME_dlpack(const DLTensor* x, …, int64_t n, …);              tensors
//
// The last two check what they can before they call the first: addresses, alignment, overlap, sizes; the last one
// also types, shapes and strides. They use lathe_check_tensor and its like from the runtime, so messages are the same
// everywhere.

#include "codegen/llvm/emitter.h"

namespace lathe::codegen::cpu {

/// Adds NAME and NAME_dlpack. `source` is the program as its user knows it: parameters with their shapes; `label`
/// is what messages call the kernel.
void emit_entries(ModuleContext& module, const Program& source, ::llvm::Function* kernel,
                  const std::string& name, const std::string& label);

}  // namespace lathe::codegen::cpu
