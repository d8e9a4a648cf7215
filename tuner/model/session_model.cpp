#include "tuner/model/session_model.h"

#include <algorithm>
#include <cmath>

#include "lathe/error.h"

namespace lathe::tuner {
namespace {

// A failure counts, in the log domain, as half of the slowest that ran: as −7 it would bend a smooth model.
std::vector<float> log_labels(std::span<const float> label) {
  float slowest = 1;
  for (float y : label) {
    if (y > 0) slowest = std::min(slowest, y);
  }
  std::vector<float> result;
  for (float y : label) result.push_back(log_y(y > 0 ? y : slowest / 2));
  return result;
}

}  // namespace

SessionModel::SessionModel(SessionModelOptions options)
    : options_(options),
      linear_{{}, {}, GaussianProcess(options.process)},
      log_{{}, {}, GaussianProcess(options.process)} {}

// Least squares, shrunk towards the identity as by four samples that lie on it.
SessionModel::PriorLine SessionModel::PriorLine::fit(std::span<const float> prior,
                                                     std::span<const float> label) {
  constexpr double Trust = 4;
  const double n = static_cast<double>(label.size());
  double x = 0, r = 0;  // means of the prior and of what it leaves
  for (std::size_t i = 0; i < label.size(); ++i) {
    x += prior[i] / n;
    r += (label[i] - prior[i]) / n;
  }
  double xx = 0, xr = 0;
  for (std::size_t i = 0; i < label.size(); ++i) {
    xx += (prior[i] - x) * (prior[i] - x);
    xr += (prior[i] - x) * (label[i] - prior[i] - r);
  }
  const double slope = std::max(0.0, 1 + xr / (xx * (1 + Trust / n) + 1e-9));
  const double offset = (r + x * (1 - slope)) * n / (n + Trust);
  return {static_cast<float>(offset), static_cast<float>(slope)};
}

void SessionModel::PriorLine::apply(std::span<float> prior) const {
  for (float& p : prior) p = offset + slope * p;
}

void SessionModel::fit_domain(Domain& domain, const Inputs& inputs, std::vector<float> prior,
                              std::vector<float> label, std::uint64_t seed) {
  if (!prior.empty()) {
    domain.line = PriorLine::fit(prior, label);
    domain.line.apply(prior);
    for (std::size_t i = 0; i < label.size(); ++i) label[i] -= prior[i];
  }
  domain.trees.clear();
  const Dataset data{*inputs.features, label, std::vector<std::uint64_t>(label.size(), 0)};
  for (int bag = 0; bag < options_.bags; ++bag) {
    TreeOptions options = options_.tree;
    options.seed = mix64(seed, bag);
    domain.trees.emplace_back().fit(data, options);
  }
  if (embedding_width_ > 0) domain.process.fit(inputs.embedding, embedding_width_, label);
}

void SessionModel::fit_networks(const Inputs& inputs, std::span<const float> label) {
  networks_.resize(std::max(options_.networks, 0));
  if (networks_.empty()) return;
  const Dataset data{
      *inputs.features, {label.begin(), label.end()}, std::vector<std::uint64_t>(label.size(), 0)};
  std::vector<float> score(label.size(), 0);
  for (std::size_t k = 0; k < networks_.size(); ++k) {
    NetworkOptions options = options_.network;
    options.seed = mix64(options_.seed, 100 + k);
    networks_[k].fit(data, options);
    networks_[k].predict(*inputs.features, score);
  }
  calibration_ = calibrate(score, label);
}

void SessionModel::fit(const Inputs& inputs, std::span<const float> label) {
  internal_check(inputs.size() == label.size(), "one label a program");
  if (label.size() < 2) return;
  fitted_ = true;
  samples_ = label.size();
  embedding_width_ = options_.processes ? inputs.embedding.size() / label.size() : 0;
  fit_domain(linear_, inputs, {inputs.prior.begin(), inputs.prior.end()}, {label.begin(), label.end()},
             mix64(options_.seed, 1));
  fit_domain(log_, inputs, log_y(inputs.prior), log_labels(label), mix64(options_.seed, 2));
  fit_networks(inputs, label);
}

// The members' answers in y, as running sums.
struct SessionModel::Answers {
  explicit Answers(std::size_t n) : sum(n, 0), square(n, 0), variance(n, 0) {}
  std::vector<float> sum, square, variance;
  float weight = 0, variance_weight = 0;

  void add(std::span<const float> y, float w) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      sum[i] += w * y[i];
      square[i] += w * y[i] * y[i];
    }
    weight += w;
  }
};

void SessionModel::ask_domain(const Domain& domain, const Inputs& inputs, std::vector<float> prior, bool log,
                              Answers& answers) const {
  const std::size_t n = inputs.size();
  domain.line.apply(prior);
  std::vector<float> y(n), deviation(n);
  auto to_y = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      if (!prior.empty()) y[i] += prior[i];
      if (log) y[i] = y_of_log(y[i]);
    }
  };
  for (const TreeEnsemble& trees : domain.trees) {
    std::fill(y.begin(), y.end(), 0.0f);
    trees.predict(*inputs.features, y);
    to_y();
    answers.add(y, 1);
  }
  if (embedding_width_ == 0) return;
  domain.process.predict(inputs.embedding, y, deviation);
  to_y();
  const float share =
      std::min(1.0f, static_cast<float>(options_.process_samples) / static_cast<float>(samples_));
  answers.add(y, share * share * static_cast<float>(std::max<std::size_t>(1, domain.trees.size())));
  for (std::size_t i = 0; i < n; ++i) {
    const float d = deviation[i] * (log ? y[i] : 1);
    answers.variance[i] += d * d;
  }
  answers.variance_weight += 1;
}

Prediction SessionModel::predict(const Inputs& inputs) const {
  const std::size_t n = inputs.size();
  if (!fitted_) {
    Prediction blind{std::vector<float>(n, 0.5f), std::vector<float>(n, 0.25f)};
    if (!inputs.prior.empty()) blind.mean.assign(inputs.prior.begin(), inputs.prior.end());
    return blind;
  }
  Answers answers(n);
  ask_domain(linear_, inputs, {inputs.prior.begin(), inputs.prior.end()}, false, answers);
  ask_domain(log_, inputs, log_y(inputs.prior), true, answers);
  if (!networks_.empty()) {
    std::vector<float> score(n, 0);
    for (const Network& network : networks_) network.predict(*inputs.features, score);
    for (float& s : score) s = calibration_(s);
    answers.add(score, static_cast<float>(std::max(options_.bags, 1)));
  }
  Prediction result{std::vector<float>(n), std::vector<float>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    const float mean = answers.sum[i] / answers.weight;
    const float disagreement = std::max(answers.square[i] / answers.weight - mean * mean, 0.0f);
    const float own = answers.variance_weight > 0 ? answers.variance[i] / answers.variance_weight : 0;
    result.mean[i] = mean;
    result.spread[i] = std::sqrt(disagreement + own);
  }
  return result;
}

std::vector<float> SessionModel::correlation(std::span<const float> embedding, std::size_t width,
                                             std::size_t index) const {
  std::vector<float> result(embedding.size() / width, 0);
  log_.process.correlation(embedding, embedding.subspan(index * width, width), result);
  return result;
}

}  // namespace lathe::tuner
