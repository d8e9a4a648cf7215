#include "arith/sum.h"
#include "random_expr.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

std::vector<Axis> random_axes(std::uint64_t seed) {
  std::mt19937_64 r(seed);
  auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(r() % static_cast<std::uint64_t>(high - low + 1));
  };
  std::vector<Axis> axes{
      {Var("x"), 0, between(1, 9)}, {Var("y"), between(-5, 3), between(1, 7)}, {Var("z"), 0, 4}};
  if (between(0, 1)) axes[0].low = between(-9, 9);
  return axes;
}

/// Everything the analyzer says of `e` holds at every point where `assumed` does.
void check(const Expr& e, const std::vector<Axis>& axes, const Expr& assumed, std::uint64_t seed) {
  Analyzer a;
  bind_axes(a, axes);
  auto guard = a.assume(assumed);
  const Expr s = a.simplify(e);
  const ConstBound b = a.bound(e);
  const ModularSet m = a.modular(e);
  const bool proved = e.dtype().is_bool() && a.can_prove(e);
  INFO("seed " << seed << ": " << to_string(e) << "   assuming " << to_string(assumed) << "\n  -> "
               << to_string(s));
  std::string ranges;
  for (const Axis& x : axes) {
    ranges += x.var.name() + " in " + std::to_string(x.low) + " .. " + std::to_string(x.low + x.count) + "  ";
  }
  INFO(ranges);
  const Expr again = a.simplify(s);
  INFO("again: " << to_string(again));
  CHECK(same(again, s));
  for_all(axes, [&](const Point& p) {
    if (*value_of(assumed, p) == 0) return;
    const std::int64_t v = *value_of(e, p), w = *value_of(s, p);
    if (v == w && v >= b.min && v <= b.max && (!proved || v == 1) &&
        (m.coefficient == 0 ? v == m.base : floor_mod(v - m.base, m.coefficient) == 0)) {
      return;
    }
    std::string point;
    for (const Axis& x : axes) point += x.var.name() + "=" + std::to_string(p.at(x.var.node())) + " ";
    INFO("at " << point << ": value " << v << ", simplified " << w << ", bound " << b.min << " .. " << b.max
               << ", " << m.coefficient << "k+" << m.base);
    REQUIRE(false);
  });
}

}  // namespace

TEST_CASE("random index expressions keep their values, bounds and congruences") {
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const auto axes = random_axes(seed);
    RandomExpr random(seed, axes);
    check(random.index(1 + seed % 4), axes, true_expr(), seed);
  }
}

TEST_CASE("random bindings keep their values, bounds and congruences") {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    auto axes = random_axes(seed);
    RandomExpr random(seed, axes);
    check(random.binding(1 + seed % 5), axes, true_expr(), seed);
  }
}

TEST_CASE("random conditions are decided only when they hold everywhere") {
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const auto axes = random_axes(seed);
    RandomExpr random(seed, axes);
    check(random.condition(1 + seed % 4), axes, true_expr(), seed);
  }
}

TEST_CASE("random expressions under random assumptions") {
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const auto axes = random_axes(seed);
    RandomExpr random(seed, axes);
    const Expr assumed = random.condition(static_cast<int>(seed % 3));
    check(seed % 2 ? random.index(3) : random.condition(2), axes, assumed, seed);
  }
}
