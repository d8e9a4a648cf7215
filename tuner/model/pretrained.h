#pragma once
// A model learned before the session: from the records of many workloads, or of one kernel on another device.
//
// Its answer is a guess of y = t_min/t that a search takes as prior (model_guided_strategy.h), so that the first batch is
// not blind; the session's own model then learns what the guess gets wrong. Members are as in the session's model: trees
// on y and on log y, and networks on y. (Networks that were trained by ranking have an offset of their own in each
// workload, which no calibration over all of them can take out again.)

#include <filesystem>
#include <vector>

#include "tuner/model/features.h"
#include "tuner/model/labels.h"
#include "tuner/model/network.h"
#include "tuner/model/trees.h"

namespace lathe::tuner {

struct PretrainOptions {
  TreeOptions tree = pretrain_trees();
  int networks = 0;
  NetworkOptions network = pretrain_network();
  std::uint64_t seed = 1;

  static TreeOptions pretrain_trees();
  static NetworkOptions pretrain_network();
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
  /// The same of a file's bytes; `name` stands for the file in errors.
  static PretrainedModel from_bytes(std::span<const std::uint8_t> file, const std::string& name,
                                    std::uint64_t feature_set, std::size_t feature_width);

 private:
  static PretrainedModel parse(std::span<const std::uint8_t> payload, const std::string& name,
                               std::size_t feature_width);
  TreeEnsemble linear_, log_;
  std::vector<Network> networks_;
  Calibration calibration_;
};

}  // namespace lathe::tuner
