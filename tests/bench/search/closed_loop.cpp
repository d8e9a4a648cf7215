#include "closed_loop.h"

#include <algorithm>

namespace lathe::bench {

Curve play(const Sweep& sweep, tuner::Strategy& strategy, std::size_t trials, std::size_t round) {
  Curve curve;
  double best = 0;
  while (curve.size() < trials) {
    std::vector<tuner::Observation> observations;
    const std::size_t size = round > 0 ? round : tuner::usual_round(curve.size());
    for (tuner::Point& point : strategy.propose(std::min(size, trials - curve.size()))) {
      const double time = sweep.time(point);
      best = std::max(best, sweep.best() / time);
      curve.push_back(best);
      observations.push_back({std::move(point), time * 1e-3});
    }
    if (observations.empty()) break;  // every point was proposed
    strategy.observe(observations);
  }
  curve.resize(trials, best);
  return curve;
}

double Race::mean_at(std::size_t budget) const {
  double sum = 0;
  for (const Curve& c : curves) sum += c[budget - 1];
  return sum / curves.size();
}

double Race::worst_at(std::size_t budget) const {
  double worst = 1;
  for (const Curve& c : curves) worst = std::min(worst, c[budget - 1]);
  return worst;
}

std::size_t Race::median_trials_to(double fraction) const {
  std::vector<std::size_t> trials;
  for (const Curve& c : curves) {
    const auto at = std::find_if(c.begin(), c.end(), [&](double f) { return f >= fraction; });
    trials.push_back(at == c.end() ? SIZE_MAX : at - c.begin() + 1);
  }
  std::sort(trials.begin(), trials.end());
  const std::size_t median = trials[trials.size() / 2];
  return median == SIZE_MAX ? 0 : median;
}

}  // namespace lathe::bench
