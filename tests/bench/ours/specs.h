#pragma once
// The cases of the benchmarks as workloads of the library.

#include <optional>

#include "../harness/operators.h"
#include "lathe/workload.h"

namespace lathe::bench {

/// The workload that computes the case, its parameters in the order of the problem's operands; nothing when the library has
/// none (the row's `ours` stays empty).
std::optional<Workload> workload_of(const Case& what);

}  // namespace lathe::bench
