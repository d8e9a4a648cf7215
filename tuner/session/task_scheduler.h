#pragma once
// Several workloads, one budget: which of them gets the next round?
//
// After Ansor (Zheng et al. 2020): the one whose share of the total time is expected to fall fastest. With best time b after
// n rounds, weight w, and g the mean gain of the last three rounds, the expected gain of one round more is
//
//     w · (0.2 · g + 0.8 · b / n)
//
// the second term being the optimist's view that a workload which has had few rounds has much to gain. Each gets one round
// first, the one with the greatest expectation each round after that; one that is over (exhausted, hopeless, on a plateau)
// drops out, and its share goes to the others.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tuner/session/session.h"

namespace lathe::tuner {

class TaskScheduler {
 public:
  /// The arguments outlive it. `weights` may be empty: all alike. What a workload throws is its share's error.
  TaskScheduler(const std::vector<Workload>& workloads, const Target& target, const TuneOptions& options,
                RecordStore& store, Measurer& measurer, const std::vector<double>& weights);
  ~TaskScheduler();
  /// Spends `options.trials` (over all) and `options.seconds`.
  std::vector<TuneResult> run();

 private:
  struct Share;
  void begin(Share& share, const Workload& workload, const Target& target, RecordStore& store,
             Measurer& measurer, const std::string& group);
  void tell(TuneProgress progress);
  double expected_gain(const Share& share) const;
  Share* next();
  void give_round(Share& share);
  int measured() const;

  const TuneOptions& options_;
  std::deque<Share> shares_;        // sessions refer to their share's options
  int told_ = 0, told_failed_ = 0;  // of all shares
  runtime::Timer clock_;
};

/// Candidates of the next round of a session that has measured so many.
int round_size(const TuneOptions& options, int measured);
TuneSpace describe_space(const Workload& workload, const Target& target, const TuneOptions& options);

}  // namespace lathe::tuner
