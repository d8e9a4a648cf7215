#include "tuner/search/evolution.h"

#include <algorithm>
#include <numeric>

namespace lathe::tuner {
namespace {

class Evolution {
 public:
  Evolution(const DecisionSpace& space, const SeenKeys& measured, const EvolutionOptions& options,
            Random& random)
      : space_(space),
        measured_(measured),
        options_(options),
        random_(random),
        batch_(space.decisions().size()) {
    for (const Decision& d : space.decisions()) {
      total_weight_ += d.max_options > 1 ? d.weight : 0;
      last_group_ = std::max(last_group_, d.group);
    }
  }

  void start(const std::vector<Point>& parents) {
    for (const Point& parent : parents) {
      for (std::size_t d = 0; d < parent.size() && made_this_batch_ < options_.population; ++d) {
        for (int k = 0; k < std::min(space_.decisions()[d].max_options, 4); ++k) make(mutated_at(parent, d));
      }
    }
    const std::size_t drawn =
        std::max<std::size_t>(static_cast<std::size_t>(options_.random * options_.population),
                              parents.empty() ? options_.population : 16);
    for (std::size_t i = 0; i < drawn; ++i) make(space_.sample(random_));
  }

  // Children of `pool`, whose members have ranks 0 (best) to n-1.
  void breed(const PointSet& pool, const std::vector<std::size_t>& by_rank) {
    for (std::size_t i = 0; i < options_.population; ++i) {
      const PointView parent = pool[by_rank[pick_rank(by_rank.size())]];
      if (random_.chance(options_.mutation) || last_group_ == 0) {
        Point child = mutated(Point(parent.begin(), parent.end()));
        if (random_.chance(options_.second_mutation)) child = mutated(std::move(child));
        make(std::move(child));
      } else {
        make(crossed(parent, pool[by_rank[pick_rank(by_rank.size())]]));
      }
    }
  }

  // The valid new points made since the last call.
  PointSet harvest() {
    PointSet valid = filtered(space_, batch_);
    counts_.refused += batch_.size() - valid.size();
    batch_.clear();
    made_this_batch_ = 0;
    return valid;
  }

  const EvolutionCounts& counts() const { return counts_; }

 private:
  // Ranks are drawn with a triangular density: the best is twice as likely as the average.
  std::size_t pick_rank(std::size_t n) { return std::min(random_.below(n), random_.below(n)); }

  void make(Point point) {
    ++counts_.made;
    ++made_this_batch_;
    const std::uint64_t key = space_.key(point);
    if (measured_.contains(key) || !met_.insert(key)) {
      ++counts_.repeated;
      return;
    }
    batch_.add(point);
  }

  Point mutated_at(Point point, std::size_t d) {
    point[d] = space_.mutate(d, point, random_);
    repair(space_, point, d + 1, random_);
    return point;
  }

  // Decisions are picked by weight, and only those that have another option here.
  Point mutated(Point point) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      double at = random_.uniform() * total_weight_;
      for (std::size_t d = 0; d < point.size(); ++d) {
        const Decision& decision = space_.decisions()[d];
        if (decision.max_options <= 1 || (at -= decision.weight) >= 0) continue;
        if (space_.options(d, point) > 1) return mutated_at(std::move(point), d);
        break;
      }
    }
    return point;
  }

  Point crossed(PointView a, PointView b) {
    std::vector<std::uint8_t> from_b(last_group_ + 1);
    for (std::uint8_t& f : from_b) f = random_.chance(0.5);
    Point child(a.begin(), a.end());
    for (std::size_t d = 0; d < child.size(); ++d) {
      if (from_b[space_.decisions()[d].group]) child[d] = b[d];
    }
    repair(space_, child, 0, random_);
    return child;
  }

  const DecisionSpace& space_;
  const SeenKeys& measured_;
  const EvolutionOptions& options_;
  Random& random_;
  SeenKeys met_;
  PointSet batch_;
  std::size_t made_this_batch_ = 0;
  double total_weight_ = 0;
  int last_group_ = 0;
  EvolutionCounts counts_;
};

std::vector<std::size_t> ranked(const std::vector<float>& score, std::size_t keep) {
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return score[a] > score[b]; });
  order.resize(std::min(order.size(), keep));
  return order;
}

}  // namespace

PointSet evolve(const DecisionSpace& space, const std::vector<Point>& parents, const SeenKeys& measured,
                const Scorer& score, std::size_t keep, const EvolutionOptions& options, Random& random,
                EvolutionCounts* counts) {
  Evolution evolution(space, measured, options, random);
  PointSet pool(space.decisions().size());
  std::vector<float> pool_score;
  evolution.start(parents);
  for (int generation = 0; generation <= options.generations; ++generation) {
    if (generation > 0) {
      if (pool.size() == 0) break;
      evolution.breed(pool, ranked(pool_score, options.population));
    }
    const PointSet fresh = evolution.harvest();
    const std::vector<float> fresh_score = score(fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i) pool.add(fresh[i]);
    pool_score.insert(pool_score.end(), fresh_score.begin(), fresh_score.end());
  }
  if (counts) *counts = evolution.counts();
  PointSet best(pool.width());
  for (std::size_t i : ranked(pool_score, keep)) best.add(pool[i]);
  return best;
}

}  // namespace lathe::tuner
