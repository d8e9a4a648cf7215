#include <algorithm>
#include <set>

#include "arith/regions.h"
#include "random_expr.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

std::int64_t pick(std::mt19937_64& r, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(r() % static_cast<std::uint64_t>(high - low + 1));
}

struct Counts {
  int exact = 0, all = 0;
};

/// Relaxes random subscripts over two loops beside an outer variable, and compares with the elements touched.
void check(std::uint64_t seed, bool scheduled, Counts& counts) {
  std::mt19937_64 r(seed);
  const std::vector<Axis> outer{{Var("o"), 0, pick(r, 1, 4)}};
  const std::vector<Axis> inner{{Var("i"), 0, pick(r, 1, 5)}, {Var("j"), 0, pick(r, 1, 8)}};
  std::vector<Axis> axes = outer;
  axes.insert(axes.end(), inner.begin(), inner.end());
  RandomExpr random(seed, axes);
  auto subscript = [&](int depth) { return scheduled ? random.binding(depth) : random.index(depth); };
  const int rank = static_cast<int>(pick(r, 1, 2));
  std::vector<Expr> shape;
  BufferRegion region;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(make_index(pick(r, 1, 24)));
    region.ranges.push_back(
        {subscript(static_cast<int>(pick(r, 0, 3))), make_index(pick(r, 0, 3) ? 1 : pick(r, 1, 3))});
  }
  region.buffer = Buffer("A", f32, shape);
  Expr predicate = true_expr();
  if (pick(r, 0, 2) == 0) predicate = random.condition(1);
  if (pick(r, 0, 2) == 0)
    predicate = conjunction(predicate, region.ranges[0].min < make_index(pick(r, 0, 12)));
  if (pick(r, 0, 2) == 0)
    predicate = conjunction(predicate, region.ranges[0].min >= make_index(pick(r, -3, 4)));

  Analyzer a;
  bind_axes(a, outer);
  std::vector<Domain> over;
  for (const Axis& x : inner) over.push_back({x.var, make_index(x.count)});
  const Region relaxed = relax(region, over, predicate, a);
  ++counts.all;
  counts.exact += relaxed.exact;
  std::string text;
  for (int d = 0; d < rank; ++d) {
    text += "[" + to_string(region.ranges[d].min) + " +" + to_string(region.ranges[d].extent) + "]";
  }
  text += "  ->  ";
  for (const Range& x : relaxed.region.ranges)
    text += "[" + to_string(x.min) + " +" + to_string(x.extent) + "]";
  INFO("seed " << seed << ": " << text << (relaxed.exact ? " exact" : "") << "   shape "
               << to_string(shape[0]) << " where " << to_string(predicate) << ", i < " << inner[0].count
               << ", j < " << inner[1].count << ", o < " << outer[0].count);
  for_all(outer, [&](const Point& at) {
    std::set<std::vector<std::int64_t>> touched, boxed;
    for_all(inner, [&](const Point& in) {
      Point p = in;
      p.insert(at.begin(), at.end());
      if (!*value_of(predicate, p)) return;
      auto add_box = [&](auto&& self, std::vector<std::int64_t> index, std::size_t d) -> void {
        if (d == region.ranges.size()) {
          touched.insert(index);
          return;
        }
        const std::int64_t low = *value_of(region.ranges[d].min, p),
                           n = *value_of(region.ranges[d].extent, p);
        for (std::int64_t k = 0; k < n; ++k) {
          if (low + k < 0 || low + k >= *as_int(shape[d])) continue;
          auto next = index;
          next.push_back(low + k);
          self(self, next, d + 1);
        }
      };
      add_box(add_box, {}, 0);
    });
    auto fill = [&](auto&& self, std::vector<std::int64_t> index, std::size_t d) -> void {
      if (d == relaxed.region.ranges.size()) {
        boxed.insert(index);
        return;
      }
      const Range& range = relaxed.region.ranges[d];
      const std::int64_t low = *value_of(range.min, at), n = *value_of(range.extent, at);
      for (std::int64_t k = 0; k < n; ++k) {
        if (low + k < 0 || low + k >= *as_int(shape[d])) continue;
        auto next = index;
        next.push_back(low + k);
        self(self, next, d + 1);
      }
    };
    fill(fill, {}, 0);
    INFO("o = " << at.at(outer[0].var.node()) << ": touched " << touched.size() << ", boxed "
                << boxed.size());
    REQUIRE(std::includes(boxed.begin(), boxed.end(), touched.begin(), touched.end()));
    if (relaxed.exact && !touched.empty()) REQUIRE(touched == boxed);
  });
}

}  // namespace

TEST_CASE("relaxed regions contain what is touched, and are it where they say exact") {
  Counts scheduled, wild;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) check(seed, true, scheduled);
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) check(seed, false, wild);
  // Not everything may be called inexact.
  CHECK(scheduled.exact * 3 >= scheduled.all * 2);
  CHECK(wild.exact * 3 >= wild.all * 2);
}
