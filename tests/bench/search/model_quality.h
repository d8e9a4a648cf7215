#pragma once
// How well models order the rest of a space after a random sample of it.

#include <string>
#include <vector>

#include "sweep.h"

namespace lathe::bench {

struct ModelQuality {
  std::string space, model;
  std::size_t samples = 0;
  double pairwise = 0, peak1 = 0, peak5 = 0;  ///< means over the seeds
  double worst_pairwise = 1;
};

/// Every model on the same `seeds` random splits: `samples` rows to learn from, up to 4,000 others to order.
std::vector<ModelQuality> model_quality(const Sweep& sweep, std::size_t samples, int seeds);

}  // namespace lathe::bench
