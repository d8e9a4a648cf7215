#pragma once
// Measuring on this machine, in processes that may crash, hang, leak or corrupt themselves.
//
// A batch is built first, by as many workers as the process may use cores, and run then, one candidate at a time on an
// otherwise idle machine. What a candidate costs beyond its build and its samples is a fork: inputs and reference are made
// once a session (run_worker.cpp).

#include <cstdint>
#include <memory>
#include <string>

#include "tuner/measure/child_process.h"
#include "tuner/measure/measurer.h"

namespace lathe::tuner {

struct ProcessMeasurerOptions {
  WorkerCommand command;
  int builders = 0;  ///< 0: one for each core that the process may use (its mask and its cgroup's quota)
  std::uint64_t memory_bytes =
      0;  ///< address space of one worker; 0: three quarters of the machine's memory, or of its cgroup's
  std::string keep_failures = {};  ///< a folder that gets all about each candidate that fails; empty: none
};

/// Throws UserError when no worker starts (LTH-U030), or when the program itself, unscheduled, cannot be run (LTH-U031).
std::unique_ptr<Measurer> process_measurer(ProcessMeasurerOptions options);

}  // namespace lathe::tuner
