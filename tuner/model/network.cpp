#include "tuner/model/network.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lathe/error.h"
#include "tuner/model/kernels.h"
#include "tuner/model/model_file.h"

namespace lathe::tuner {

void Standardiser::fit(const FeatureTable& features) {
  const std::size_t width = features.width(), rows = features.rows();
  std::vector<double> sum(width), square(width);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> row = features.row(r);
    for (std::size_t f = 0; f < width; ++f) sum[f] += row[f];
  }
  for (double& s : sum) s /= std::max<std::size_t>(rows, 1);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> row = features.row(r);
    for (std::size_t f = 0; f < width; ++f) square[f] += (row[f] - sum[f]) * (row[f] - sum[f]);
  }
  mean_.assign(sum.begin(), sum.end());
  scale_.assign(width, 0);
  for (std::size_t f = 0; f < width; ++f) {
    const double deviation = std::sqrt(square[f] / std::max<std::size_t>(rows, 1));
    if (deviation > 1e-6 * (1 + std::abs(sum[f]))) scale_[f] = static_cast<float>(1 / deviation);
  }
}

void Standardiser::apply(std::span<const float> row, float* out) const {
  for (std::size_t f = 0; f < row.size(); ++f)
    out[f] = std::clamp((row[f] - mean_[f]) * scale_[f], -8.0f, 8.0f);
}

void Standardiser::save(ByteWriter& out) const {
  out.floats(mean_);
  out.floats(scale_);
}

Standardiser Standardiser::load(ByteReader& in) {
  Standardiser result;
  result.mean_ = in.floats();
  result.scale_ = in.floats();
  in.require(result.mean_.size() == result.scale_.size());
  return result;
}

// One batch on its way through the network. Statement rows and programs are matrices of `width` columns.
struct Network::Activations {
  std::size_t rows = 0, programs = 0;
  std::vector<std::uint32_t> first_row{0};
  std::vector<float> input, first, second, summed, residual[2], after[2], score;

  void add(const FeatureTable& features, const Standardiser& standardiser, std::size_t program) {
    const std::size_t width = features.width();
    for (std::size_t r = features.first_row(program); r < features.first_row(program + 1); ++r) {
      input.resize(input.size() + width);
      standardiser.apply(features.row(r), &input[rows++ * width]);
    }
    first_row.push_back(static_cast<std::uint32_t>(rows));
    ++programs;
  }
};

namespace {

constexpr std::size_t StatementOne = 0, StatementTwo = 1, ResidualOne = 2, Output = 4;

void relu(std::vector<float>& x) {
  for (float& v : x) v = std::max(v, 0.0f);
}

void mask_by(const std::vector<float>& activation, std::vector<float>& gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (activation[i] <= 0) gradient[i] = 0;
  }
}

}  // namespace

void Network::set_shape(std::size_t features, std::size_t width) {
  width_ = width;
  layers_.clear();
  std::size_t offset = 0;
  auto layer = [&](std::size_t in, std::size_t out) {
    layers_.push_back({offset, offset + in * out, in, out});
    offset += in * out + out;
  };
  layer(features, width);
  layer(width, width);
  layer(width, width);
  layer(width, width);
  layer(width, 1);
  parameters_.resize(offset);
}

// He's initialisation; the residual layers and the output start small, so that the network starts as a short
// one.
void Network::initialise(std::uint64_t seed) {
  Random random(seed);
  std::fill(parameters_.begin(), parameters_.end(), 0.0f);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const double scale = std::sqrt(2.0 / layers_[l].in) * (l >= ResidualOne ? 0.3 : 1.0);
    for (std::size_t i = 0; i < layers_[l].in * layers_[l].out; ++i) {
      parameters_[layers_[l].weight + i] = static_cast<float>(scale * random.normal());
    }
  }
}

