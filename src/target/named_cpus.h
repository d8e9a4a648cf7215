#pragma once
// CPUs that a target can be picked from by name.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/target.h"

namespace lathe {

struct NamedCpu {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view about;
  std::string_view arch;
  std::string_view microarchitecture;   ///< LLVM's name
  int x86_level;                        ///< of the psABI; 0 for other architectures
  std::vector<std::string_view> extra;  ///< features beyond the level
  std::int64_t l1_kib, l2_kib, l3_kib;
  int cores;
};

const std::vector<NamedCpu>& named_cpus();

/// By name or alias, in lower case.
const NamedCpu* find_cpu(std::string_view name);

/// By LLVM's name.
const NamedCpu* find_microarchitecture(std::string_view name);

Target make_target(const NamedCpu& cpu);

}  // namespace lathe
