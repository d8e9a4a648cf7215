#pragma once
// Evolution of candidates under a model's judgement: where the points that a search shall score come from
// when there are too many to list.
//
// A generation is scored, the better are the likelier parents, and a child is a parent with one decision
// changed (now and then two), or a cross of two parents that exchanges whole groups of decisions. Options
// that a change makes invalid are redrawn; what the filter then refuses is dropped and counted. The first
// generation holds the best measured points with their neighbours, and random ones.

#include <cstdint>
#include <functional>
#include <vector>

#include "tuner/search/decision_space.h"
#include "tuner/search/strategy.h"

namespace lathe::tuner {

struct EvolutionOptions {
  std::size_t population = 1024;
  int generations = 4;
  double mutation = 0.85;         ///< share of children by mutation; the others are crosses
  double second_mutation = 0.25;  ///< chance that a mutation changes one decision more
  double random = 0.3;            ///< share of random points in the first generation
};

struct EvolutionCounts {
  std::size_t made = 0, refused = 0, repeated = 0;
};

/// Higher is better; one score a point.
using Scorer = std::function<std::vector<float>(const PointSet&)>;

/// Evolves from `parents` (the best first; may be empty). Returns the distinct points met that `measured`
/// does not hold, the best `keep` of them by score, the best first.
PointSet evolve(const DecisionSpace& space, const std::vector<Point>& parents, const SeenKeys& measured,
                const Scorer& score, std::size_t keep, const EvolutionOptions& options, Random& random,
                EvolutionCounts* counts = nullptr);

}  // namespace lathe::tuner
