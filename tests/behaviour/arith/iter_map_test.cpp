#include "arith/iter_map.h"

#include "brute.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

struct Case {
  Analyzer a;
  std::vector<Domain> loops;
  std::optional<IterMap> detect(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                const Expr& predicate = true_expr()) {
    return detect_iter_map(bindings, extents, loops, predicate, a);
  }
};

}  // namespace

TEST_CASE("splits, fuses and reorders are bijections") {
  Var i("i"), j("j"), f("f"), o("o");
  Case c;
  c.loops = {{o, 4}, {i, 8}};
  CHECK(c.detect({o * 8 + i}, {32})->bijective());
  CHECK(c.detect({i, o}, {8, 4})->bijective());
  CHECK_FALSE(c.detect({o * 8 + i}, {33})->surjective);
  CHECK(c.detect({o * 8 + i}, {33})->injective);
  c.loops = {{f, 240}};
  CHECK(c.detect({f / 30, f % 30}, {8, 30})->bijective());
  CHECK(c.detect({f / 30 % 4, f % 30, f / 120}, {4, 30, 2})->bijective());
  CHECK_FALSE(c.detect({f / 30, f % 15}, {8, 15})->injective);
  CHECK_FALSE(c.detect({f / 30, f % 60}, {8, 60})->surjective);
}

TEST_CASE("fused, then split by what does not divide") {
  Var o("o"), i("i");
  Case c;
  c.loops = {{o, 15}, {i, 16}};
  const Expr f = o * 16 + i;
  CHECK(c.detect({f / 30, f % 30}, {8, 30})->bijective());
  c.loops = {{o, 8}, {i, 32}};
  const Expr g = o * 32 + i;
  CHECK(c.detect({g / 30, g % 30}, {8, 30}, g < 240)->bijective());
  CHECK_FALSE(c.detect({g / 30, g % 30}, {8, 30})->surjective);
}

TEST_CASE("guards of non-dividing splits, nested ones too") {
  Var o("o"), p("p"), i("i");
  Case c;
  c.loops = {{o, 4}, {i, 8}};
  CHECK(c.detect({o * 8 + i}, {30}, o * 8 + i < 30)->bijective());
  CHECK_FALSE(c.detect({o * 8 + i}, {30}, o * 8 + i < 29)->surjective);
  CHECK_FALSE(c.detect({o * 8 + i}, {30}, o * 8 + i < 30 && i < 7)->surjective);
  c.loops = {{o, 2}, {p, 3}, {i, 2}};
  CHECK(c.detect({o * 5 + (p * 2 + i)}, {7}, o * 5 + (p * 2 + i) < 7 && p * 2 + i < 5)->bijective());
  CHECK_FALSE(c.detect({o * 5 + (p * 2 + i)}, {7}, o * 5 + (p * 2 + i) < 7)->injective);
}

TEST_CASE("run-time extents") {
  Var n("n"), o("o"), i("i"), m("m"), f("f");
  Case c;
  c.a.bind_size(n);
  c.a.bind_size(m);
  c.loops = {{o, ceil_div(n, 32)}, {i, 32}};
  CHECK(c.detect({o * 32 + i}, {n}, o * 32 + i < n)->bijective());
  CHECK_FALSE(c.detect({o * 32 + i}, {n})->surjective);
  c.loops = {{o, n}, {i, m}};
  CHECK(c.detect({o, i}, {n, m})->bijective());
  CHECK(c.detect({o * m + i}, {n * m})->bijective());
  c.loops = {{f, n * 8}};
  CHECK(c.detect({f / 8, f % 8}, {n, 8})->bijective());
}

TEST_CASE("what is not quasi-affine, not one to one, or out of order") {
  Var i("i"), j("j");
  const Buffer b("b", i32, {8});
  Case c;
  c.loops = {{i, 4}, {j, 4}};
  CHECK_FALSE(c.detect({i * j}, {10}));
  CHECK_FALSE(c.detect({cast(index_type, load(b, {i}))}, {10}));
  CHECK_FALSE(c.detect({i + j}, {7})->injective);
  CHECK_FALSE(c.detect({i, i}, {4, 4})->surjective);
  CHECK_FALSE(c.detect({i}, {4})->injective);
  CHECK(c.detect({i}, {4})->surjective);
  CHECK(c.detect({3 - i, j}, {4, 4})->bijective());
  CHECK_FALSE(c.detect({i - 3, j}, {4, 4})->surjective);
  CHECK_FALSE(c.detect({i * 4 + j * 2}, {16})->surjective);
}

TEST_CASE("an inverse gives the loops back") {
  Var o("o"), i("i"), x("x"), y("y");
  Case c;
  c.loops = {{o, 15}, {i, 16}};
  const Expr f = o * 16 + i;
  auto map = c.detect({f / 30, f % 30}, {8, 30});
  c.a.bind_extent(x, 8);
  c.a.bind_extent(y, 30);
  auto back = inverse(*map, c.loops, {x, y}, c.a);
  REQUIRE(back);
  CHECK(to_string(back->at(o.node())) == "(x*30 + y)/16");
  CHECK(to_string(back->at(i.node())) == "(x*30 + y)%16");
  map = c.detect({o, o}, {15, 15});
  CHECK_FALSE(inverse(*map, c.loops, {x, y}, c.a));
}

TEST_CASE("a space divides where outer and inner loops do not mix") {
  Var io("io"), ii("ii"), jo("jo"), ji("ji"), k("k");
  Analyzer a;
  auto d = subspace_divide({io * 16 + ii, jo * 4 + ji, k}, {64, 16, 3}, {{io, 4}, {jo, 4}, {k, 3}},
                           {{ii, 16}, {ji, 4}}, true_expr(), a);
  REQUIRE(d);
  CHECK(to_string(d->outer_value[0]) == "io");
  CHECK(to_string(d->inner_value[0]) == "ii");
  CHECK(is_int(d->inner_extent[0], 16));
  CHECK(is_int(d->outer_extent[0], 4));
  CHECK(is_int(d->inner_extent[2], 1));
  CHECK(is_int(d->inner_value[2], 0));
  CHECK(to_string(d->outer_value[2]) == "k");
  CHECK_FALSE(subspace_divide({io * 16 + ii}, {60}, {{io, 4}}, {{ii, 16}}, io * 16 + ii < 60, a));
  CHECK_FALSE(subspace_divide({io + ii}, {19}, {{io, 4}}, {{ii, 16}}, true_expr(), a));
  CHECK_FALSE(subspace_divide({(io * 16 + ii) / 3}, {22}, {{io, 4}}, {{ii, 16}}, true_expr(), a));
}
