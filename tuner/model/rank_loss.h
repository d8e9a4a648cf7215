#pragma once
// LambdaRank (Burges 2010): gradients that push pairs of programs of one workload into the order of their
// labels.
//
// For a pair with y_i > y_j the loss is w_ij · log(1 + exp(-(s_i − s_j))). The weight w_ij = |y_i − y_j| ·
// (discount) says what a wrong order costs: much when the labels differ, more near the top of the list, where
// the search picks.

#include <cstdint>
#include <span>

#include "tuner/model/random.h"

namespace lathe::tuner {

struct RankLossOptions {
  /// Partners drawn for each program where a workload has more programs than this; all pairs otherwise.
  std::size_t partners = 48;
  /// Weight of a pair at the top of the true order relative to one at the bottom.
  double top_emphasis = 2;
};

/// Writes gradient and (diagonal, positive) hessian of the loss with respect to the scores, normalised so
/// that a program's pairs weigh about one in all. `workload` groups the programs; any order.
void rank_gradients(std::span<const float> label, std::span<const std::uint64_t> workload,
                    std::span<const float> score, const RankLossOptions& options, Random& random,
                    std::span<float> gradient, std::span<float> hessian);

}  // namespace lathe::tuner
