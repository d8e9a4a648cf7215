#pragma once
// A search strategy proposes candidates and is told how they did.
//
//   while (budget left) {
//     batch = strategy.propose(16);          // fewer, or none, when it has nothing left to propose
//     strategy.observe(measure(batch));      // in the order of the proposals
//   }
//
// A strategy is a deterministic function of its seed and of what it observed: the same seed and the same
// times give the same proposals. It never proposes a point of a key that it proposed or observed before.
// Observations that it did not ask for (records of an earlier session) may be given at any time, also before
// the first proposal.

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tuner/search/decision_space.h"

namespace lathe::tuner {

/// What became of a candidate. No time means that it failed: it did not build, run or verify.
struct Observation {
  Point point;
  std::optional<double> seconds;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// At most `count` new points that pass the space's filter, the most promising first.
  virtual std::vector<Point> propose(std::size_t count) = 0;
  virtual void observe(std::span<const Observation> observations) = 0;
  /// How good it takes each of `points` to be, higher is better; empty when it has no opinion.
  virtual std::vector<float> expect(const PointSet&) const { return {}; }
};

/// How many candidates to measure before the next proposal: while little is known, each round changes much of what a model
/// believes, and later little.
inline std::size_t usual_round(std::size_t measured) { return measured < 96 ? 8 : 16; }

/// The keys a strategy has seen. Only ever asked about single keys, so that no result depends on a hash
/// table's order.
class SeenKeys {
 public:
  /// True when `key` was not in there before.
  bool insert(std::uint64_t key) { return keys_.insert(key).second; }
  bool contains(std::uint64_t key) const { return keys_.count(key) != 0; }
  std::size_t size() const { return keys_.size(); }

 private:
  std::unordered_set<std::uint64_t> keys_;
};

/// Draws valid points that `seen` does not hold and adds them to it. Gives up, with fewer, after many draws
/// in vain.
std::vector<Point> draw_unseen(const DecisionSpace& space, std::size_t count, SeenKeys& seen, Random& random);

/// Uniformly random points. The space outlives the strategy, here and below.
std::unique_ptr<Strategy> random_strategy(const DecisionSpace& space, std::uint64_t seed);

/// Every point of the space in lexicographic order, the first decision slowest.
std::unique_ptr<Strategy> grid_strategy(const DecisionSpace& space);

/// The given points in their order (for example of an earlier session), those not valid in this space left
/// out.
std::unique_ptr<Strategy> replay_strategy(const DecisionSpace& space, std::vector<Point> points);

}  // namespace lathe::tuner
