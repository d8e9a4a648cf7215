#pragma once
// Gradient-boosted regression trees on histograms (Friedman 2001; the second-order form of Chen and Guestrin
// 2016).
//
// A program's score is the sum over its statement rows of the sum over the trees ("pack-sum"), so that
// programs of different numbers of statements are compared. Each feature is cut into at most 64 bins once a
// fit; a node's best split comes from histograms of gradients. Trees are complete binary arrays: scoring is a
// walk without branches.
//
//   nodes of a tree of depth 2:          0            row goes to 2k+1 when value <= threshold, else to 2k+2;
//                                      1   2          a node that is not split sends everything left
//                                     3 4 5 6         (leaves)

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/model/features.h"
#include "tuner/model/rank_loss.h"

namespace lathe::tuner {

struct TreeOptions {
  enum class Loss { SquaredError, Rank };
  Loss loss = Loss::SquaredError;
  int trees = 200;
  int depth = 6;
  int bins = 64;  ///< at most 255
  float learning_rate = 0.1f;
  float lambda = 1;         ///< L2 on leaf values
  float min_child = 2;      ///< least rows in a leaf
  float row_sample = 1;     ///< share of the programs that a tree sees
  float column_sample = 1;  ///< share of the features that a tree sees
  RankLossOptions rank;
  std::uint64_t seed = 1;
};

class ByteWriter;
class ByteReader;

class TreeEnsemble {
 public:
  /// Learns from scratch. With `base`, one score a program, learns what is to be added to it (a residual
  /// model).
  void fit(const Dataset& data, const TreeOptions& options, std::span<const float> base = {});
  /// Adds every program's score to `score`.
  void predict(const FeatureTable& features, std::span<float> score) const;

  bool empty() const { return trees_.empty(); }
  std::size_t width() const { return width_; }
  /// Sum of the gains of all splits on each feature: what the trees found relevant.
  const std::vector<float>& importance() const { return importance_; }

  void save(ByteWriter& out) const;
  static TreeEnsemble load(ByteReader& in);

 private:
  friend class TreeGrower;
  struct Tree {
    std::vector<std::int32_t> feature;  // internal nodes
    std::vector<float> threshold;       // internal nodes
    std::vector<float> leaf;
  };
  std::size_t width_ = 0;
  int depth_ = 0;
  float base_score_ = 0;  // added once a program
  std::vector<Tree> trees_;
  std::vector<float> importance_;
};

}  // namespace lathe::tuner
