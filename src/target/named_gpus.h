#pragma once
// GPUs that a target can be picked from by name.

#include <string_view>
#include <vector>

#include "lathe/target.h"

namespace lathe {

struct NamedGpu {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view about;
  std::vector<std::string_view>
      driver_names;  ///< parts of what the driver calls it, each of which must occur
  GpuTarget gpu;
};

const std::vector<NamedGpu>& named_gpus();

/// By name or alias, in lower case.
const NamedGpu* find_gpu(std::string_view name);

/// The one that the driver calls `driver_name` ("NVIDIA H100 80GB HBM3"); null when unknown.
const NamedGpu* find_gpu_by_driver_name(std::string_view driver_name);

}  // namespace lathe
