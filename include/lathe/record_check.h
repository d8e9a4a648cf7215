#pragma once
// Do recorded schedules still mean what they meant? A gate for logs under version control.

#include <string>
#include <vector>

#include "lathe/replay.h"

namespace lathe {

struct CheckedRecord {
  std::string workload, target;  ///< specification; the target's name
  std::string trial;             ///< uid
  std::string problem;           ///< empty: it replays to the program that was measured
};

struct RecordCheckOptions {
  /// Records of this target are compiled, too. Null: none.
  const Target* compile_for = nullptr;
};

/// Every trial of the store that a build might be served, in order: its trace is applied to its program, the result
/// compared with the hash of what was measured. Runs nothing.
std::vector<CheckedRecord> check_records(const RecordStore& store, const RecordCheckOptions& options = {});

/// The result as JUnit's XML, which CI systems read: a suite a log (`name`), a case a record.
std::string junit_text(const std::vector<std::pair<std::string, std::vector<CheckedRecord>>>& suites);

}  // namespace lathe
