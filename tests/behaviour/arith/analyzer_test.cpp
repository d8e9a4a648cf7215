#include "arith/sum.h"
#include "brute.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

TEST_CASE("bounds of affine, divided and clamped expressions") {
  Var i("i"), j("j");
  Analyzer a;
  a.bind(i, {-3, 10});
  a.bind_extent(j, 4);
  auto is = [&](const Expr& e, std::int64_t low, std::int64_t high) {
    INFO(to_string(e));
    CHECK(a.bound(e).min == low);
    CHECK(a.bound(e).max == high);
  };
  is(i * 8 + j, -24, 51);
  is(i / 4, -1, 1);
  is(i % 4, 0, 3);
  is(j * 3 % 16, 0, 9);
  is(min(i, j), -3, 3);
  is(select(i < 0, j, i + 100), 0, 106);
  is(call(Intrinsic::Abs, {j - 10}), 7, 10);
  is(i - i, 0, 0);
  CHECK(a.bound(Var("free")).min == ConstBound::kMinusInf);
  CHECK(a.bound(j * Var("free")).max == ConstBound::kPlusInf);
}

TEST_CASE("run-time sizes bound what ranges over them") {
  Var n("n"), i("i"), o("o"), r("r");
  Analyzer a;
  a.bind_size(n);
  a.bind_extent(i, n);
  CHECK(a.bound(i).min == 0);
  CHECK(a.bound(i - n).max == -1);
  CHECK(a.can_prove(i < n));
  CHECK(a.can_prove(i * 4 + 3 < n * 4));
  a.bind_extent(o, ceil_div(n, 32));
  a.bind_extent(r, 32);
  CHECK(a.can_prove(o * 32 + r < ceil_div(n, 32) * 32));
  CHECK_FALSE(a.can_prove(o * 32 + r < n));
  CHECK(a.can_prove(o * 32 < n));
  CHECK(a.can_prove(ceil_div(n, 32) * 32 >= n));
  CHECK(a.can_prove(ceil_div(n, 32) * 32 - n < 32));
  CHECK(a.can_prove(floordiv(n, 32) * 32 <= n));
}

TEST_CASE("the range of a loop does not prove that it runs") {
  Var n("n"), i("i");
  Analyzer a;
  a.bind_size(n);
  a.bind_extent(i, n);
  CHECK_FALSE(a.can_prove(n > 0));
  CHECK_FALSE(a.can_prove(n >= 1));
}

TEST_CASE("two run-time sizes: a fused index and its parts") {
  Var n("n"), m("m"), i("i"), j("j");
  Analyzer a;
  a.bind_size(n);
  a.bind_size(m);
  a.bind_extent(i, n);
  a.bind_extent(j, m);
  CHECK(a.can_prove(i * m + j < n * m));
  CHECK(a.simplify(floordiv(i * m + j, m)).same_as(i));
  CHECK(a.simplify(floormod(i * m + j, m)).same_as(j));
  CHECK(a.can_prove_equal((i + 1) * m - i * m, m));
}

TEST_CASE("assumptions hold while their guard lives") {
  Var i("i"), j("j"), n("n");
  Analyzer a;
  a.bind_extent(i, 4);
  a.bind_extent(j, 8);
  a.bind_size(n);
  {
    auto guard = a.assume(i * 8 + j < 30);
    CHECK(a.bound(i * 8 + j).max == 29);
    CHECK(a.can_prove(i * 8 + j <= 29));
    auto inner = a.assume(i >= 2 && n % 32 == 0);
    CHECK(a.bound(i).min == 2);
    CHECK(a.can_prove(n % 8 == 0));
    CHECK(a.simplify(floordiv(n, 32) * 32 + floormod(n, 32)).same_as(n));
  }
  CHECK(a.bound(i * 8 + j).max == 31);
  CHECK(a.bound(i).min == 0);
  CHECK_FALSE(a.can_prove(n % 8 == 0));
}

TEST_CASE("a bind under an assumption outlives it, and disturbs no other") {
  Var x("x"), y("y");
  Analyzer a;
  a.bind_extent(x, 10);
  a.bind_extent(y, 10);
  {
    auto outer = a.assume(x < 5);
    auto inner = a.assume(y < 5);
    a.bind_extent(x, 20);
    CHECK(a.bound(y).max == 4);
  }
  CHECK(a.bound(x).max == 19);
  CHECK(a.bound(y).max == 9);
}

