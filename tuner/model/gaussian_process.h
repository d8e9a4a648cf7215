#pragma once
// Gaussian-process regression (Rasmussen and Williams 2006) over the embedding of a point's decisions.
//
// With few samples, the state of every search's first hundred trials, a smooth prior over the decisions
// themselves says more than trees do, and says how sure it is. The covariance is Matérn-5/2 with a length
// scale a dimension,
//
//     k(x, x') = σ²·m(|(x − x')/ℓ|) + σ_n²·[x = x'],
//
// and the hyper-parameters are the most probable ones (marginal likelihood times a log-normal prior), by
// Rprop on the exact gradient, starting from those of the last fit. Labels are standardised; time O(n³), n ≤
// max_samples.

#include <cstddef>
#include <span>
#include <vector>

#include "tuner/model/features.h"

namespace lathe::tuner {

struct GaussianProcessOptions {
  std::size_t max_samples = 512;  ///< more are thinned out: the best and an even spread of the rest stay
  int first_steps = 30;           ///< of the hyper-parameter search at the first fit
  int later_steps = 8;            ///< and at each one after
};

class GaussianProcess {
 public:
  explicit GaussianProcess(GaussianProcessOptions options = {}) : options_(options) {}

  /// `x` is row-major, one row of `width` values a label, values on a scale of about one.
  void fit(std::span<const float> x, std::size_t width, std::span<const float> label);
  /// Mean for each row of `x`, in the label's scale, and with `deviation` not empty the standard deviation of
  /// the noise-free value.
  void predict(std::span<const float> x, std::span<float> mean, std::span<float> deviation) const;

  /// Correlation of each row of `x` with the one point `with`, by the fitted length scales (before a fit, the
  /// prior's).
  void correlation(std::span<const float> x, std::span<const float> with, std::span<float> result) const;

  bool empty() const { return samples_ == 0; }

 private:
  struct Evaluation;
  bool evaluate(std::span<const double> hyper, Evaluation& result, bool gradient) const;
  static std::vector<double> prior_hyper(std::size_t width);
  void optimise(int steps);
  static std::vector<float> scaled(std::span<const float> x, std::span<const double> hyper);

  GaussianProcessOptions options_;
  std::size_t width_ = 0, samples_ = 0;
  std::vector<double> hyper_;  // log ℓ per dimension, log σ, log σ_n
  std::vector<float> x_;       // training inputs
  std::vector<float> y_;       // standardised labels
  double label_mean_ = 0, label_scale_ = 1;
  std::vector<float> scaled_x_, alpha_, factor_;  // for prediction
};

}  // namespace lathe::tuner
