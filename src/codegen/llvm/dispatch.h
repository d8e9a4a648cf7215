#pragma once
// The functions that choose among versions of a kernel for several levels of CPU features.
//
//     int32_t NAME(const float* x, …) {
//       uint64_t have = lathe_cpu_features();
//       if ((have & NEEDS_0) == NEEDS_0) return NAME__LEVEL_0(x, …);
//       if ((have & NEEDS_1) == NEEDS_1) return NAME__LEVEL_1(x, …);
//       lathe_set_error(LATHE_ERROR_CPU, "NAME: …");
//       return LATHE_ERROR_CPU;
//     }
//
// and the same for NAME_dlpack and NAME_kernel. The runtime asks the CPU once; the choice costs a few nanoseconds a call,
// and no writable data.

#include "codegen/llvm/emitter.h"

namespace lathe::codegen::cpu {

void emit_dispatch(ModuleContext& module, const DispatchKernel& kernel,
                   const std::vector<DispatchLevel>& levels);

}  // namespace lathe::codegen::cpu
