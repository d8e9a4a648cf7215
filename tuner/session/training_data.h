#pragma once
// What a cost model can learn from a record store.
//
// Every trial of this target with warm caches (cold times are never compared with them) replays to the program that was
// measured, and is described as a session describes its candidates. Its label is y = t_min(workload) / t, 0 for a schedule
// that failed. Workloads are told apart by their hash, by which training and test are split: rows of one workload on both
// sides would measure memory, not judgement.

#include <string>
#include <vector>

#include "lathe/records.h"
#include "lathe/target.h"
#include "tuner/model/features.h"

namespace lathe::tuner {

struct TrainingData {
  Dataset data;
  std::vector<float> draft;        ///< the analytic estimate, one a program: the model to beat
  std::vector<double> seconds;     ///< 0 for a failure
  std::int64_t other_targets = 0;  ///< trials of other targets, left out
  std::int64_t not_replayed = 0;   ///< trials whose trace does not apply any more, left out
  std::size_t workloads() const;
};

TrainingData training_data(const RecordStore& store, const Target& target);

/// How well a model orders the workloads of a test set: means over workloads of at least two different times.
struct ModelMetrics {
  std::string model;
  std::size_t workloads = 0, programs = 0;
  double pairwise = 0, peak1 = 0, peak5 = 0, top1 = 0, top5 = 0;
};
ModelMetrics model_metrics(const std::string& name, const TrainingData& all,
                           std::span<const std::size_t> test, std::span<const float> score);

/// The metrics of each model of `all`, each workload judged by models that never saw it (`folds` parts, by hash): the draft,
/// trees, and trees with networks.
std::vector<ModelMetrics> cross_validate(const TrainingData& all, int folds, std::uint64_t seed);

}  // namespace lathe::tuner
