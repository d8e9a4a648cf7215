#include <numeric>

#include "tuner/search/strategy.h"

namespace lathe::tuner {

namespace {

// Where the points are listed, rejection would stall near the end: draw from those that are left.
std::vector<Point> draw_listed(const DecisionSpace& space, const PointSet& all, std::size_t count,
                               SeenKeys& seen, Random& random) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!seen.contains(space.key(all[i]))) left.push_back(i);
  }
  std::vector<Point> drawn;
  for (std::size_t i = 0; i < left.size() && drawn.size() < count; ++i) {
    std::swap(left[i], left[i + random.below(left.size() - i)]);
    const PointView point = all[left[i]];
    if (seen.insert(space.key(point))) drawn.emplace_back(point.begin(), point.end());
  }
  return drawn;
}

}  // namespace

std::vector<Point> draw_unseen(const DecisionSpace& space, std::size_t count, SeenKeys& seen,
                               Random& random) {
  if (count == 0) return {};
  if (const PointSet* all = space.listed()) return draw_listed(space, *all, count, seen, random);
  constexpr int MaxEmptyRounds = 64;
  std::vector<Point> drawn;
  for (int empty = 0; drawn.size() < count && empty < MaxEmptyRounds;) {
    PointSet batch(space.decisions().size());
    for (std::size_t i = 0; i < 4 * count; ++i) batch.add(space.sample(random));
    const PointSet valid = filtered(space, batch);
    const std::size_t before = drawn.size();
    for (std::size_t i = 0; i < valid.size() && drawn.size() < count; ++i) {
      if (seen.insert(space.key(valid[i]))) drawn.emplace_back(valid[i].begin(), valid[i].end());
    }
    empty = drawn.size() == before ? empty + 1 : 0;
  }
  return drawn;
}

namespace {

class RandomStrategy final : public Strategy {
 public:
  RandomStrategy(const DecisionSpace& space, std::uint64_t seed) : space_(space), random_(seed) {}
  std::string_view name() const override { return "random"; }
  std::vector<Point> propose(std::size_t count) override {
    return draw_unseen(space_, count, seen_, random_);
  }
  void observe(std::span<const Observation> observations) override {
    for (const Observation& o : observations) seen_.insert(space_.key(o.point));
  }

 private:
  const DecisionSpace& space_;
  Random random_;
  SeenKeys seen_;
};

}  // namespace

std::unique_ptr<Strategy> random_strategy(const DecisionSpace& space, std::uint64_t seed) {
  return std::make_unique<RandomStrategy>(space, seed);
}

}  // namespace lathe::tuner
