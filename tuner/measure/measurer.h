#pragma once
// The seam between search and measurement.
//
//     session   --batch of scheduled programs-->   Measurer   builds them (in parallel, if it can), runs them one at a time
//               <--one Measurement for each-----
//
// Results come in the order of the batch, whatever was done first: the search must see the same story each time. What goes
// wrong with a candidate is a Measurement that says so; an exception means that nothing can be measured at all (no worker
// starts) and ends the session. Tests put an analytic Measurer here, a fleet one that asks other machines.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lathe/tuner.h"

namespace lathe::tuner {

struct Candidate {
  Trace trace;
  Program scheduled;      ///< what the trace makes of the program
  StructuralHash hash{};  ///< of `scheduled`
};

/// A program and where it is to run, the same for a whole session.
struct Task {
  Program program;
  Target target;
};

struct MeasureOptions {
  double timeout = 20;  ///< seconds for building and running one candidate, waiting for its turn excluded
  double give_up_above = 0;    ///< seconds; of what runs much slower than this one sample is enough. 0: never
  bool cold = false;           ///< before each sample, everything is driven out of the caches
  std::function<bool()> stop;  ///< asked between candidates; true: the rest of the batch is not measured
  /// Called once a candidate as soon as it is done, whatever its place in the batch: for showing progress.
  std::function<void(const Measurement&)> on_result;
};

class Measurer {
 public:
  virtual ~Measurer() = default;

  /// One result a candidate; fewer, the first of them, only when `options.stop` said so.
  virtual std::vector<Measurement> measure(const Task& task, std::span<const Candidate> batch,
                                           const MeasureOptions& options) = 0;

  /// Candidates that are close to one another, measured again before one is declared the best. Runs in turns where the
  /// measurer can, so that a machine that gets faster favours none, and in several processes, so that none wins by a lucky
  /// one. By default simply `measure`, without giving up.
  virtual std::vector<Measurement> compare(const Task& task, std::span<const Candidate> leaders,
                                           const MeasureOptions& options);
};

/// Measures in processes of the program `command` (tuner/measure/process_measurer.h has more to choose).
std::unique_ptr<Measurer> child_measurer(std::string command);

}  // namespace lathe::tuner
