#include <functional>
#include <set>

#include "toy_space.h"
#include "tuner/search/model_guided_strategy.h"

using namespace lathe::tuner;

namespace {

// The toy space with all its points listed.
class ListedToySpace final : public DecisionSpace {
 public:
  ListedToySpace() : points_(4) {
    for (const Point& p : grid_strategy(toy_)->propose(100000)) points_.add(p);
  }
  const std::vector<Decision>& decisions() const override { return toy_.decisions(); }
  std::int32_t options(std::size_t d, PointView p) const override { return toy_.options(d, p); }
  void filter(const PointSet& points, std::span<std::uint8_t> keep) const override {
    toy_.filter(points, keep);
  }
  std::size_t feature_width() const override { return toy_.feature_width(); }
  void features(const PointSet& points, FeatureTable& table) const override { toy_.features(points, table); }
  const PointSet* listed() const override { return &points_; }

 private:
  ToySpace toy_;
  PointSet points_;
};

// Times of all trials in order; checks that every proposal is valid and new.
std::vector<double> play(Strategy& strategy, std::size_t trials, std::size_t round) {
  std::set<Point> seen;
  std::vector<double> times;
  while (times.size() < trials) {
    const std::vector<Point> batch = strategy.propose(std::min(round, trials - times.size()));
    REQUIRE(batch.size() <= round);
    if (batch.empty()) break;
    for (const Point& p : batch) {
      REQUIRE(ToySpace::valid(p));
      REQUIRE(seen.insert(p).second);
      times.push_back(ToySpace::seconds(p));
    }
    strategy.observe(measure(batch));
  }
  return times;
}

ModelGuidedOptions seeded(std::uint64_t seed) {
  ModelGuidedOptions options;
  options.seed = seed;
  options.evolution.population = 128;
  return options;
}

}  // namespace

TEST_CASE("the model-guided search finds the optimum, listed or evolved, where random does not") {
  const ToySpace evolved;
  const ListedToySpace listed;
  const double optimum = ToySpace::seconds(Point{3, 2, 2, 1});
  int random_hits = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const DecisionSpace* space :
         {static_cast<const DecisionSpace*>(&evolved), static_cast<const DecisionSpace*>(&listed)}) {
      auto search = model_guided_strategy(*space, seeded(seed));
      const std::vector<double> times = play(*search, 64, 8);
      CHECK(*std::min_element(times.begin(), times.end()) == optimum);
    }
    auto random = random_strategy(evolved, seed);
    const std::vector<double> times = play(*random, 64, 8);
    random_hits += *std::min_element(times.begin(), times.end()) == optimum;
  }
  CHECK(random_hits < 5);
}

TEST_CASE("the same seed and the same times give the same proposals") {
  const ToySpace space;
  auto run = [&](std::uint64_t seed) {
    auto search = model_guided_strategy(space, seeded(seed));
    return play(*search, 60, 10);
  };
  CHECK(run(3) == run(3));
  CHECK(run(3) != run(4));
}

TEST_CASE("the model-guided search exhausts a space without repetition") {
  const ListedToySpace listed;
  auto search = model_guided_strategy(listed, seeded(1));
  CHECK(play(*search, 10000, 64).size() == ToySpace::ValidPoints);
  const ToySpace evolved;
  auto other = model_guided_strategy(evolved, seeded(1));
  CHECK(play(*other, 10000, 64).size() >= ToySpace::ValidPoints * 99 / 100);
}

TEST_CASE("seeds come first, those that are invalid or known left out") {
  const ToySpace space;
  ModelGuidedOptions options = seeded(1);
  const Point a{1, 1, 1, 1}, b{2, 2, 2, 2}, refused{3, 0, 3, 1}, known{0, 0, 0, 0};
  options.seeds = {refused, a, known, b};
  auto search = model_guided_strategy(space, options);
  search->observe(measure({known}));
  const std::vector<Point> batch = search->propose(8);
  REQUIRE(batch.size() == 8);
  CHECK(batch[0] == a);
  CHECK(batch[1] == b);
  CHECK(std::count(batch.begin(), batch.end(), known) == 0);
}

