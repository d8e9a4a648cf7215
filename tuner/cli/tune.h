#pragma once
// `lathe tune`, and what goes on from there (`lathe session resume`).

#include <string>
#include <utility>
#include <vector>

#include "lathe/tuner.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {

struct TuneVerb {
  TuneOptions tune;
  std::string strategy = "evolutionary", log, keep_failures;
  std::vector<std::string> pins;
  bool dry_run = false;
  int builders = 0;
  int trials_left = 0;  ///< of a resumed session; 0: what its budget leaves
};

/// A pin as it is written: "C.i_1=4" or "C.i.tile=2x4x8". Throws CLI::ValidationError.
std::pair<std::string, std::vector<std::int64_t>> read_pin(const std::string& text);

/// A session for the workloads, with progress, result and exit code.
int tune(Context& context, const std::vector<Workload>& workloads, TuneVerb options);

}  // namespace lathe::command_line
