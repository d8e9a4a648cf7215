#include "tuner/model/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lathe/error.h"
#include "tuner/model/kernels.h"

namespace lathe::tuner {
namespace {

// Log-normal priors: length scales around 1.5 standard deviations of the inputs, little noise.
constexpr double PriorLength = 0.4, PriorLengthWidth = 1.0;
constexpr double PriorSignal = 0.0, PriorSignalWidth = 1.0;
constexpr double PriorNoise = -2.5, PriorNoiseWidth = 1.0;

// d[m,n] = |a_i − b_j|²
std::vector<float> squared_distances(std::span<const float> a, std::span<const float> b, std::size_t width) {
  const std::size_t m = a.size() / width, n = b.size() / width;
  std::vector<float> d(m * n, 0), norm(n);
  kernels().multiply_nt(m, n, width, a.data(), b.data(), d.data());
  auto squared_norm = [&](const float* x) { return std::inner_product(x, x + width, x, 0.0f); };
  for (std::size_t j = 0; j < n; ++j) norm[j] = squared_norm(&b[j * width]);
  for (std::size_t i = 0; i < m; ++i) {
    const float mine = squared_norm(&a[i * width]);
    float* row = &d[i * n];
    for (std::size_t j = 0; j < n; ++j) row[j] = mine + norm[j] - 2 * row[j];
  }
  return d;
}

// The best quarter of the samples, and of the others every so many, by label.
std::vector<std::size_t> thin(std::span<const float> label, std::size_t limit) {
  std::vector<std::size_t> order(label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (label.size() <= limit) return order;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return label[a] > label[b]; });
  const std::size_t best = limit / 2, rest = limit - best, others = order.size() - best;
  std::vector<std::size_t> kept(order.begin(), order.begin() + best);
  for (std::size_t i = 0; i < rest; ++i) kept.push_back(order[best + i * others / rest]);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

struct GaussianProcess::Evaluation {
  double loss = 0;  // negative log of the posterior of the hyper-parameters
  std::vector<double> gradient, factor, alpha;
};

std::vector<double> GaussianProcess::prior_hyper(std::size_t width) {
  std::vector<double> hyper(width + 2, PriorLength);
  // With more dimensions every distance grows, and the length scales with it.
  for (std::size_t d = 0; d < width; ++d) hyper[d] += 0.5 * std::log(std::max(1.0, width / 6.0));
  hyper[width] = PriorSignal;
  hyper[width + 1] = PriorNoise;
  return hyper;
}

// Every dimension divided by its length scale.
std::vector<float> GaussianProcess::scaled(std::span<const float> x, std::span<const double> hyper) {
  const std::size_t width = hyper.size() - 2;
  std::vector<float> inverse(width), result(x.begin(), x.end());
  for (std::size_t d = 0; d < width; ++d) inverse[d] = static_cast<float>(std::exp(-hyper[d]));
  for (std::size_t i = 0; i < result.size(); i += width) {
    for (std::size_t d = 0; d < width; ++d) result[i + d] *= inverse[d];
  }
  return result;
}

bool GaussianProcess::evaluate(std::span<const double> hyper, Evaluation& result, bool gradient) const {
  const std::size_t n = samples_;
  std::vector<float> inputs(x_);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] *= static_cast<float>(std::exp(-hyper[i % width_]));
  std::vector<float> correlation = squared_distances(inputs, inputs, width_), slope(gradient ? n * n : 0);
  kernels().matern52(n * n, correlation.data(), correlation.data(), gradient ? slope.data() : nullptr);

  const double signal = std::exp(2 * hyper[width_]), noise = std::exp(2 * hyper[width_ + 1]);
  result.factor.resize(n * n);
  for (std::size_t i = 0; i < n * n; ++i) result.factor[i] = signal * correlation[i];
  for (std::size_t i = 0; i < n; ++i) result.factor[i * n + i] = signal + noise + 1e-6;
  if (!kernels().cholesky(n, result.factor.data())) return false;

  // alpha = K⁻¹ y by two triangular solves; the loss is yᵀalpha/2 + log|L| − log prior.
  const double* l = result.factor.data();
  std::vector<double>& alpha = result.alpha;
  alpha.assign(y_.begin(), y_.end());
  double loss = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) alpha[i] -= l[i * n + j] * alpha[j];
    alpha[i] /= l[i * n + i];
    loss += 0.5 * alpha[i] * alpha[i] + std::log(l[i * n + i]);
  }
  for (std::size_t i = n; i-- > 0;) {
    alpha[i] /= l[i * n + i];
    for (std::size_t j = 0; j < i; ++j) alpha[j] -= l[i * n + j] * alpha[i];
  }

  result.gradient.assign(hyper.size(), 0);
  auto prior = [&](std::size_t k, double centre, double width) {
    const double z = (hyper[k] - centre) / width;
    loss += 0.5 * z * z;
    result.gradient[k] += z / width;
  };
  for (std::size_t d = 0; d < width_; ++d) prior(d, PriorLength, PriorLengthWidth);
  prior(width_, PriorSignal, PriorSignalWidth);
  prior(width_ + 1, PriorNoise, PriorNoiseWidth);
  result.loss = loss;
  if (!gradient) return std::isfinite(loss);

  // d loss / d θ = ½ Σ (K⁻¹ − ααᵀ) ∘ dK/dθ. For a length scale, dK = σ²·slope ∘ (x_i − x_j)²/ℓ².
  std::vector<double> inverse(n * n);
  kernels().cholesky_inverse(n, l, inverse.data());
  std::vector<float> weight(n * n), product(n * width_, 0), row_sum(n, 0);
  double trace_signal = 0, trace_noise = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double w = inverse[i * n + j] - alpha[i] * alpha[j];
      trace_signal += w * correlation[i * n + j];
      if (i == j) trace_noise += w;
      weight[i * n + j] = static_cast<float>(w * signal * slope[i * n + j]);
      row_sum[i] += weight[i * n + j];
    }
  }
  kernels().multiply(n, width_, n, weight.data(), inputs.data(), product.data());
  for (std::size_t d = 0; d < width_; ++d) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = inputs[i * width_ + d];
      sum += x * (x * row_sum[i] - product[i * width_ + d]);
    }
    result.gradient[d] += sum;  // ½ · 2, as every pair counts twice
  }
  result.gradient[width_] += trace_signal * signal;
  result.gradient[width_ + 1] += trace_noise * noise;
  return std::isfinite(loss);
}

