// The decision space over schedule traces.
#include "tuner/search/schedule_space.h"

#include "lathe/workload.h"
#include "support/check_schedule.h"
#include "tuner/search/strategy.h"

using namespace lathe;
using namespace lathe::tuner;

namespace {

ScheduleSpaceOptions library_rules() {
  ScheduleSpaceOptions options;
  options.rules.push_back(
      [](Schedule& s) { apply_rules(s, test::avx2(), {.choices = Choices::Open, .parallel = false}); });
  return options;
}

ScheduleSpace space_of(const std::string& spec, ScheduleSpaceOptions options = library_rules()) {
  return ScheduleSpace(Workload::parse(spec).program, test::avx2(), std::move(options));
}

/// Splits the two loops of a matmul by factors that must multiply to at most 24.
void constrained(Schedule& s) {
  auto [i, j, k] = s.loops<3>(s.block("C"));
  const Factor a = s.sample_choice({1, 2, 4, 8}), b = s.sample_choice({1, 2, 3, 4, 6});
  s.require(a * b <= 24);
  auto [io, ii] = s.split(i, {_, a});
  auto [jo, ji] = s.split(j, {_, b});
  s.reorder({io, jo, k, ii, ji});
}

void perfect_tiles(Schedule& s) {
  auto [i, j, k] = s.loops<3>(s.block("C"));
  const std::vector<Factor> f = s.sample_perfect_tile(i, 3);
  const std::vector<LoopRef> l = s.split(i, std::vector<SplitFactor>{f[0], f[1], f[2]});
  const std::vector<Factor> g = s.sample_perfect_tile(l[1], 2);  // depends on the first
  s.split(l[1], std::vector<SplitFactor>{g[0], g[1]});
}

ScheduleSpaceOptions only(Rule rule) {
  ScheduleSpaceOptions options;
  options.rules.push_back(std::move(rule));
  return options;
}

}  // namespace

TEST_CASE("a point's trace is that of the point, also through JSON") {
  for (const char* spec :
       {"matmul(m=32,n=48,k=20)", "conv2d_bias_relu(h=6,w=6,ci=4,co=16)", "softmax(m=8,n=64)"}) {
    const ScheduleSpace space = space_of(spec);
    Random random(5);
    for (const Point& p : random_strategy(space, 5)->propose(12)) {
      INFO(spec << ": " << space.describe(p));
      CHECK(space.point_of(Trace::from_json(space.trace(p).to_json(true)), false) == p);
      CHECK(structural_hash(space.schedule(p).program()) == space.scheduled_hash(p));
    }
  }
}

TEST_CASE("the points of a space compute what the program says") {
  for (const char* spec :
       {"matmul(m=7,n=19,k=5)", "matmul(m=13,n=9,k=5,cb=1)", "conv2d(h=5,w=5,ci=3,co=9)"}) {
    const ScheduleSpace space = space_of(spec);
    for (const Point& p : random_strategy(space, 3)->propose(6)) {
      INFO(spec << ": " << space.describe(p));
      CHECK(test::disagreement(space.schedule(p), {}, 0) == "");
    }
  }
}

TEST_CASE("a choice with a name is called by it, one without after the loop that it makes") {
  const ScheduleSpace space = space_of("matmul(m=16,n=16,k=16)", only([](Schedule& s) {
                                         auto [i, j, k] = s.loops<3>(s.blocks()[0]);
                                         const Factor width = s.sample_choice({2, 4}, "C.width");
                                         s.split(i, {_, width});
                                         s.split(j, {_, s.sample_choice({2, 4})});
                                       }));
  std::vector<std::string> names;
  for (const Decision& d : space.decisions()) names.push_back(d.name);
  CHECK(std::ranges::count(names, "C.width") == 1);
  CHECK(std::ranges::count(names, "C.vj_1") + std::ranges::count(names, "C.j_1") == 1);
}

TEST_CASE("the first point is the rules' default") {
  const Workload w = Workload::parse("matmul(m=64,n=64,k=64)");
  const ScheduleSpace space(w.program, test::avx2(), library_rules());
  Schedule expected(w.program);
  apply_rules(expected, test::avx2(), {.choices = Choices::Open, .parallel = false});
  CHECK(space.scheduled_hash(space.first_point()) == structural_hash(expected.program()));
}

TEST_CASE("requirements are filtered without a replay") {
  const ScheduleSpace space = space_of("matmul(m=16,n=16,k=16)", only(constrained));
  REQUIRE(space.decisions().size() == 3);
  std::size_t kept = 0, refused = 0;
  for (std::int32_t a = 0; a < space.options(1, Point{0, 0, 0}); ++a) {
    for (std::int32_t b = 0; b < space.options(2, Point{0, a, 0}); ++b) {
      const Point p{0, a, b};
      const bool fits = (1 << a) * std::array{1, 2, 3, 4, 6}[static_cast<std::size_t>(b)] <= 24;
      CHECK(space.plausible(p) == fits);
      ++(fits ? kept : refused);
    }
  }
  CHECK(kept == 18);
  CHECK(refused == 2);
  CHECK(space.counts().require == 2);
  CHECK(grid_strategy(space)->propose(100).size() == 18);
}

