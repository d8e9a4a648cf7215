// The same properties where extents are run-time sizes, which may be 0.

#include <map>
#include <set>

#include "arith/iter_map.h"
#include "random_expr.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

std::int64_t pick(std::mt19937_64& r, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(r() % static_cast<std::uint64_t>(high - low + 1));
}

/// Calls `f` at every point of the loops for the size that `p` has already.
void for_loops(const std::vector<Domain>& loops, std::size_t i, Point& p, const std::function<void()>& f) {
  if (i == loops.size()) return f();
  const std::int64_t extent = *value_of(loops[i].extent, p);
  for (std::int64_t v = 0; v < extent; ++v) {
    p[loops[i].var.node()] = v;
    for_loops(loops, i + 1, p, f);
  }
}

constexpr std::int64_t kLargest = 9;

void check_expression(std::uint64_t seed) {
  std::mt19937_64 r(seed);
  const Var n("n"), i("i"), o("o"), v("v");
  const std::int64_t factor = pick(r, 1, 4);
  const std::vector<Domain> loops{{i, n}, {o, ceil_div(n, make_index(factor))}, {v, make_index(factor)}};
  RandomExpr random(seed, {{n, 0, 1}, {i, 0, 1}, {o, 0, 1}, {v, 0, 1}});
  auto usual = [&]() -> Expr {
    switch (pick(r, 0, 4)) {
      case 0: return o * make_index(factor) + v;
      case 1: return floordiv(i, n) * n + floormod(i, n);
      case 2: return i * n + o;
      case 3: return ceil_div(n, make_index(factor)) * make_index(factor) - n;
      default: return random.index(1);
    }
  };
  Expr e;
  switch (seed % 4) {
    case 0: e = random.index(3); break;
    case 1: e = usual() < random.index(1); break;
    case 2: e = floordiv(usual() + usual(), random.leaf()) - floormod(usual(), random.leaf()); break;
    default: e = random.condition(2); break;
  }
  const Expr assumed = pick(r, 0, 1) ? o * make_index(factor) + v < n : true_expr();
  Analyzer a;
  a.bind_size(n);
  for (const Domain& d : loops) a.bind_extent(d.var, d.extent);
  auto guard = a.assume(assumed);
  const Expr s = a.simplify(e);
  const ConstBound b = a.bound(e);
  const ModularSet m = a.modular(e);
  INFO("seed " << seed << ", factor " << factor << ": " << to_string(e) << "  ->  " << to_string(s)
               << "   assuming " << to_string(assumed));
  Point p;
  for (std::int64_t size = 0; size <= kLargest; ++size) {
    p[n.node()] = size;
    for_loops(loops, 0, p, [&] {
      if (!*value_of(assumed, p)) return;
      const std::int64_t x = *value_of(e, p), y = *value_of(s, p);
      if (x == y && x >= b.min && x <= b.max &&
          (m.coefficient == 0 ? x == m.base : floor_mod(x - m.base, m.coefficient) == 0)) {
        return;
      }
      INFO("n=" << size << " i=" << p[i.node()] << " o=" << p[o.node()] << " v=" << p[v.node()] << ": " << x
                << " became " << y << ", bound " << b.min << " .. " << b.max);
      REQUIRE(false);
    });
  }
}

/// A random schedule of one axis of run-time extent and one of a constant.
struct Schedule {
  Var n{"n"};
  std::vector<Domain> loops;
  std::vector<Expr> bindings, extents;
  Expr predicate = true_expr();

