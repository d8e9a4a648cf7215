#pragma once
// A machine of arithmetic, for tests of sessions: times are a function of the decisions that our draft knows nothing of.

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "lathe/records.h"
#include "lathe/workload.h"
#include "tuner/session/session.h"

namespace lathe::tuner {

/// A schedule without decisions (the default) is slow. Each decision has a value that is best, drawn from its position; being off costs by the squared logarithm.
inline double analytic_seconds(const Trace& trace) {
  if (trace.decisions().empty()) return 1e-2;
  double cost = 1;
  std::size_t position = 0;
  for (std::size_t step : trace.decisions()) {
    for (std::int64_t v : trace.steps[step].decision) {
      const double best = 1 + static_cast<double>(mix64(position) % 4),
                   weight = 0.1 + 0.1 * static_cast<double>(position % 3);
      const double off = std::log2(static_cast<double>(std::max<std::int64_t>(v, 1))) - best;
      cost += weight * off * off;
      ++position;
    }
  }
  return 1e-3 * cost * (1 + 0.2 * static_cast<double>(trace.steps.size() % 3));
}

class AnalyticMeasurer final : public Measurer {
 public:
  std::vector<Measurement> measure(const Task&, std::span<const Candidate> batch,
                                   const MeasureOptions& options) override {
    std::vector<Measurement> results;
    for (const Candidate& c : batch) {
      if (options.stop && options.stop()) break;
      if (!forgetful) {
        hashes.push_back(c.hash);
        traces.push_back(c.trace);
      }
      Measurement m = answer(c);
      if (!forgetful) told[c.hash] = m;
      results.push_back(m);
      if (options.on_result) options.on_result(m);
    }
    ++batches;
    return results;
  }
  /// Leaders get their first answer again, unless `second_look` knows better.
  std::vector<Measurement> compare(const Task&, std::span<const Candidate> leaders,
                                   const MeasureOptions&) override {
    std::vector<Measurement> results;
    for (const Candidate& c : leaders)
      results.push_back(second_look ? second_look(c) : forgetful ? answer(c) : told.at(c.hash));
    return results;
  }
  std::function<Measurement(const Candidate&)> second_look;
  std::map<StructuralHash, Measurement> told;
  std::function<Measurement(const Candidate&)> answer = [](const Candidate& c) {
    Measurement m;
    m.seconds = {analytic_seconds(c.trace)};
    return m;
  };
  std::vector<StructuralHash> hashes;  ///< measured, in order
  std::vector<Trace> traces;
  int batches = 0;
  bool forgetful = false;  ///< keeps nothing of what it measured
};

}  // namespace lathe::tuner
