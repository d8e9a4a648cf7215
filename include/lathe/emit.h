#pragma once
// Kernels for production: an object file and a C header.
//
//   emit_object({matmul.program(), conv.program()}, Target::parse("zen3"), "build/kernels");
//
// writes build/kernels.o and build/kernels.h. A C or C++ program includes the header, links the object with
// lathe::runtime, and needs nothing else of Lathe. For each program NAME the object has
//
//   int32_t NAME(const float* x, …, float* out, int64_t n, …)          plain pointers, in parameter order
//   int32_t NAME_dlpack(const DLTensor* x, …, int64_t n, …)            tensors: types, shapes, strides checked too
//   int32_t NAME_kernel(void* const* buffers, const int64_t* scalars)  nothing checked; see lathe/runtime/c_api.h
//
// All return 0 or an error code, never throw or abort, keep no state, and may run on many threads at once. The same
// input gives the same bytes, on any machine.

#include <string>
#include <vector>

#include "lathe/compile.h"

namespace lathe {

struct EmitOptions {
  std::string prefix = {};  ///< before every kernel's name
  bool hidden = false;      ///< symbols stay inside the shared object that the file is linked into
  CompileOptions compile = {};
};

struct EmittedKernels {
  std::vector<char> object;
  std::string header;
  std::vector<std::string> names;  ///< of the kernels, with the prefix
  std::vector<std::string> needs;  ///< functions that must be linked besides the runtime, e.g. "tan" of libm
};

/// Verifies, lowers and compiles the (scheduled) programs. `module_name` names the header's guard. Throws what
/// `compile` throws, and UserError C003 for names that no C function can have.
EmittedKernels emit_kernels(const std::vector<Program>& programs, const Target& target,
                            const std::string& module_name, const EmitOptions& options = {});

/// The same into `path`.o and `path`.h; the module is named after the last part of the path. A file appears whole or
/// not at all. Throws also UserError C004 when one cannot be written.
EmittedKernels emit_object(const std::vector<Program>& programs, const Target& target,
                           const std::string& path, const EmitOptions& options = {});

}  // namespace lathe
