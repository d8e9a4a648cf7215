#pragma once
// What must hold of every schedule.

#include <string>

#include "lathe/schedule.h"
#include "support/schedule_fuzzer/subject.h"

namespace lathe::fuzz {

struct OracleOptions {
  bool compile = true;  ///< also runs the code that the CPU back end makes
};

/// "" when the schedule is well-formed, computes what the unscheduled program computes (in block form, lowered, compiled),
/// is accepted by `compile` exactly when `verify` accepts it, and comes back identical from JSON and replay; else what does
/// not hold. The first line names the property and never mentions names or numbers, so that failures can be compared.
std::string violated(const Subject& subject, const Schedule& schedule, const OracleOptions& options = {});

}  // namespace lathe::fuzz