void Network::forward(const float* parameters, Activations& a) const {
  auto dense = [&](const Layer& layer, std::size_t rows, const std::vector<float>& in,
                   std::vector<float>& out) {
    out.resize(rows * layer.out);
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(parameters + layer.bias, layer.out, &out[r * layer.out]);
    kernels().multiply(rows, layer.out, layer.in, in.data(), parameters + layer.weight, out.data());
  };
  dense(layers_[StatementOne], a.rows, a.input, a.first);
  relu(a.first);
  dense(layers_[StatementTwo], a.rows, a.first, a.second);
  relu(a.second);
  a.summed.assign(a.programs * width_, 0);
  for (std::size_t p = 0; p < a.programs; ++p) {
    for (std::size_t r = a.first_row[p]; r < a.first_row[p + 1]; ++r) {
      for (std::size_t c = 0; c < width_; ++c) a.summed[p * width_ + c] += a.second[r * width_ + c];
    }
  }
  const std::vector<float>* h = &a.summed;
  for (std::size_t k = 0; k < 2; ++k) {
    dense(layers_[ResidualOne + k], a.programs, *h, a.residual[k]);
    relu(a.residual[k]);
    a.after[k] = *h;
    for (std::size_t i = 0; i < a.after[k].size(); ++i) a.after[k][i] += a.residual[k][i];
    h = &a.after[k];
  }
  dense(layers_[Output], a.programs, *h, a.score);
}

void Network::backward(const float* parameters, Activations& a, std::span<const float> score_gradient,
                       std::vector<float>& gradient) const {
  gradient.assign(parameters_.size(), 0);
  // Gradient of a layer's parameters, and, unless `in_gradient` is null, of its input (added to what is
  // there).
  auto dense = [&](const Layer& layer, std::size_t rows, const std::vector<float>& in,
                   const float* out_gradient, std::vector<float>* in_gradient) {
    kernels().multiply_tn(layer.in, layer.out, rows, in.data(), out_gradient, &gradient[layer.weight]);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < layer.out; ++c) gradient[layer.bias + c] += out_gradient[r * layer.out + c];
    }
    if (in_gradient) {
      kernels().multiply_nt(rows, layer.in, layer.out, out_gradient, parameters + layer.weight,
                            in_gradient->data());
    }
  };
  std::vector<float> h(a.programs * width_, 0);
  dense(layers_[Output], a.programs, a.after[1], score_gradient.data(), &h);
  for (std::size_t k = 2; k-- > 0;) {
    std::vector<float> inner = h;
    mask_by(a.residual[k], inner);
    dense(layers_[ResidualOne + k], a.programs, k == 0 ? a.summed : a.after[0], inner.data(), &h);
  }
  std::vector<float> second(a.rows * width_);
  for (std::size_t p = 0; p < a.programs; ++p) {
    for (std::size_t r = a.first_row[p]; r < a.first_row[p + 1]; ++r) {
      std::copy_n(&h[p * width_], width_, &second[r * width_]);
    }
  }
  mask_by(a.second, second);
  std::vector<float> first(a.rows * width_, 0);
  dense(layers_[StatementTwo], a.rows, a.first, second.data(), &first);
  mask_by(a.first, first);
  dense(layers_[StatementOne], a.rows, a.input, first.data(), nullptr);
}

namespace {

// Programs in batches of one workload each, as ranking needs pairs of one workload; the batches in random
// order.
std::vector<std::vector<std::size_t>> make_batches(const Dataset& data, std::size_t batch, Random& random) {
  std::vector<std::size_t> order(data.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(std::span(order));
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return data.workload[a] < data.workload[b]; });
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t i : order) {
    const bool same = !batches.empty() && batches.back().size() < batch &&
                      data.workload[batches.back().back()] == data.workload[i];
    if (!same) batches.emplace_back();
    batches.back().push_back(i);
  }
  random.shuffle(std::span(batches));
  return batches;
}

void clip_norm(std::vector<float>& gradient, float bound) {
  double square = 0;
  for (float g : gradient) square += static_cast<double>(g) * g;
  if (square <= static_cast<double>(bound) * bound) return;
  const float scale = static_cast<float>(bound / std::sqrt(square));
  for (float& g : gradient) g *= scale;
}

}  // namespace

