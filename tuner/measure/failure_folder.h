#pragma once
// `--keep-failures DIR`: all about each candidate that failed, for whoever wants to see why.

#include <string>

#include "tuner/measure/measurer.h"

namespace lathe::tuner {

/// So that a session says at its beginning, and not at its end, that nothing can be kept. Throws UserError LTH-U008.
void make_failure_folder(const std::string& folder);

/// Writes DIR/HASH/{program.json, trace.json, schedule.txt, schedule.cpp, failure.txt, kernel.o}. What cannot be written is
/// left out: a full disk must not end a session.
void keep_failure(const std::string& folder, const Task& task, const Candidate& candidate,
                  const Measurement& measurement, const std::string& object);

}  // namespace lathe::tuner
