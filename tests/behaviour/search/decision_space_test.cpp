#include "toy_space.h"

using namespace lathe::tuner;

TEST_CASE("mutate gives another option in range wherever there is one") {
  const ToySpace space;
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Point p = space.sample(random);
    for (std::size_t d = 0; d < p.size(); ++d) {
      const std::int32_t option = space.mutate(d, p, random);
      REQUIRE(option >= 0);
      REQUIRE(option < space.options(d, p));
      REQUIRE((option != p[d]) == (space.options(d, p) > 1));
    }
  }
}

TEST_CASE("mutate reaches every option of a decision") {
  const ToySpace space;
  Random random(2);
  const Point p{0, 6, 1, 2};
  for (std::size_t d = 0; d < p.size(); ++d) {
    std::vector<bool> reached(space.options(d, p));
    reached[p[d]] = true;
    for (int i = 0; i < 2000; ++i) reached[space.mutate(d, p, random)] = true;
    CHECK(std::count(reached.begin(), reached.end(), false) == 0);
  }
}

TEST_CASE("repair redraws only options that are out of range") {
  const ToySpace space;
  Random random(3);
  Point p{5, 4, 3, 2};  // inner has two options under outer 5
  repair(space, p, 1, random);
  CHECK(p[0] == 5);
  CHECK(p[1] < 2);
  CHECK(p[2] == 3);
  CHECK(p[3] == 2);
  Point fine{1, 5, 0, 0};
  repair(space, fine, 0, random);
  CHECK(fine == Point{1, 5, 0, 0});
}

TEST_CASE("points with different options have different keys") {
  const ToySpace space;
  SeenKeys seen;
  auto grid = grid_strategy(space);
  for (const Point& p : grid->propose(10000)) REQUIRE(seen.insert(space.key(p)));
  CHECK(seen.size() == ToySpace::ValidPoints);
}