// Rprop: the step of each parameter grows while its gradient keeps its sign and shrinks when it turns. The
// best parameters seen are kept, so that a bad last step does no harm.
void GaussianProcess::optimise(int steps) {
  std::vector<double> hyper = hyper_, step(hyper.size(), 0.15), last(hyper.size(), 0), best = hyper_;
  double best_loss = INFINITY;
  for (int s = 0; s < steps; ++s) {
    Evaluation now;
    if (!evaluate(hyper, now, true)) break;
    if (now.loss < best_loss) {
      best_loss = now.loss;
      best = hyper;
    }
    for (std::size_t k = 0; k < hyper.size(); ++k) {
      const double agreement = now.gradient[k] * last[k];
      if (agreement > 0) step[k] = std::min(step[k] * 1.3, 0.6);
      if (agreement < 0) step[k] = std::max(step[k] * 0.5, 1e-3);
      last[k] = agreement < 0 ? 0 : now.gradient[k];
      if (last[k] != 0) hyper[k] -= last[k] > 0 ? step[k] : -step[k];
      hyper[k] = std::clamp(hyper[k], -5.0, 5.0);
    }
  }
  hyper_ = best;
}

void GaussianProcess::fit(std::span<const float> x, std::size_t width, std::span<const float> label) {
  internal_check(width > 0 && x.size() == width * label.size(), "one row of inputs a label");
  const bool first = hyper_.size() != width + 2;
  width_ = width;
  samples_ = 0;
  if (first) hyper_ = prior_hyper(width);
  if (label.size() < 2) return;

  const std::vector<std::size_t> kept = thin(label, options_.max_samples);
  x_.clear();
  y_.clear();
  for (std::size_t i : kept) {
    x_.insert(x_.end(), x.begin() + i * width, x.begin() + (i + 1) * width);
    y_.push_back(label[i]);
  }
  label_mean_ = std::accumulate(y_.begin(), y_.end(), 0.0) / y_.size();
  double square = 0;
  for (float y : y_) square += (y - label_mean_) * (y - label_mean_);
  label_scale_ = std::max(std::sqrt(square / y_.size()), 1e-9);
  for (float& y : y_) y = static_cast<float>((y - label_mean_) / label_scale_);

  samples_ = y_.size();
  optimise(first ? options_.first_steps : options_.later_steps);
  Evaluation final;
  while (!evaluate(hyper_, final, false)) {
    internal_check(hyper_[width + 1] < 5,
                   "a covariance with much noise on its diagonal has no Cholesky factor");
    hyper_[width + 1] += 1;
  }
  scaled_x_ = scaled(x_, hyper_);
  alpha_.assign(final.alpha.begin(), final.alpha.end());
  factor_.assign(final.factor.begin(), final.factor.end());
}

void GaussianProcess::predict(std::span<const float> x, std::span<float> mean,
                              std::span<float> deviation) const {
  internal_check(samples_ > 0, "prediction by a Gaussian process that was not fitted");
  constexpr std::size_t Block = 512;
  const std::size_t n = samples_, count = x.size() / width_;
  const float signal = static_cast<float>(std::exp(2 * hyper_[width_]));
  for (std::size_t begin = 0; begin < count; begin += Block) {
    const std::size_t m = std::min(Block, count - begin);
    // Covariance between training inputs (rows) and the block (columns), ready for the triangular solve.
    std::vector<float> cross =
        squared_distances(scaled_x_, scaled(x.subspan(begin * width_, m * width_), hyper_), width_);
    kernels().matern52(n * m, cross.data(), cross.data(), nullptr);
    for (float& c : cross) c *= signal;
    std::vector<float> value(m, 0);
    kernels().multiply(1, m, n, alpha_.data(), cross.data(), value.data());
    for (std::size_t j = 0; j < m; ++j)
      mean[begin + j] = static_cast<float>(label_mean_ + label_scale_ * value[j]);
    if (deviation.empty()) continue;
    kernels().solve_lower(n, m, factor_.data(), cross.data());
    std::vector<float> variance(m, signal);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) variance[j] -= cross[i * m + j] * cross[i * m + j];
    }
    for (std::size_t j = 0; j < m; ++j) {
      deviation[begin + j] = static_cast<float>(label_scale_ * std::sqrt(std::max(variance[j], 0.0f)));
    }
  }
}

void GaussianProcess::correlation(std::span<const float> x, std::span<const float> with,
                                  std::span<float> result) const {
  const std::vector<double> hyper = hyper_.size() == with.size() + 2 ? hyper_ : prior_hyper(with.size());
  const std::vector<float> distance = squared_distances(scaled(x, hyper), scaled(with, hyper), with.size());
  kernels().matern52(distance.size(), distance.data(), result.data(), nullptr);
}

}  // namespace lathe::tuner
