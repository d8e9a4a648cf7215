#include "tuner/model/pretrained.h"

#include <algorithm>

#include "lathe/error.h"
#include "support/error_codes/tuner.h"
#include "tuner/model/model_file.h"

namespace lathe::tuner {

TreeOptions PretrainOptions::pretrain_trees() {
  TreeOptions options;
  options.trees = 300;
  options.depth = 7;
  options.row_sample = 0.8f;
  options.column_sample = 0.8f;
  return options;
}

NetworkOptions PretrainOptions::pretrain_network() {
  NetworkOptions options;
  options.loss = NetworkOptions::Loss::SquaredError;
  return options;
}

PretrainedModel PretrainedModel::train(const Dataset& data, const PretrainOptions& options) {
  PretrainedModel model;
  TreeOptions tree = options.tree;
  tree.seed = mix64(options.seed, 1);
  model.linear_.fit(data, tree);
  tree.seed = mix64(options.seed, 2);
  Dataset logarithms = data;
  logarithms.label = log_y(data.label);
  model.log_.fit(logarithms, tree);

  std::vector<float> score(data.size(), 0);
  for (int k = 0; k < options.networks; ++k) {
    NetworkOptions network = options.network;
    network.seed = mix64(options.seed, 10 + k);
    model.networks_.emplace_back().fit(data, network);
    model.networks_.back().predict(data.features, score);
  }
  if (options.networks > 0) model.calibration_ = calibrate(score, data.label);
  return model;
}

std::vector<float> PretrainedModel::predict(const FeatureTable& features) const {
  const std::size_t n = features.programs();
  std::vector<float> y(n, 0), log(n, 0), score(n, 0);
  linear_.predict(features, y);
  log_.predict(features, log);
  for (const Network& network : networks_) network.predict(features, score);
  for (std::size_t i = 0; i < n; ++i) {
    float sum = y[i] + y_of_log(log[i]);
    if (!networks_.empty()) sum += calibration_(score[i]);
    y[i] = std::clamp(sum / (networks_.empty() ? 2 : 3), 0.0f, 1.0f);
  }
  return y;
}

void PretrainedModel::save(const std::filesystem::path& path, std::uint64_t feature_set) const {
  ByteWriter out;
  linear_.save(out);
  log_.save(out);
  out.word(networks_.size());
  for (const Network& network : networks_) network.save(out);
  out.real(calibration_.offset);
  out.real(calibration_.slope);
  write_model_file(path, feature_set, out);
}

PretrainedModel PretrainedModel::load(const std::filesystem::path& path, std::uint64_t feature_set,
                                      std::size_t feature_width) {
  return parse(read_model_file(path, feature_set), path.string(), feature_width);
}

PretrainedModel PretrainedModel::from_bytes(std::span<const std::uint8_t> file, const std::string& name,
                                            std::uint64_t feature_set, std::size_t feature_width) {
  return parse(read_model_bytes(file, name, feature_set), name, feature_width);
}

PretrainedModel PretrainedModel::parse(std::span<const std::uint8_t> payload, const std::string& name,
                                       std::size_t feature_width) {
  ByteReader in(payload, name);
  PretrainedModel model;
  model.linear_ = TreeEnsemble::load(in);
  model.log_ = TreeEnsemble::load(in);
  in.require(model.linear_.width() == model.log_.width());
  for (std::uint64_t left = in.word(); left > 0; --left) {
    model.networks_.push_back(Network::load(in));
    in.require(model.networks_.back().feature_width() == model.linear_.width());
  }
  model.calibration_ = {in.real(), in.real()};
  in.require(in.at_end());
  if (model.feature_width() != feature_width) {
    throw UserError(code::U003,
                    "model file \"" + name + "\": made for " + std::to_string(model.feature_width()) +
                        " features a statement, this build computes " + std::to_string(feature_width) +
                        "; train it again with `lathe model train`");
  }
  return model;
}

}  // namespace lathe::tuner
