#pragma once
// A search played on a measured space: proposals are answered from the table.

#include <functional>
#include <memory>
#include <vector>

#include "sweep.h"
#include "tuner/search/strategy.h"

namespace lathe::bench {

/// Fraction of the true optimum reached after 1, 2, … trials.
using Curve = std::vector<double>;

/// Plays `trials` trials in rounds of `round`.
Curve play(const Sweep& sweep, tuner::Strategy& strategy, std::size_t trials, std::size_t round);

/// The curves of several seeds of one strategy on one space.
struct Race {
  std::string space, strategy;
  std::vector<Curve> curves;

  double mean_at(std::size_t budget) const;
  double worst_at(std::size_t budget) const;
  /// Median over the seeds of the trials to reach `fraction`; 0 when half of the seeds do not reach it.
  std::size_t median_trials_to(double fraction) const;
};

}  // namespace lathe::bench
