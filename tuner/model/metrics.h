#pragma once
// How good is a model's order? (Root-mean-square error misleads: a model with R² = −1818 and a ranking loss
// found the best program, TenSet 2021.) All take labels y = t_min / t, higher is better, and scores of any
// scale.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/features.h"

namespace lathe::tuner {

/// Fraction of pairs with different labels that the scores order right; an equal score counts half. 1 when
/// there is no such pair. Exact for all pairs, O(n log n).
double pairwise_accuracy(std::span<const float> label, std::span<const float> score);

/// Mean over j = 1..k of (best label among the first j by score) / (best label) (Pruner's "best-k"). In [0,
/// 1].
double peak_at(std::size_t k, std::span<const float> label, std::span<const float> score);

/// One workload's share in a top-k score: its best time over all, and over the first k by score.
struct TopK {
  double best = 0, found = 0, weight = 1;
};
/// TenSet's top-k score over workloads: Σ w·t_min / Σ w·min(t of the first k predicted).
double top_k_score(std::span<const TopK> workloads);

/// Indices of a dataset for training and for testing.
struct Split {
  std::vector<std::size_t> train, test;
};
/// Splits by workload, never by row: about `test_fraction` of the workloads, chosen by their hash and `seed`,
/// are held out entirely. The choice for a workload does not depend on which others are present.
Split split_by_workload(std::span<const std::uint64_t> workload, double test_fraction, std::uint64_t seed);

/// The rows `indices` of `data`, in that order.
Dataset subset(const Dataset& data, std::span<const std::size_t> indices);

}  // namespace lathe::tuner