TEST_CASE("records observed before the first proposal save the blind batch") {
  const ToySpace space;
  std::vector<Point> records;
  for (Point& p : random_strategy(space, 9)->propose(40)) records.push_back(p);
  auto search = model_guided_strategy(space, seeded(1));
  search->observe(measure(records));
  const std::vector<Point> first = search->propose(8);
  double best = 1;
  for (const Point& p : first) best = std::min(best, ToySpace::seconds(p));
  CHECK(best <= 1.15e-3);
}

TEST_CASE("a search survives failures, even of every candidate") {
  const ToySpace space;
  auto search = model_guided_strategy(space, seeded(1));
  std::size_t proposed = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<Observation> failures;
    for (const Point& p : search->propose(10)) failures.push_back({p, std::nullopt});
    proposed += failures.size();
    search->observe(failures);
  }
  CHECK(proposed == 60);
}

TEST_CASE("a search learns which candidates fail and avoids them") {
  // Everything with outer >= 4 fails; the best of the rest is found all the same.
  const ToySpace space;
  auto search = model_guided_strategy(space, seeded(2));
  int late_failures = 0;
  double best = 1;
  for (int round = 0; round < 8; ++round) {
    std::vector<Observation> results;
    for (const Point& p : search->propose(8)) {
      const bool fails = p[0] >= 4;
      late_failures += fails && round >= 4;
      if (!fails) best = std::min(best, ToySpace::seconds(p));
      results.push_back({p, fails ? std::nullopt : std::optional(ToySpace::seconds(p))});
    }
    search->observe(results);
  }
  CHECK(late_failures <= 10);
  CHECK(best == ToySpace::seconds(Point{3, 2, 2, 1}));
}

TEST_CASE("a prior decides the first batch") {
  const ToySpace space;
  ModelGuidedOptions options = seeded(1);
  // Likes unroll 2 and order b, says nothing of the tiles.
  options.prior = [](const FeatureTable& features) {
    std::vector<float> y;
    for (std::size_t p = 0; p < features.programs(); ++p) {
      const auto row = features.row(features.first_row(p));
      y.push_back(row[2] == 2 && row[4] == 1 ? 0.9f : 0.1f);
    }
    return y;
  };
  for (const Point& p : model_guided_strategy(space, options)->propose(8)) {
    CHECK(p[2] == 2);
    CHECK(p[3] == 1);
  }
}

TEST_CASE("evolution returns valid, new points, the best first") {
  const ToySpace space;
  SeenKeys measured;
  const std::vector<Point> parents{{3, 3, 2, 1}, {2, 2, 1, 0}};
  for (const Point& p : parents) measured.insert(space.key(p));
  const Scorer score = [](const PointSet& points) {
    std::vector<float> s;
    for (std::size_t i = 0; i < points.size(); ++i)
      s.push_back(static_cast<float>(-ToySpace::seconds(points[i])));
    return s;
  };
  Random random(1);
  EvolutionOptions options;
  options.population = 64;
  EvolutionCounts counts;
  const PointSet found = evolve(space, parents, measured, score, 50, options, random, &counts);
  REQUIRE(found.size() == 50);
  std::set<Point> seen;
  const std::vector<float> scores = score(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Point p(found[i].begin(), found[i].end());
    REQUIRE(ToySpace::valid(p));
    REQUIRE_FALSE(measured.contains(space.key(p)));
    REQUIRE(seen.insert(p).second);
    if (i > 0) REQUIRE(scores[i] <= scores[i - 1]);
  }
  CHECK(Point(found[0].begin(), found[0].end()) == Point{3, 2, 2, 1});
  CHECK(counts.made > counts.refused + counts.repeated);
  CHECK(counts.refused > 0);
}

