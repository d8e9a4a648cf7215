// Random schedules with a block made of a nest: outside and inside are scheduled on, and nothing changes.
#include <algorithm>
#include <random>

#include "behaviour/schedule/programs.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

class RandomNest {
 public:
  RandomNest(const Program& program, unsigned seed) : s(program), random_(seed) {}

  /// Splits every loop of the block, puts the outer parts outermost in random order, and blockizes the inner ones.
  void blockize(BlockRef block) {
    std::vector<LoopRef> outside, inside;
    for (LoopRef l : s.loops(block)) {
      const std::int64_t extent = s.extent(l).value();
      std::vector<std::int64_t> divisors;
      for (std::int64_t d = 1; d <= extent; ++d) {
        if (extent % d == 0) divisors.push_back(d);
      }
      const std::vector<LoopRef> parts = s.split(l, std::vector<SplitFactor>{_, pick(divisors)});
      outside.push_back(parts[0]);
      inside.push_back(parts[1]);
    }
    std::shuffle(outside.begin(), outside.end(), random_);
    std::shuffle(inside.begin(), inside.end(), random_);
    std::vector<LoopRef> order = outside;
    order.insert(order.end(), inside.begin(), inside.end());
    s.reorder(order);
    outer_ = s.blockize(inside[0]);
    inner_ = block;
  }

  /// Some steps, each where it is allowed.
  void go_on() {
    for (int i = 0; i < 6; ++i) {
      const BlockRef block = below(2) == 0 ? outer_ : inner_;
      const std::vector<LoopRef> loops = s.loops(block);
      if (loops.empty()) continue;
      const LoopRef loop = pick(loops), other = pick(loops);
      const int step = below(9);
      attempt([&](Schedule& t) {
        if (step == 0) t.vectorize(loop);
        if (step == 1) t.parallel(loop);
        if (step == 2) t.unroll(loop);
        if (step == 3) t.split(loop, {_, 1 + below(4)});
        if (step == 4 && loop != other) t.reorder({loop, other});
        if (step == 5 && loops.size() > 1) t.fuse(loops[0], loops[1]);
        if (step == 6) t.decompose_reduction(block, loop);
        if (step == 7) t.prefetch(block, 0, loop, 1 + below(3));
        if (step == 8) t.reverse_compute_at(t.cache_write(block, Scope::Local), loop);
      });
    }
  }

  Schedule s;
  int applied = 0;

 private:
  template <class F>
  void attempt(F&& step) {
    Schedule trial = s.fork();
    try {
      step(trial);
    } catch (const ScheduleError&) {
      return;
    }
    s = std::move(trial);
    ++applied;
  }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  std::mt19937 random_;
  BlockRef outer_, inner_;
};

}  // namespace

TEST_CASE("a product with an inner block keeps its result through random steps") {
  int applied = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    test::MatMul t = test::matmul(6, 8, 4);
    RandomNest nest(t.program, seed);
    nest.blockize(nest.s.block(t.c));
    nest.go_on();
    CHECK(disagreement(nest.s) == "");
    applied += nest.applied;
  }
  CHECK(applied > 120);
}

TEST_CASE("a convolution with an inner block keeps its result through random steps") {
  for (unsigned seed = 100; seed < 125; ++seed) {
    INFO("seed " << seed);
    test::Conv t = test::conv(4, 6, 2, 4);
    RandomNest nest(t.program, seed);
    nest.blockize(nest.s.block(t.conv));
    nest.go_on();
    CHECK(disagreement(nest.s) == "");
  }
}
