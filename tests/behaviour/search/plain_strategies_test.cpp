#include <set>

#include "toy_space.h"

using namespace lathe::tuner;

namespace {

// Everything a strategy proposes until it is exhausted, checked to be valid and new.
std::set<Point> exhaust(Strategy& strategy, std::size_t batch) {
  std::set<Point> all;
  for (;;) {
    const std::vector<Point> points = strategy.propose(batch);
    REQUIRE(points.size() <= batch);
    if (points.empty()) return all;
    for (const Point& p : points) {
      REQUIRE(ToySpace::valid(p));
      REQUIRE(all.insert(p).second);
    }
    strategy.observe(measure(points));
  }
}

}  // namespace

TEST_CASE("grid proposes every valid point once, in lexicographic order") {
  const ToySpace space;
  auto grid = grid_strategy(space);
  CHECK(exhaust(*grid, 7).size() == ToySpace::ValidPoints);
  auto again = grid_strategy(space);
  const std::vector<Point> points = again->propose(10000);
  CHECK(points.size() == ToySpace::ValidPoints);
  CHECK(std::is_sorted(points.begin(), points.end()));
}

TEST_CASE("grid crosses long stretches that the filter refuses") {
  class Sparse final : public DecisionSpace {
   public:
    const std::vector<Decision>& decisions() const override { return decisions_; }
    std::int32_t options(std::size_t, PointView) const override { return 100; }
    void filter(const PointSet& points, std::span<std::uint8_t> keep) const override {
      for (std::size_t i = 0; i < points.size(); ++i) keep[i] = points[i][0] == 99 && points[i][1] == 98;
    }
    std::size_t feature_width() const override { return 1; }
    void features(const PointSet&, FeatureTable&) const override {}
    std::vector<Decision> decisions_{{"a"}, {"b"}};
  };
  const Sparse space;
  auto grid = grid_strategy(space);
  CHECK(grid->propose(3) == std::vector<Point>{{99, 98}});
  CHECK(grid->propose(3).empty());
}

TEST_CASE("random draws valid points without repetition and reaches nearly all") {
  const ToySpace space;
  auto random = random_strategy(space, 1);
  CHECK(exhaust(*random, 16).size() >= ToySpace::ValidPoints * 99 / 100);
}

TEST_CASE("random is a function of its seed") {
  const ToySpace space;
  CHECK(random_strategy(space, 5)->propose(20) == random_strategy(space, 5)->propose(20));
  CHECK(random_strategy(space, 5)->propose(20) != random_strategy(space, 6)->propose(20));
}

TEST_CASE("replay gives the valid points of its list in order, once") {
  const ToySpace space;
  const Point a{3, 2, 2, 1}, b{0, 0, 0, 0}, refused{3, 0, 3, 1}, out_of_range{6, 1, 0, 0}, shorter{1, 2},
      negative{-1, 0, 0, 0};
  auto replay = replay_strategy(space, {a, refused, b, out_of_range, a, shorter, negative});
  CHECK(replay->propose(10) == std::vector<Point>{a, b});
  CHECK(replay->propose(10).empty());
}

TEST_CASE("no plain strategy proposes what it observed from elsewhere") {
  const ToySpace space;
  const Point known{0, 0, 0, 0};
  std::unique_ptr<Strategy> strategies[] = {grid_strategy(space), random_strategy(space, 3),
                                            replay_strategy(space, {known})};
  for (auto& strategy : strategies) {
    strategy->observe(measure({known}));
    CHECK(exhaust(*strategy, 50).count(known) == 0);
  }
}