TEST_CASE("assumptions chain, and decide conditions that are no inequalities") {
  Var x("x"), y("y"), z("z"), flag("flag", boolean);
  Var f("f", f32);
  Analyzer a;
  auto first = a.assume(x <= y && y < z);
  CHECK(a.can_prove(x < z));
  CHECK(a.can_prove(x * 2 + 1 < z * 2));
  CHECK_FALSE(a.can_prove(x < y));
  auto second = a.assume(flag && f > make_float(f32, 0));
  CHECK(a.can_prove(flag));
  CHECK(a.can_prove(f > make_float(f32, 0)));
  CHECK_FALSE(a.can_prove(f > make_float(f32, 1)));
  auto third = a.assume(x == y);
  CHECK(a.can_prove_equal(floordiv(x, 3) * 0 + x, y));
}

TEST_CASE("congruences") {
  Var i("i"), n("n");
  Analyzer a;
  auto is = [&](const Expr& e, std::int64_t coefficient, std::int64_t base) {
    INFO(to_string(e));
    CHECK(a.modular(e).coefficient == coefficient);
    CHECK(a.modular(e).base == base);
  };
  is(i * 6 + n * 4 + 1, 2, 1);
  is(i * 12 + 5, 12, 5);
  is(min(i * 4 + 1, n * 6 + 1), 2, 1);
  is(make_index(7), 0, 7);
  is(i, 1, 0);
  auto guard = a.assume(n % 16 == 3);
  is(n * 2, 32, 6);
  CHECK(a.can_prove((n + 1) % 4 == 0));
}

TEST_CASE("a value that a variable equals is used; a second bind replaces the first") {
  Var x("x"), y("y");
  Analyzer a;
  a.bind_value(x, y * 4 + 1);
  CHECK(to_string(a.simplify(x % 4)) == "1");
  CHECK(a.can_prove_equal(x - 1, y * 4));
  a.bind_extent(x, 3);
  CHECK(a.bound(x).max == 2);
  CHECK_FALSE(a.can_prove_equal(x - 1, y * 4));
  a.bind_extent(x, Var("n"));
  CHECK(a.bound(x).max == ConstBound::kPlusInf);
  a.bind_extent(x, 1);
  CHECK(is_int(a.simplify(x), 0));
}

TEST_CASE("can_prove_ge and can_prove_lt at their edges") {
  Var i("i");
  Analyzer a;
  a.bind(i, {-3, 6});
  CHECK(a.can_prove_ge(i, -3));
  CHECK_FALSE(a.can_prove_ge(i, -2));
  CHECK(a.can_prove_lt(i, 3));
  CHECK_FALSE(a.can_prove_lt(i, 2));
  CHECK(a.can_prove_ge(Var("n"), INT64_MIN) == false);
}

TEST_CASE("building folds only what is obvious") {
  Var x("x");
  CHECK(add(x, 0).same_as(x));
  CHECK(mul(1, x).same_as(x));
  CHECK(is_int(mul(x, 0), 0));
  CHECK(is_int(sub(x, x), 0));
  CHECK(is_int(add(2, 3), 5));
  CHECK(add(make_index(INT64_MAX), 1).kind() == ExprKind::Binary);
  CHECK(is_int(product({2, 3, 4}), 24));
  CHECK(is_int(product({}), 1));
  for (std::int64_t p : {-7, -1, 0, 1, 5, 6, 7}) {
    for (std::int64_t q : {1, 2, 3, 7}) {
      Var v("v");
      const std::int64_t wanted = floor_div(p + q - 1, q);
      CHECK(*as_int(ceil_div(p, q)) == wanted);
      CHECK(value_of(ceil_div(v, q), {{v.node(), p}}) == wanted);
    }
  }
  CHECK(is_true(conjunction(true_expr(), true_expr())));
  CHECK(conjuncts((x < 1 && x < 2) && (x < 3 && true_expr())).size() == 3);
  CHECK(conjuncts(true_expr()).empty());
}

TEST_CASE("affine forms") {
  Var x("x"), y("y"), n("n");
  auto f = affine((x + 1) * 3 - y + n * 2, {x, y});
  REQUIRE(f);
  CHECK(f->coefficients == std::vector<std::int64_t>{3, -1});
  CHECK(to_string(f->rest) == "n*2 + 3");
  CHECK(affine(x / 2 * 2 + x % 2, {x}));
  CHECK_FALSE(affine(x / 2, {x}));
  CHECK_FALSE(affine(x * n, {x}));
  CHECK_FALSE(affine(x * y, {x, y}));
  CHECK(affine(n / 2, {x})->coefficients[0] == 0);
}
