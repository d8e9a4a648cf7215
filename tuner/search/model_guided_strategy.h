#pragma once
// Lathe's own search: a model learned from the session's measurements judges the candidates.
//
//   round 0     given seeds; then a batch that spreads over the space, or that a prior likes
//   each round  fit the model -> candidates: all points where they can be listed, else evolved
//               -> pick a batch by expected improvement; each pick lowers the promise of what it will tell
//                  about, so that a batch is not sixteen twins; a small share is random, and a share goes to
//                  niches
//
// A niche is an option that the best point so far has not. Some options are bad with most of the others and best with
// a few (no shared memory, but only where whole warps read whole lines); a model that saw them fail on average gives
// them up, and the search ends in the second-best basin. So some picks ask for an improvement over the niche's own
// best instead of the overall best: each option climbs on, slowly, and takes the lead where it can.
//
// Half of the picks are bold: they ask for an improvement of a tenth. Many spaces have plateaus, where one resource is
// the limit of a hundred candidates alike; each of them promises a gain of a percent, with certainty, and a search that
// takes any gain measures them all.
//
// Rounds should be small, 8 to 16 (usual_round) (a caller measures what one `propose` gave before it asks again). Known
// records of the same workload are observed, those of similar ones are given as seeds.

#include <functional>
#include <memory>

#include "tuner/model/session_model.h"
#include "tuner/search/evolution.h"
#include "tuner/search/strategy.h"

namespace lathe::tuner {

/// A guess of y in [0, 1] for each program, from a model that was learned elsewhere.
using Prior = std::function<std::vector<float>(const FeatureTable&)>;

struct ModelGuidedOptions {
  std::uint64_t seed = 1;
  std::size_t first_batch = 16;  ///< observations before the model is asked
  double random_share = 0.05;    ///< of the picks
  double niche_share = 0.15;  ///< of the picks: the best of an option that the best point has not; twice it
  std::size_t patience = 48;  ///< after so many trials without a new best
  double bold_share = 0.5;    ///< of the picks: those that ask for more than any improvement,
  double bold_gain = 0.1;     ///< of the best point's speed (less where all times lie closer than that)
  std::size_t list_limit = 32768;  ///< spaces of up to this many listed points are scored whole
  std::size_t pool = 4096;         ///< candidates a batch is picked from
  EvolutionOptions evolution;
  SessionModelOptions model;
  Prior prior;               ///< without it, the space's draft serves, if it has one
  std::vector<Point> seeds;  ///< proposed first
};

std::unique_ptr<Strategy> model_guided_strategy(const DecisionSpace& space, ModelGuidedOptions options);

}  // namespace lathe::tuner
