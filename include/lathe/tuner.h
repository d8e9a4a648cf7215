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
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lathe/records.h"
#include "lathe/replay.h"
#include "lathe/workload.h"

namespace lathe {

/// How a session chooses its candidates.
enum class SearchStrategy : std::uint8_t {
  Evolutionary,  ///< evolution, judged by a model that learns from the session's own measurements
  Random,        ///< uniformly
  Grid,          ///< every point of the space in order
  Replay         ///< what the store has for the key, the best first
};
const char* spelling(SearchStrategy strategy);
std::optional<SearchStrategy> search_strategy_named(const std::string& text);

/// Schedules a whole program and leaves decisions open (`sample_*`): one more part of the design space. It may ask the
/// program what it is, and throws ScheduleError where it does not apply.
using SpaceRule = std::function<void(Schedule&, const Target&)>;

struct TuneOptions {
  int trials = 64;
  double seconds = 0;  ///< 0: no limit
  int plateau = 0;     ///< stop after so many trials without an improvement of 1 %; 0: never
  int round = 0;  ///< candidates measured before the model learns from them; 0: 8 of the first 96, then 16
  std::uint64_t seed = 0;
  SearchStrategy strategy = SearchStrategy::Evolutionary;
  std::vector<SpaceRule> rules;  ///< in addition to the library's
  bool library_rules = true;     ///< the workload's own template and `apply_rules`
  bool parallel = true;          ///< with parallel loops
  /// Decisions by name (`TuneSpace::decisions`) that are fixed. An unknown one is an error (LTH-U022).
  std::map<std::string, std::vector<std::int64_t>> pinned;
  std::string model;  ///< a pretrained model's file (`lathe model train`) to start from
  /// Without `model`, start from the one that comes with Lathe where it fits the target (`shipped_model`).
  bool shipped_model = true;
  bool cold = false;          ///< measure with cold caches; the records say so
  double trial_timeout = 20;  ///< seconds for building and running one candidate
  /// Start from what the store has for this key: nothing that was measured in this regime, on hosts of this class, by these
  /// versions, is measured again.
  bool resume = false;
  /// Go on with this session of the store instead of beginning another one. It implies `resume`; the session must not be
  /// running (LTH-R014).
  std::optional<Digest> session;
  /// For `tune_all`, likewise: a session for each workload, in their order; empty: it begins its own.
  std::vector<Digest> sessions;
  std::string
      worker_command;  ///< the program that measures: it calls `serve_as_worker` with its last argument
  std::function<bool()> stop;  ///< asked between trials; true ends the session (it can be resumed)
  /// Called after each trial.
  std::function<void(const struct TuneProgress&)> on_trial;
};

struct TuneProgress {
  int trial = 0, trials = 0;        ///< of all workloads that share the budget, as are the next three
  double seconds = 0;               ///< since it began
  std::optional<double> time_left;  ///< of `TuneOptions::seconds`; nothing where it has no limit
  int failures = 0;
  double best_ms = 0;     ///< of the workload; 0: none yet
  double default_ms = 0;  ///< of its default schedule; 0: not known
  bool failed = false;    ///< the last trial
  std::string last;       ///< what it gave: a time, or the class of its failure
  std::string workload;   ///< its specification
};

struct TuneResult {
  std::string workload;
  int measured = 0, failed = 0;
  int known = 0;    ///< proposals whose program had been measured before, or that another gave as well
  int resumed = 0;  ///< trials of earlier sessions that the search started from
  bool interrupted = false;
  std::string reason;  ///< why the session ended
  std::string error;   ///< of `tune_all`: what this workload threw; empty where nothing was wrong
  double measuring_seconds = 0, searching_seconds = 0;
  double space = 0;                              ///< points of the design space, before filters
  std::map<std::string, std::int64_t> filtered;  ///< points by what refused them; "kept" were worth scoring
  std::string
      prior;  ///< the pretrained model that the search started from: its file, "shipped", or empty for the draft
  double model_accuracy =
      0;  ///< pairs of measured candidates that the model had ordered right beforehand; 0: not known
  double default_ms = 0, best_ms = 0;
  std::map<std::string, int> failures;  ///< by class
  std::string first_error;              ///< of the commonest class
};

/// Runs a session and commits every trial to the store. Throws UserError (LTH-U…) when the workload itself cannot be
/// compiled or measured; failed candidates are counted.
TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store);

/// Several workloads share one budget of `options.trials`: each round goes to the one whose last rounds and distance from
/// its kind's best promise most (the gradient of docs/search.md), weighted by how often it is called (`weights`; empty: all
/// alike). Results in the order of the workloads; what one workload throws ends only its own share.
std::vector<TuneResult> tune_all(const std::vector<Workload>& workloads, const Target& target,
                                 const TuneOptions& options, RecordStore& store,
                                 const std::vector<double>& weights = {});

/// What `tune` would search.
struct TuneSpace {
  struct Decision {
    std::string name;
    std::vector<std::vector<std::int64_t>> options;  ///< empty: they depend on other decisions
  };
  double points = 0;  ///< before filters
  int templates = 0;
  std::vector<Decision> decisions;
};
TuneSpace tune_space(const Workload& workload, const Target& target, const TuneOptions& options);

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
/// The worker's side of a session. A program that others measure with (`TuneOptions::worker_command`) calls this first with
/// its last argument; where that is the role of a worker, it serves until the session ends, and the program returns the value.
std::optional<int> serve_as_worker(const std::string& role);

}  // namespace lathe
