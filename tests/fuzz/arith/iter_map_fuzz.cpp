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

/// A random schedule of two axes: splits (with guards), fuses, reorders. Bindings are the axes in terms of the
/// loops that come out.
struct Schedule {
  std::vector<Axis> loops;
  std::vector<Expr> bindings;
  std::vector<std::int64_t> extents;
  Expr predicate = true_expr();

  explicit Schedule(std::uint64_t seed) {
    std::mt19937_64 r(seed);
    const int rank = static_cast<int>(pick(r, 1, 3));
    for (int d = 0; d < rank; ++d) {
      extents.push_back(pick(r, 1, rank == 3 ? 6 : 12));
      loops.push_back({Var("a" + std::to_string(d)), 0, extents.back()});
      bindings.push_back(loops.back().var);
    }
    const std::int64_t steps = pick(r, 0, 4);
    for (std::int64_t s = 0; s < steps; ++s) pick(r, 0, 1) ? split(r) : fuse(r);
    if (pick(r, 0, 9) == 0) bindings.back() = bindings.back() * 2;  // and some that are no bijection
    if (pick(r, 0, 9) == 0) bindings.front() = bindings.front() + bindings.back();
    if (pick(r, 0, 9) == 0) bindings.front() = make_index(extents[0] - 1) - bindings.front();
    if (pick(r, 0, 9) == 0) predicate = conjunction(predicate, loops.back().var < make_index(2));
  }
  void replace(const Var& old, const Expr& by) {
    for (Expr& b : bindings) b = substitute(b, old, by);
    predicate = substitute(predicate, old, by);
  }
  void split(std::mt19937_64& r) {
    const std::size_t at = r() % loops.size();
    const Axis old = loops[at];
    const std::int64_t factor = pick(r, 1, 5);
    const Axis outer{Var("o"), 0, (old.count + factor - 1) / factor}, inner{Var("i"), 0, factor};
    const Expr value = outer.var * make_index(factor) + inner.var;
    replace(old.var, value);
    if (old.count % factor) predicate = conjunction(predicate, value < make_index(old.count));
    loops[at] = outer;
    loops.insert(
        loops.begin() + static_cast<std::ptrdiff_t>(pick(r, 0, static_cast<std::int64_t>(loops.size()))),
        inner);
  }
  void fuse(std::mt19937_64& r) {
    if (loops.size() < 2) return;
    const std::size_t at = r() % (loops.size() - 1);
    const Axis outer = loops[at], inner = loops[at + 1];
    const Axis fused{Var("f"), 0, outer.count * inner.count};
    replace(outer.var, floordiv(fused.var, make_index(inner.count)));
    replace(inner.var, floormod(fused.var, make_index(inner.count)));
    loops[at] = fused;
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
};

struct Counts {
  int bijective = 0, truly = 0;
};

void check(std::uint64_t seed, Counts& counts) {
  const Schedule s(seed);
  std::int64_t points = 1;
  for (const Axis& l : s.loops) points *= l.count;
  if (points > 4000) return;
  std::vector<Domain> domains;
  std::vector<Expr> extents, values;
  std::vector<Var> value_vars;
  for (const Axis& l : s.loops) domains.push_back({l.var, make_index(l.count)});
  for (std::size_t i = 0; i < s.extents.size(); ++i) {
    extents.push_back(make_index(s.extents[i]));
    value_vars.push_back(Var("v" + std::to_string(i)));
    values.push_back(value_vars.back());
  }
  // The truth.
  std::map<std::vector<std::int64_t>, Point> image;
  bool injective = true, inside = true;
  for_all(s.loops, [&](const Point& p) {
    if (!*value_of(s.predicate, p)) return;
    std::vector<std::int64_t> v;
    for (std::size_t i = 0; i < s.bindings.size(); ++i) {
      v.push_back(*value_of(s.bindings[i], p));
      inside &= v.back() >= 0 && v.back() < s.extents[i];
    }
    injective &= image.emplace(v, p).second;
  });
  std::int64_t domain = 1;
  for (std::int64_t e : s.extents) domain *= e;
  const bool surjective = inside && static_cast<std::int64_t>(image.size()) == domain;

  std::string text;
  for (std::size_t i = 0; i < s.bindings.size(); ++i) {
    text += to_string(s.bindings[i]) + " onto " + std::to_string(s.extents[i]) + ", ";
  }
  for (const Axis& l : s.loops) text += l.var.name() + " < " + std::to_string(l.count) + ", ";
  INFO("seed " << seed << ": " << text << " where " << to_string(s.predicate));
  Analyzer a;
  const auto map = detect_iter_map(s.bindings, extents, domains, s.predicate, a);
  counts.truly += injective && surjective;
  if (!map) return;
  counts.bijective += map->bijective();
  INFO("claims " << (map->injective ? "injective " : "") << (map->surjective ? "surjective" : ""));
  if (map->injective) REQUIRE(injective);
  if (map->surjective) REQUIRE(surjective);
  if (!map->injective) return;
  for (std::size_t i = 0; i < value_vars.size(); ++i) a.bind_extent(value_vars[i], extents[i]);
  const auto back = inverse(*map, domains, values, a);
  REQUIRE(back);
  for (const auto& [v, p] : image) {
    if (!inside) break;
    Point at;
    for (std::size_t i = 0; i < v.size(); ++i) at[value_vars[i].node()] = v[i];
    for (const Axis& l : s.loops) {
      INFO(l.var.name() << " = " << to_string(back->at(l.var.node())));
      REQUIRE(value_of(back->at(l.var.node()), at) == p.at(l.var.node()));
    }
  }
}

}  // namespace

TEST_CASE("iterator maps of random schedules agree with brute force, and their inverses invert") {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) check(seed, counts);
  // What is missed is degenerate: extents that a condition brings down to 1.
  INFO(counts.bijective << " found of " << counts.truly << " bijections");
  CHECK(counts.bijective * 100 >= counts.truly * 95);
}
