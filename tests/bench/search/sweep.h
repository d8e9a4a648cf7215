#pragma once
// A tuning space measured completely: every valid configuration with its time, from a CSV file.
//
// The parameters are the decisions, their distinct values the options; a configuration that is not in the
// file is not valid. Nothing here knows any particular kernel: columns may have any names, numbers or words.
// Features are the columns, and what a GPU programmer derives from the names that are usual ones
// (sweep_features.h).

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/search/decision_space.h"

namespace lathe::bench {

/// One parameter of a sweep.
struct Parameter {
  std::string name;
  bool numeric = true;
  std::vector<double> value;      ///< one an option, ascending; for words their rank
  std::vector<std::string> text;  ///< as in the file

  /// The option that stands as `word` in a file. Of a word that is none, anything up to the number of options.
  std::int32_t option(const std::string& word) const;
};

class SweepFeatures;

class Sweep final : public tuner::DecisionSpace {
 public:
  /// Reads `path`: a header line, then a row a configuration; the column `time` (the last one if none is
  /// called so) is the time. Rows without a positive finite time are failures and left out; constant columns
  /// and further results (a fraction in most rows) are no decisions; of a configuration that stands there twice
  /// the least time counts. Throws std::runtime_error with the file, and its line, when it is not such a table.
  explicit Sweep(const std::filesystem::path& path);
  ~Sweep() override;

  const std::string& name() const { return name_; }  ///< file name without .csv, e.g. gemm.RTX_2080_Ti
  std::string kernel() const;                        ///< the part before the first dot
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t size() const { return points_.size(); }
  double best() const { return best_; }
  double time(std::size_t row) const { return time_[row]; }
  double time(tuner::PointView point) const { return time_[row_of(point)]; }
  /// Whether each parameter of this sweep, and of `other`, is a column of both; it may be constant in one of them.
  bool same_parameters(const Sweep& other) const {
    return knows_parameters_of(other) && other.knows_parameters_of(*this);
  }
  /// The rows of `other`, a sweep of the same parameters, with this sweep's features, labelled by y = t_min/t.
  /// May be empty: where a constant of this sweep has another value there.
  tuner::Dataset learn_from(const Sweep& other) const;

  const std::vector<tuner::Decision>& decisions() const override { return decisions_; }
  std::int32_t options(std::size_t d, tuner::PointView earlier) const override;
  void filter(const tuner::PointSet& points, std::span<std::uint8_t> keep) const override;
  std::size_t feature_width() const override { return features_.width(); }
  void features(const tuner::PointSet& points, tuner::FeatureTable& table) const override;
  std::size_t embedding_width() const override { return embedding_width_; }
  void embed(const tuner::PointSet& points, std::span<float> rows) const override;
  const tuner::PointSet* listed() const override { return listed_ ? &points_ : nullptr; }
  tuner::Point sample(tuner::Random& random) const override;

  /// Hides the list, so that a search has to find its way by mutation, as in a space too large to list.
  void hide_list(bool hide = true) { listed_ = !hide; }
  /// All rows' features, in the file's order.
  const tuner::FeatureTable& feature_table() const { return features_; }

 private:
  std::vector<double> values_of(tuner::PointView point) const;
  bool knows_parameters_of(const Sweep& other) const;
  std::size_t row_of(tuner::PointView point) const { return row_.at(key(point)); }

  std::string name_;
  std::vector<Parameter> parameters_, constants_;  // columns with several values, with one
  std::unique_ptr<SweepFeatures> describe_;
  std::vector<tuner::Decision> decisions_;
  tuner::PointSet points_;
  std::vector<double> time_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_;
  double best_ = 0;
  tuner::FeatureTable features_;
  std::size_t embedding_width_ = 0;
  std::vector<float> embedding_;
  bool listed_ = true;
};

}  // namespace lathe::bench
