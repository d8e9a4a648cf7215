#pragma once
// What a cost model can learn from a record store.
//
// Every trial of this target with warm caches (cold times are never compared with them) replays to the program that was
// measured, and is described as a session describes its candidates. Times of different hosts are never compared either: a
// model learns from those of one class of hosts. Its label is y = t_min(workload) / t, 0 for a schedule
// that failed. Workloads are told apart by their hash, by which training and test are split: rows of one workload on both
// sides would measure memory, not judgement.

#include <map>
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
  std::string host_class;          ///< where the times are from
  std::map<std::string, std::int64_t> other_hosts;  ///< trials of other classes of hosts, left out
  std::size_t workloads() const;
};

/// The trials of `host_class`; where it is empty, of this machine's class if the store has any, else of the class with the
/// most.
TrainingData training_data(const RecordStore& store, const Target& target, std::string host_class = {});

/// How well a model orders the workloads of a test set: means over workloads of at least two different times.
struct ModelMetrics {
  std::string model;
  std::size_t workloads = 0, programs = 0;
  double pairwise = 0, peak1 = 0, peak5 = 0, top1 = 0, top5 = 0;
};
ModelMetrics model_metrics(const std::string& name, const TrainingData& all,
                           std::span<const std::size_t> test, std::span<const float> score);

struct CrossValidation {
  /// Whether each workload was judged by models that never saw it. Of a single workload that cannot be: its schedules are
  /// judged by models that saw others of it, which says nothing of other workloads.
  bool by_workload = true;
  std::vector<ModelMetrics>
      models;  ///< the draft, trees, and trees with a network; none of fewer samples than parts
};

/// The metrics of each model of `all`, in `folds` parts (fewer where there are fewer workloads).
CrossValidation cross_validate(const TrainingData& all, int folds, std::uint64_t seed);

}  // namespace lathe::tuner