void Network::fit(const Dataset& data, const NetworkOptions& options, std::span<const float> base) {
  internal_check(options.width > 0 && options.batch > 0, "a network has a width and batches");
  if (data.size() == 0) return;
  const std::size_t width = static_cast<std::size_t>(options.width);
  if (empty() || standardiser_.width() != data.features.width() || width_ != width) {
    standardiser_.fit(data.features);
    set_shape(data.features.width(), width);
    initialise(mix64(options.seed));
    average_ = parameters_;
  }
  parameters_ = average_;

  Random random(mix64(options.seed, 1));
  std::vector<float> first(parameters_.size(), 0), second(parameters_.size(), 0), gradient;
  double first_decay = 1, second_decay = 1;
  std::size_t step = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const auto batches = make_batches(data, options.batch, random);
    const std::size_t steps = batches.size() * options.epochs;
    for (const std::vector<std::size_t>& batch : batches) {
      Activations a;
      std::vector<float> label, score, slope(batch.size()), curvature(batch.size());
      std::vector<std::uint64_t> workload;
      for (std::size_t i : batch) {
        a.add(data.features, standardiser_, i);
        label.push_back(data.label[i]);
        workload.push_back(data.workload[i]);
      }
      forward(parameters_.data(), a);
      score = a.score;
      if (!base.empty()) {
        for (std::size_t k = 0; k < batch.size(); ++k) score[k] += base[batch[k]];
      }
      if (options.loss == NetworkOptions::Loss::Rank) {
        rank_gradients(label, workload, score, options.rank, random, slope, curvature);
      } else {
        for (std::size_t k = 0; k < batch.size(); ++k) slope[k] = score[k] - label[k];
      }
      for (float& s : slope) s /= static_cast<float>(batch.size());
      backward(parameters_.data(), a, slope, gradient);
      clip_norm(gradient, options.clip);

      const float rate =
          options.learning_rate * 0.5f *
          (1 + static_cast<float>(std::cos(3.14159265358979 * static_cast<double>(step) / steps)));
      first_decay *= 0.9;
      second_decay *= 0.999;
      kernels().adam(parameters_.size(), gradient.data(), parameters_.data(), first.data(), second.data(),
                     rate, static_cast<float>(1 - first_decay), static_cast<float>(1 - second_decay),
                     options.weight_decay);
      // A young average would remember its random start: its memory grows with the steps.
      const float keep = std::min(options.average, static_cast<float>(step) / (step + 9.0f));
      for (std::size_t k = 0; k < average_.size(); ++k) {
        average_[k] = keep * average_[k] + (1 - keep) * parameters_[k];
      }
      ++step;
    }
  }
}

void Network::predict(const FeatureTable& features, std::span<float> score) const {
  internal_check(!empty() && features.width() == standardiser_.width(),
                 "features that the network was trained on");
  constexpr std::size_t Block = 256;
  for (std::size_t begin = 0; begin < features.programs(); begin += Block) {
    const std::size_t end = std::min(begin + Block, features.programs());
    Activations a;
    for (std::size_t p = begin; p < end; ++p) a.add(features, standardiser_, p);
    forward(average_.data(), a);
    for (std::size_t p = begin; p < end; ++p) score[p] += a.score[p - begin];
  }
}

void Network::save(ByteWriter& out) const {
  standardiser_.save(out);
  out.word(width_);
  out.floats(average_);
}

Network Network::load(ByteReader& in) {
  Network result;
  result.standardiser_ = Standardiser::load(in);
  const std::uint64_t width = in.word();
  in.require(width <= 65536);
  std::vector<float> weights = in.floats();
  if (weights.empty()) return result;
  in.require(width > 0 && result.standardiser_.width() > 0);
  result.set_shape(result.standardiser_.width(), width);
  in.require(weights.size() == result.parameters_.size());
  result.parameters_ = weights;
  result.average_ = std::move(weights);
  return result;
}

}  // namespace lathe::tuner
