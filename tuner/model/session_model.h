#pragma once
// The model that a session learns from its own measurements, and asks about every candidate.
//
// Its members err differently: trees see the derived features and jump, Gaussian processes see the decisions
// and interpolate, networks see sums of statements; one of each learns y = t_min/t (who is near the top?) and
// one log y (who is slower than whom?). All answer in y. Their mean is the score; how far they disagree,
// together with the processes' own deviation, is the spread.
//
// What is known before the first measurement enters as `prior`, a guess of y: the analytic draft, or a model
// learned elsewhere. The members learn what is left after the best line through it, a line that starts as the
// identity. So a good prior is kept, and a bad one forgotten within a few dozen samples.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/features.h"
#include "tuner/model/gaussian_process.h"
#include "tuner/model/labels.h"
#include "tuner/model/network.h"
#include "tuner/model/trees.h"

namespace lathe::tuner {

/// Programs as the members see them.
struct Inputs {
  const FeatureTable* features = nullptr;
  std::span<const float> embedding;  ///< row-major, one row a program; empty: no Gaussian processes
  std::span<const float> prior;      ///< one a program, in [0, 1]; empty: none
  std::size_t size() const { return features->programs(); }
};

struct Prediction {
  std::vector<float> mean;    ///< of y, one a program
  std::vector<float> spread;  ///< standard deviation of y
};

/// Trees for some ten to some thousand samples of one workload.
inline TreeOptions session_trees() {
  TreeOptions options;
  options.trees = 150;
  options.row_sample = 0.85f;
  options.column_sample = 0.8f;
  options.min_child = 1;
  return options;
}

struct SessionModelOptions {
  int bags = 2;  ///< tree ensembles for each of the two labels; 0: no trees
  TreeOptions tree = session_trees();
  bool processes = true;  ///< Gaussian processes, where there is an embedding
  /// Up to this many samples a process weighs as much as the trees of its label, beyond it less by the square: trees
  /// gain more from more samples.
  std::size_t process_samples = 160;
  GaussianProcessOptions process;
  int networks = 0;  ///< networks, trained by ranking; they pay from some thousand samples on
  NetworkOptions network;
  std::uint64_t seed = 1;
};

class SessionModel {
 public:
  explicit SessionModel(SessionModelOptions options = {});

  /// Learns from `label` (y in [0, 1], 0 a failure), all of one workload. Does nothing below two samples.
  void fit(const Inputs& inputs, std::span<const float> label);
  bool fitted() const { return fitted_; }

  /// Before the first fit, the mean is the prior (or a constant) and the spread the same for all.
  Prediction predict(const Inputs& inputs) const;

  /// How much a measurement of program `index` says about each program: a correlation in [0, 1].
  std::vector<float> correlation(std::span<const float> embedding, std::size_t width,
                                 std::size_t index) const;

 private:
  // The best line through the prior, in one of the two label domains.
  struct PriorLine {
    float offset = 0, slope = 1;
    static PriorLine fit(std::span<const float> prior, std::span<const float> label);
    void apply(std::span<float> prior) const;
  };
  // Everything that learns one form of the label.
  struct Domain {
    PriorLine line;
    std::vector<TreeEnsemble> trees;
    GaussianProcess process;
  };
  void fit_domain(Domain& domain, const Inputs& inputs, std::vector<float> prior, std::vector<float> label,
                  std::uint64_t seed);
  void fit_networks(const Inputs& inputs, std::span<const float> label);
  struct Answers;
  void ask_domain(const Domain& domain, const Inputs& inputs, std::vector<float> prior, bool log,
                  Answers& answers) const;

  SessionModelOptions options_;
  bool fitted_ = false;
  std::size_t embedding_width_ = 0, samples_ = 0;
  Domain linear_, log_;
  std::vector<Network> networks_;
  Calibration calibration_;
};

}  // namespace lathe::tuner
