#pragma once
// `lathe tune`, and what goes on from there (`lathe session resume`).

#include <string>
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

/// A session for the workloads, with progress, result and exit code.
int tune(Context& context, const std::vector<Workload>& workloads, TuneVerb options);

}  // namespace lathe::command_line
