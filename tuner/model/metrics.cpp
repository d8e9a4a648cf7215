#include "tuner/model/metrics.h"

#include <algorithm>
#include <numeric>

#include "lathe/error.h"
#include "tuner/model/random.h"

namespace lathe::tuner {
namespace {

// Counts, by a Fenwick tree over score ranks, how many of the items added so far have a lower rank.
class RankCounter {
 public:
  explicit RankCounter(std::size_t ranks) : tree_(ranks + 1) {}
  void add(std::size_t rank) {
    for (++rank; rank < tree_.size(); rank += rank & -rank) ++tree_[rank];
  }
  std::uint64_t below(std::size_t rank) const {
    std::uint64_t sum = 0;
    for (; rank > 0; rank -= rank & -rank) sum += tree_[rank];
    return sum;
  }

 private:
  std::vector<std::uint64_t> tree_;
};

std::vector<std::size_t> by_score(std::span<const float> score) {
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return score[a] > score[b]; });
  return order;
}

}  // namespace

double pairwise_accuracy(std::span<const float> label, std::span<const float> score) {
  internal_check(label.size() == score.size(), "one score a label");
  std::vector<float> levels(score.begin(), score.end());
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  auto rank = [&](float s) { return std::lower_bound(levels.begin(), levels.end(), s) - levels.begin(); };

  std::vector<std::size_t> order(label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return label[a] < label[b]; });

  // Walk up the labels; everything of a strictly lower label has been added before a run of equal labels is
  // counted.
  RankCounter added(levels.size());
  double right = 0, pairs = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && label[order[end]] == label[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t r = rank(score[order[i]]);
      right += (added.below(r) + added.below(r + 1)) * 0.5;
      pairs += begin;
    }
    for (std::size_t i = begin; i < end; ++i) added.add(rank(score[order[i]]));
  }
  return pairs == 0 ? 1 : right / pairs;
}

double peak_at(std::size_t k, std::span<const float> label, std::span<const float> score) {
  internal_check(label.size() == score.size(), "one score a label");
  if (label.empty() || k == 0) return 0;
  const float best = *std::max_element(label.begin(), label.end());
  const std::vector<std::size_t> order = by_score(score);
  float found = 0;
  double sum = 0;
  for (std::size_t j = 0; j < k; ++j) {
    if (j < order.size()) found = std::max(found, label[order[j]]);
    sum += best > 0 ? found / best : 1;
  }
  return sum / k;
}

double top_k_score(std::span<const TopK> workloads) {
  double best = 0, found = 0;
  for (const TopK& w : workloads) {
    best += w.weight * w.best;
    found += w.weight * w.found;
  }
  return found > 0 ? best / found : 0;
}

Split split_by_workload(std::span<const std::uint64_t> workload, double test_fraction, std::uint64_t seed) {
  Split split;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const double u = static_cast<double>(mix64(mix64(seed), workload[i]) >> 11) * 0x1.0p-53;
    (u < test_fraction ? split.test : split.train).push_back(i);
  }
  return split;
}

Dataset subset(const Dataset& data, std::span<const std::size_t> indices) {
  Dataset result;
  result.features = FeatureTable(data.features.width());
  for (std::size_t i : indices) result.add(data.features, i, data.label[i], data.workload[i]);
  return result;
}

}  // namespace lathe::tuner
