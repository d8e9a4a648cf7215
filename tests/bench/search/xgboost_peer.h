#pragma once
// XGBoost, the peer of the trees. Linked by this bench alone, and only where it is installed.

#include <cstdint>
#include <vector>

#include "tuner/model/features.h"

namespace lathe::bench {

/// Whether the bench was built with it.
bool has_xgboost();

/// Scores for `test` by XGBoost's histogram trees of depth 6, learning rate 0.1, trained on `train` (one
/// workload): on squared error, or on pairwise ranking.
std::vector<float> xgboost_scores(const tuner::Dataset& train, const tuner::FeatureTable& test, bool ranking,
                                  std::uint64_t seed);

}  // namespace lathe::bench
