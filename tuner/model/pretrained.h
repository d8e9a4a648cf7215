#pragma once
// A model learned before the session: from the records of many workloads, or of one kernel on another device.
//
// Its answer is a guess of y = t_min/t that a search takes as prior (model_guided_strategy.h), so that the first batch is
// not blind; the session's own model then learns what the guess gets wrong. Members are as in the session's model: trees
// on y and on log y, and networks trained by ranking within each workload, whose score is mapped to y.

#include <filesystem>
#include <vector>

#include "tuner/model/features.h"
#include "tuner/model/labels.h"
#include "tuner/model/network.h"
#include "tuner/model/trees.h"

namespace lathe::tuner {

struct PretrainOptions {
  TreeOptions tree = pretrain_trees();
  int networks = 0;  ///< worth their time from some thousand samples of many workloads on
  NetworkOptions network;
  std::uint64_t seed = 1;

  static TreeOptions pretrain_trees();
};

class PretrainedModel {
 public:
  /// Learns from all of `data`, whose labels are y within each workload.
  static PretrainedModel train(const Dataset& data, const PretrainOptions& options);

  /// A guess of y in [0, 1], one a program.
  std::vector<float> predict(const FeatureTable& features) const;
  std::size_t feature_width() const { return linear_.width(); }

  /// A model file (model_file.h) for the feature set of version `feature_set`. Throws UserError U001.
  void save(const std::filesystem::path& path, std::uint64_t feature_set) const;
  /// Throws UserError U001 to U004; U003 also when the width of the features is not `feature_width`.
  static PretrainedModel load(const std::filesystem::path& path, std::uint64_t feature_set,
                              std::size_t feature_width);

 private:
  TreeEnsemble linear_, log_;
  std::vector<Network> networks_;
  Calibration calibration_;
};

}  // namespace lathe::tuner
