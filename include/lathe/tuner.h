#pragma once
// Tuning: choose, measure, verify, remember.
//
//     RecordStore store = RecordStore::open("tuning.db");
//     TuneResult result = tune(Workload::parse("matmul(m=512):f32"), Target::host(), {.trials = 64}, store);
//     Schedule best = result.best(…);
//
// Candidates are built and run in child processes (`worker_command`), which may crash or hang; a time counts only for a
// kernel whose output was verified against the unscheduled program.

#include <functional>
#include <optional>
#include <string>

#include "lathe/records.h"
#include "lathe/replay.h"
#include "lathe/workload.h"

namespace lathe {

struct TuneOptions {
  int trials = 64;
  double seconds = 0;  ///< 0: no limit
  std::uint64_t seed = 0;
  double trial_timeout = 20;  ///< seconds for building and running one candidate
  bool resume = false;  ///< start from what the store has for this key; nothing measured is measured again
  std::string worker_command;  ///< the program that measures: called as `COMMAND __measure`
  std::function<bool()> stop;  ///< asked between trials; true ends the session (it can be resumed)
  /// Called after each trial.
  std::function<void(const struct TuneProgress&)> on_trial;
};

struct TuneProgress {
  int trial = 0, trials = 0;
  double seconds = 0;
  double best_ms = 0;     ///< 0: none yet
  double default_ms = 0;  ///< of the default schedule; 0: not known
  int failures = 0;
  std::string last;  ///< what the last trial gave
};

struct TuneResult {
  int measured = 0, failed = 0;
  bool interrupted = false;
  double default_ms = 0, best_ms = 0;
  std::map<std::string, int> failures;  ///< by class
  std::string first_error;              ///< of the commonest class
};

/// Runs a session and commits every trial to the store. Throws UserError (LTH-U…) when the workload itself cannot be
/// compiled or measured; failed candidates are counted.
TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store);

/// What measuring gives.
struct Measurement {
  records::Failure failure = records::Failure::None;
  std::string error_code, error_text;
  std::vector<double> seconds;  ///< samples
  double max_error = 0;         ///< greatest |difference| / tolerance of one element
  std::uint64_t object_bytes = 0;
  std::optional<Digest> binary;  ///< of the object
  double yardstick = 0;          ///< seconds of a fixed piece of work beside the samples; 0: not known
  double build_seconds = 0, run_seconds = 0;  ///< what measuring cost
  double p10() const;
};
/// Compiles the schedule, runs it on random and integer data, verifies it against the unscheduled program and times it, in
/// this process. `give_up_above` (seconds, 0: never): one sample is enough when it is slower.
Measurement measure_here(const Program& original, const Program& scheduled, const Target& target,
                         double give_up_above = 0);
/// The child's side of a measurement: reads a request from standard input, writes the result to standard output.
int measure_worker();
/// The worker's side of a session. A program that others measure with (`TuneOptions::worker_command`) calls this first with
/// its last argument; where that is the role of a worker, it serves until the session ends, and the program returns the value.
std::optional<int> serve_as_worker(const std::string& role);
/// The same in a child process.
Measurement measure_in_child(const Program& original, const Trace& trace, const Target& target,
                             const std::string& command, double timeout, double give_up_above = 0);

}  // namespace lathe