TEST_CASE("evolution copes with a space that has nothing left, and with one that is all refused") {
  const ToySpace space;
  SeenKeys all;
  for (const Point& p : grid_strategy(space)->propose(100000)) all.insert(space.key(p));
  const Scorer score = [](const PointSet& points) { return std::vector<float>(points.size(), 1); };
  Random random(1);
  CHECK(evolve(space, {}, all, score, 10, {}, random).size() == 0);
}

namespace {

// A switch and a grid of two sizes, whose times the test gives.
class GridSpace : public DecisionSpace {
 public:
  const std::vector<Decision>& decisions() const override { return decisions_; }
  std::int32_t options(std::size_t d, PointView) const override { return decisions_[d].max_options; }
  void filter(const PointSet& points, std::span<std::uint8_t> keep) const override {
    for (std::size_t i = 0; i < points.size(); ++i) keep[i] = 1;
  }
  std::size_t feature_width() const override { return 3; }
  void features(const PointSet& points, FeatureTable& table) const override {
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::span<float> row = table.add_row();
      for (std::size_t d = 0; d < 3; ++d) row[d] = static_cast<float>(points[i][d]);
      table.end_program();
    }
  }

 private:
  std::vector<Decision> decisions_ = {{"switch", Decision::Kind::Categorical, 2, 0},
                                      {"x", Decision::Kind::Ordinal, 16, 1},
                                      {"y", Decision::Kind::Ordinal, 16, 2}};
};

// With the switch off every point is slower than every point with it on.
double switched(PointView p) {
  return p[0] == 1 ? 1 + 0.01 * std::pow(p[1] - 2, 2) + 0.01 * std::pow(p[2] - 11, 2)
                   : 6 + 0.02 * std::pow(p[1] - 12, 2) + 0.02 * std::pow(p[2] - 3, 2);
}

// A quarter of the points lie within a percent; of the others, all slower, nobody can say how slow they are.
double plateau(PointView p) {
  if (p[1] < 8 && p[2] < 8) return 1 - 0.0005 * (p[1] + p[2]);
  const std::uint64_t hash = mix64(mix64(mix64(p[0]), p[1]), p[2]);
  return 1.1 + 2 * static_cast<double>(hash >> 11) * 0x1.0p-53;
}

// How many of the trials 17 to 48, which the model picks, are `counted`.
int picks(ModelGuidedOptions options, double (*seconds)(PointView),
          const std::function<bool(PointView)>& counted) {
  const GridSpace space;
  options.random_share = 0;
  auto search = model_guided_strategy(space, options);
  int count = 0;
  for (int trials = 0; trials < 48; trials += 8) {
    std::vector<Observation> observations;
    for (const Point& p : search->propose(8)) {
      count += trials >= 16 && counted(p);
      observations.push_back({p, seconds(p)});
    }
    search->observe(observations);
  }
  return count;
}

}  // namespace

TEST_CASE("a share of the picks goes to options that look bad beside the leader's") {
  int with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    ModelGuidedOptions options = seeded(seed);
    options.bold_share = 0;
    const auto off = [](PointView p) { return p[0] == 0; };
    options.niche_share = 0.5;
    with += picks(options, switched, off);
    options.niche_share = 0;
    without += picks(options, switched, off);
  }
  CHECK(with >= 25);  // of 80 picks from niches
  CHECK(with > 2 * without);
}

TEST_CASE("bold picks leave a plateau, on which every candidate promises a little") {
  int bold = 0, plain = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    ModelGuidedOptions options = seeded(seed);
    options.niche_share = 0;
    const auto on_plateau = [](PointView p) { return plateau(p) <= 1; };
    options.bold_share = 1;
    bold += picks(options, plateau, on_plateau);
    options.bold_share = 0;
    plain += picks(options, plateau, on_plateau);
  }
  CHECK(plain > 120);  // of 160
  CHECK(bold < plain - 8);
}
