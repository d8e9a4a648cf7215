#pragma once
// A small neural network over a program's statements (after TenSet's MLP, 2021).
//
//   row of features -> standardised -> dense H, relu -> dense H, relu     once a statement
//        sum over the program's statements                                (segment sum)
//        h += relu(dense H)   twice                                       (residual layers)
//        dense 1                                                          -> score
//
// Trained by Adam with decoupled weight decay, a cosine schedule, gradient clipping and an exponential moving
// average of the weights, which is what predicts. The table that standardises features is fitted with the
// first training set and stays with the weights: a network that is trained on keeps the meaning of its
// inputs.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/features.h"
#include "tuner/model/rank_loss.h"

namespace lathe::tuner {

class ByteWriter;
class ByteReader;

/// (x − mean) / deviation for each column, clamped to ±8; constant columns become 0.
class Standardiser {
 public:
  void fit(const FeatureTable& features);
  std::size_t width() const { return mean_.size(); }
  /// Writes the standardised row.
  void apply(std::span<const float> row, float* out) const;

  void save(ByteWriter& out) const;
  static Standardiser load(ByteReader& in);

 private:
  std::vector<float> mean_, scale_;
};

struct NetworkOptions {
  enum class Loss { SquaredError, Rank };
  Loss loss = Loss::Rank;
  int width = 64;
  int epochs = 50;
  int batch = 256;
  float learning_rate = 3e-3f;
  float weight_decay = 1e-4f;
  float clip = 0.5f;  ///< bound on the gradient's norm
  float average = 0.99f;
  RankLossOptions rank;
  std::uint64_t seed = 1;
};

class Network {
 public:
  /// Trains on `data`; goes on from the present weights when they have the right shape, else starts at
  /// random. With `base`, one score a program, learns what is to be added to it.
  void fit(const Dataset& data, const NetworkOptions& options, std::span<const float> base = {});
  /// Adds every program's score to `score`.
  void predict(const FeatureTable& features, std::span<float> score) const;

  bool empty() const { return average_.empty(); }
  std::size_t feature_width() const { return standardiser_.width(); }

  void save(ByteWriter& out) const;
  static Network load(ByteReader& in);

 private:
  struct Activations;
  struct Layer {
    std::size_t weight, bias, in, out;  // offsets into the parameters; weight is [in, out]
  };
  void set_shape(std::size_t features, std::size_t width);
  void initialise(std::uint64_t seed);
  void forward(const float* parameters, Activations& a) const;
  void backward(const float* parameters, Activations& a, std::span<const float> score_gradient,
                std::vector<float>& gradient) const;

  Standardiser standardiser_;
  std::size_t width_ = 0;
  std::vector<Layer> layers_;  // two of statements, two residual, the output
  std::vector<float> parameters_, average_;
};

}  // namespace lathe::tuner
