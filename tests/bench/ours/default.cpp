// Group `default`: every operator of the library under the schedule that it gets without tuning.

#include "kernel.h"
#include "specs.h"

namespace lathe::bench {

namespace {

std::optional<Callable> default_kernel(const Problem& p) {
  const std::optional<Workload> workload = workload_of(p.what);
  if (!workload) return std::nullopt;
  return kernel_callable(p, workload->default_schedule(Target::host()));
}

const bool joined = register_ours("default", "*", default_kernel);

}  // namespace

}  // namespace lathe::bench