TEST_CASE("the options of a decision follow the earlier ones") {
  const ScheduleSpace space = space_of("matmul(m=24,n=4,k=4)", only(perfect_tiles));
  const std::vector<Point> all = grid_strategy(space)->propose(10000);
  // 24 = a*b*c in order, then b = d*e: as many as 24 = a*d*e*c.
  std::size_t expected = 0;
  for (int a = 1; a <= 24; ++a)
    for (int d = 1; d <= 24; ++d)
      for (int e = 1; e <= 24; ++e)
        if (24 % (a * d * e) == 0) ++expected;
  CHECK(all.size() == expected);
  for (const Point& p : all) REQUIRE_NOTHROW(space.schedule(p));
}

TEST_CASE("a body with more accumulators than registers is refused by its decisions alone") {
  const ScheduleSpace space = space_of("matmul(m=64,n=64,k=64)");
  Random random(1);
  std::size_t refused = 0;
  for (int i = 0; i < 200; ++i) {
    const Point p = space.sample(random);
    if (space.plausible(p)) continue;
    ++refused;
    // The replay agrees.
    PointSet one(p.size());
    one.add(p);
    CHECK_FALSE(space.scheduled_hash(p).has_value());
  }
  CHECK(refused > 20);
  CHECK(space.counts().registers > 20);
}

TEST_CASE("a pinned decision has one option, an unknown one is an error that lists what there is") {
  ScheduleSpaceOptions options = only(constrained);
  options.pinned["C.i_1"] = {4};
  const ScheduleSpace space = space_of("matmul(m=16,n=16,k=16)", options);
  for (const Point& p : grid_strategy(space)->propose(100)) {
    CHECK(space.describe(p).substr(0, 9) == "C.i_1 = 4");
  }
  options.pinned = {{"C.x_1", {4}}};
  CHECK_THROWS_WITH(space_of("matmul(m=16,n=16,k=16)", options),
                    "no decision is called \"C.x_1\"; there are C.i_1, C.j_1  [LTH-U022]");
  options.pinned = {{"C.i_1", {3}}};
  CHECK_THROWS_WITH(space_of("matmul(m=16,n=16,k=16)", options),
                    "the decision \"C.i_1\" cannot be pinned to 3; its options are 1, 2, 4, 8  [LTH-U022]");
}

TEST_CASE("a space without a rule that applies is an error") {
  CHECK_THROWS_WITH(
      space_of("matmul(m=4,n=4,k=4)", only([](Schedule& s) { s.block("nothing"); })),
      Catch::Contains("no rule schedules the program \"matmul\"; the first refusal was\nblock") &&
          Catch::Contains("[LTH-S006]"));
}

TEST_CASE("a rule with more answers than runs leaves the next rule its share") {
  ScheduleSpaceOptions options;
  options.discovery_runs = 20;
  options.rules.push_back([](Schedule& s) {
    for (LoopRef l : s.loops<3>(s.block("C"))) {
      const Factor f = s.sample_choice({1, 2, 3, 4, 5, 6, 7, 8});
      auto [outer, inner] = s.split(l, {_, f});
      if (s.value(f) % 2 == 0) s.unroll(inner);
    }
  });
  options.rules.push_back([](Schedule& s) { s.vectorize(s.loops<3>(s.block("C"))[1]); });
  const ScheduleSpace space = space_of("matmul(m=16,n=16,k=16)", options);
  bool found = false;
  for (const Point& p : grid_strategy(space)->propose(2000))
    found |= to_string(space.schedule(p).program()).find("vectorized") != std::string::npos;
  CHECK(found);
}

TEST_CASE("records of another size become the nearest point") {
  const ScheduleSpace small = space_of("matmul(m=32,n=32,k=32)"), large = space_of("matmul(m=96,n=96,k=96)");
  std::size_t carried = 0;
  for (const Point& p : random_strategy(small, 2)->propose(10)) {
    if (const auto q = large.point_of(small.trace(p), true)) {
      ++carried;
      CHECK(large.describe(*q) == small.describe(p));
    }
  }
  CHECK(carried > 0);
}

TEST_CASE("mutations and repairs stay in the space") {
  const ScheduleSpace space = space_of("conv2d_bias_relu(h=14,w=14,ci=16,co=32)");
  Random random(9);
  Point p = space.first_point();
  for (int i = 0; i < 300; ++i) {
    const std::size_t d = random.below(p.size());
    p[d] = space.mutate(d, p, random);
    repair(space, p, d + 1, random);
    for (std::size_t c = 0; c < p.size(); ++c) {
      REQUIRE(p[c] >= 0);
      REQUIRE(p[c] < space.options(c, p));
    }
  }
  CHECK(space.embedding_width() >= space.decisions().size() - 1);
}