  explicit Schedule(std::uint64_t seed) {
    std::mt19937_64 r(seed);
    extents = {n, make_index(pick(r, 1, 5))};
    if (pick(r, 0, 1)) std::swap(extents[0], extents[1]);
    for (std::size_t d = 0; d < 2; ++d) {
      loops.push_back({Var("a" + std::to_string(d)), extents[d]});
      bindings.push_back(loops.back().var);
    }
    const std::int64_t steps = pick(r, 0, 3);
    for (std::int64_t s = 0; s < steps; ++s) pick(r, 0, 1) ? split(r) : fuse(r);
  }
  void replace(const Var& old, const Expr& by) {
    for (Expr& b : bindings) b = substitute(b, old, by);
    predicate = substitute(predicate, old, by);
  }
  void split(std::mt19937_64& r) {
    const std::size_t at = r() % loops.size();
    const Domain old = loops[at];
    const Expr factor = make_index(pick(r, 1, 4));
    const Domain outer{Var("o"), ceil_div(old.extent, factor)}, inner{Var("i"), factor};
    const Expr value = outer.var * factor + inner.var;
    replace(old.var, value);
    predicate = conjunction(predicate, value < old.extent);
    loops[at] = outer;
    loops.insert(loops.begin() + pick(r, 0, static_cast<std::int64_t>(loops.size())), inner);
  }
  void fuse(std::mt19937_64& r) {
    if (loops.size() < 2) return;
    const std::size_t at = r() % (loops.size() - 1);
    const Domain outer = loops[at], inner = loops[at + 1];
    const Domain fused{Var("f"), mul(outer.extent, inner.extent)};
    replace(outer.var, floordiv(fused.var, inner.extent));
    replace(inner.var, floormod(fused.var, inner.extent));
    loops[at] = fused;
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
};

void check_map(std::uint64_t seed, int& found, int& all) {
  const Schedule s(seed);
  Analyzer a;
  a.bind_size(s.n);
  const auto map = detect_iter_map(s.bindings, s.extents, s.loops, s.predicate, a);
  ++all;
  if (!map) return;
  found += map->bijective();
  std::string text;
  for (const Expr& b : s.bindings) text += to_string(b) + ", ";
  for (const Domain& l : s.loops) text += l.var.name() + " < " + to_string(l.extent) + ", ";
  INFO("seed " << seed << ": " << text << " where " << to_string(s.predicate));
  std::vector<Expr> values;
  std::vector<Var> vars;
  for (std::size_t d = 0; d < s.extents.size(); ++d) {
    vars.push_back(Var("v" + std::to_string(d)));
    a.bind_extent(vars.back(), s.extents[d]);
    values.push_back(vars.back());
  }
  const auto back = inverse(*map, s.loops, values, a);
  CHECK(back.has_value() == map->injective);
  for (std::int64_t size = 0; size <= 7; ++size) {
    Point p{{s.n.node(), size}};
    std::map<std::vector<std::int64_t>, Point> image;
    bool injective = true, inside = true;
    for_loops(s.loops, 0, p, [&] {
      if (!*value_of(s.predicate, p)) return;
      std::vector<std::int64_t> at;
      for (std::size_t d = 0; d < s.bindings.size(); ++d) {
        at.push_back(*value_of(s.bindings[d], p));
        inside &= at.back() >= 0 && at.back() < *value_of(s.extents[d], p);
      }
      injective &= image.emplace(at, p).second;
    });
    const std::int64_t domain = *value_of(s.extents[0], p) * *value_of(s.extents[1], p);
    INFO("n = " << size << ": " << image.size() << " of " << domain);
    if (map->injective) REQUIRE(injective);
    if (map->surjective) REQUIRE((inside && static_cast<std::int64_t>(image.size()) == domain));
    if (!back || !inside) continue;
    for (const auto& [at, loops] : image) {
      Point q{{s.n.node(), size}};
      for (std::size_t d = 0; d < at.size(); ++d) q[vars[d].node()] = at[d];
      for (const Domain& l : s.loops) REQUIRE(value_of(back->at(l.var.node()), q) == loops.at(l.var.node()));
    }
  }
}

void check_region(std::uint64_t seed) {
  const Schedule s(seed);
  std::mt19937_64 r(seed);
  // Some loops stay outside.
  const std::size_t outside = static_cast<std::size_t>(pick(r, 0, static_cast<std::int64_t>(s.loops.size())));
  const std::vector<Domain> outer(s.loops.begin(), s.loops.begin() + static_cast<std::ptrdiff_t>(outside));
  const std::vector<Domain> inner(s.loops.begin() + static_cast<std::ptrdiff_t>(outside), s.loops.end());
  Analyzer a;
  a.bind_size(s.n);
  for (const Domain& d : outer) a.bind_extent(d.var, d.extent);
  BufferRegion region{Buffer("A", f32, s.extents), {}};
  for (const Expr& b : s.bindings) region.ranges.push_back({b, 1});
  const Region relaxed = relax(region, inner, s.predicate, a);
  std::string text;
  for (const Expr& b : s.bindings) text += to_string(b) + ", ";
  for (const Range& d : relaxed.region.ranges)
    text += "[" + to_string(d.min) + " +" + to_string(d.extent) + "]";
  for (const Domain& l : s.loops) text += ", " + l.var.name() + " < " + to_string(l.extent);
  INFO("seed " << seed << " with " << outside << " loops outside: " << text << " where "
               << to_string(s.predicate) << (relaxed.exact ? " exact" : ""));
  for (std::int64_t size = 0; size <= 7; ++size) {
    Point p{{s.n.node(), size}};
    for_loops(outer, 0, p, [&] {
      std::set<std::pair<std::int64_t, std::int64_t>> touched;
      for_loops(inner, 0, p, [&] {
        if (*value_of(s.predicate, p))
          touched.emplace(*value_of(s.bindings[0], p), *value_of(s.bindings[1], p));
      });
      if (touched.empty()) return;
      std::int64_t low[2], n[2], inside = 1;
      for (int d = 0; d < 2; ++d) {
        low[d] = *value_of(relaxed.region.ranges[d].min, p);
        n[d] = *value_of(relaxed.region.ranges[d].extent, p);
        inside *= n[d];
      }
      INFO("n = " << size << ": " << low[0] << " +" << n[0] << ", " << low[1] << " +" << n[1]);
      for (const auto& [x, y] : touched) {
        REQUIRE((x >= low[0] && x < low[0] + n[0] && y >= low[1] && y < low[1] + n[1]));
      }
      if (relaxed.exact) REQUIRE(static_cast<std::int64_t>(touched.size()) == inside);
    });
  }
}

}  // namespace

TEST_CASE("random expressions over run-time sizes keep values, bounds and congruences") {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) check_expression(seed);
}

TEST_CASE("iterator maps over run-time sizes agree with brute force for every size") {
  int found = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) check_map(seed, found, all);
  INFO(found << " bijections found in " << all << " schedules, which are all bijections");
  CHECK(found * 100 >= all * 60);
}

TEST_CASE("regions over run-time sizes contain what is touched for every size") {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) check_region(seed);
}
