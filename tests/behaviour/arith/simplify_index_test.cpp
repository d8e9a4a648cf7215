#include "brute.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

struct Loops {
  Var x{"x"}, y{"y"}, z{"z"};
  std::vector<Axis> axes;
  Analyzer a;
  Loops(Axis ax, Axis ay, Axis az) {
    axes = {{x, ax.low, ax.count}, {y, ay.low, ay.count}, {z, az.low, az.count}};
    bind_axes(a, axes);
  }
  Loops(std::int64_t ex, std::int64_t ey, std::int64_t ez) : Loops({{}, 0, ex}, {{}, 0, ey}, {{}, 0, ez}) {}
  /// simplify(e) prints as `wanted`, has the values of e everywhere, and does not change when repeated.
  void check(const Expr& e, const std::string& wanted) {
    const Expr s = a.simplify(e);
    INFO(to_string(e));
    CHECK(to_string(s) == wanted);
    for_all(axes, [&](const Point& p) { REQUIRE(value_of(e, p) == value_of(s, p)); });
    CHECK(a.simplify(s).same_as(s));
  }
};
/// x in -9 .. 9, y in -4 .. 4, z in 0 .. 4: no range helps.
Loops wide() { return Loops({{}, -9, 19}, {{}, -4, 9}, {{}, 0, 5}); }

}  // namespace

TEST_CASE("sums are collected, sorted and keep their identity when nothing changes") {
  Loops l(8, 8, 8);
  l.check(l.x + l.y + l.x, "x*2 + y");
  l.check(l.x - l.y - l.x, "y*-1");
  l.check((l.x + 3) - (l.y + 5), "x - y - 2");
  l.check((l.x + 1) * 4 - l.x * 3, "x + 4");
  l.check(3 - l.x, "3 - x");
  l.check((l.x + l.y) * (l.x - l.y), "x*x - y*y");
  l.check(l.x * 0 + l.y * 1, "y");
  const Expr canonical = l.x * 32 + l.y * 8 + l.z;
  CHECK(l.a.simplify(canonical).same_as(canonical));
}

TEST_CASE("a fused index comes apart") {
  Loops l(8, 8, 8);
  l.check((l.x * 8 + l.y) / 8, "x");
  l.check((l.x * 8 + l.y) % 8, "y");
  l.check((l.x * 64 + l.y * 8 + l.z) / 8 % 8, "y");
  l.check((l.x * 64 + l.y * 8 + l.z) / 64, "x");
  l.check((l.x * 8 + l.y) / 32, "x/4");
  l.check((l.x * 8 + l.y) % 32, "x%4*8 + y");
  l.check((l.x * 12 + l.y * 18 + l.z / 4) / 36, "(x*2 + y*3)/6");
}

TEST_CASE("split and fused again is the variable itself") {
  Loops l = wide();
  l.check(l.x / 4 * 4 + l.x % 4, "x");
  l.check(l.x % 4 + l.x / 4 * 4 + l.y, "x + y");
  l.check(l.x / 32 * 32 + l.x / 8 % 4 * 8 + l.x % 8, "x");
  l.check((l.x + 12) / 8 * 8 + (l.x + 12) % 8, "x + 12");
  l.check((l.x / 4 * 4 + l.x % 4) / 5, "x/5");
  l.check((l.x / 4 * 12 + l.x % 4 * 3) + 1, "x*3 + 1");
}

TEST_CASE("floor division and remainder by constants, negative dividends and divisors included") {
  Loops l = wide();
  l.check((l.x * 4 + 3) / 8, "x/2");
  l.check((l.x * 4 + 3) % 8, "x%2*4 + 3");
  l.check((l.x * 4) % 8, "x%2*4");
  l.check((l.x - 1) / 8, "(x + 7)/8 - 1");
  l.check(l.x / -2, "x*-1/2");
  l.check(l.x % -3, "x*-1%3*-1");
  l.check(l.x / 4 / 3, "x/12");
  l.check((l.x / 4 + 3) / 2, "(x + 4)/8 + 1");
  l.check(l.x % 12 / 4, "x/4%3");
  l.check(l.x % 12 % 4, "x%4");
  l.check((l.x % 16 + l.y) % 8, "(x + y)%8");
  l.check((l.x * 6 + l.y * 3) % 3, "0");
  l.check(l.x / 1 + l.x % 1, "x");
}

TEST_CASE("division by zero is left alone, and never divides") {
  Loops l(8, 8, 8);
  const Expr by_zero = floordiv(l.x, make_index(0)), literal = floordiv(make_index(5), make_index(0));
  CHECK(l.a.simplify(by_zero).same_as(by_zero));
  CHECK(l.a.simplify(literal).same_as(literal));
  CHECK(l.a.simplify(floormod(literal, make_index(0))).kind() == ExprKind::Binary);
  const Expr data = truncdiv(make_int(i32, 1), make_int(i32, 0));
  CHECK(l.a.simplify(data).same_as(data));
}

TEST_CASE("a divisor that may be zero is not cancelled") {
  Var x("x"), n("n");
  Analyzer a;
  a.bind_size(n);
  // 0 / 0 is 0, so n / n is 1 only for n > 0.
  CHECK_FALSE(is_int(a.simplify(floordiv(n, n)), 1));
  auto guard = a.assume(n >= 1);
  CHECK(is_int(a.simplify(floordiv(n, n)), 1));
  CHECK(a.simplify(floordiv(x * n, n)).same_as(x));
}

TEST_CASE("min and max pull out common parts, with the sign of a factor turning them") {
  Loops l = wide();
  l.check(min(l.x * -2, make_index(-4)), "max(x, 2)*-2");
  l.check(max(l.x * -2, make_index(-4)), "min(x, 2)*-2");
  l.check(min(l.x * 4, make_index(0)), "min(x, 0)*4");
  for (std::int64_t c : {-3, -1, 0, 1, 3}) {
    const Expr product = l.x * make_index(c);
    for_all(l.axes, [&](const Point& p) {
      REQUIRE(value_of(min(product, make_index(c)), p) ==
              value_of(l.a.simplify(min(product, make_index(c))), p));
    });
  }
  l.check(min(l.x + l.y, l.x + l.z), "x + min(y, z)");
  l.check(max(l.x + 2, l.x + 5), "x + 5");
  l.check(min(l.x, min(l.x - 1, l.y)), "min(x - 1, y)");
  l.check(min(l.x, max(l.x, l.y)), "x");
  l.check(max(min(l.x, 3), 5), "5");
  l.check(min(l.x * 8 + 8, l.y) - l.x * 8, "min(y - x*8, 8)");
  l.check(min(l.y, l.x), "min(x, y)");
}

TEST_CASE("comparisons are brought to one form and decided by ranges") {
  Loops l(8, 8, 8);
  l.check(l.x * 8 + l.y < 64, "true");
  l.check(l.x * 8 + l.y < 32, "x < 4");
  l.check(l.x * 8 + l.y >= 40, "x >= 5");
  l.check(l.x * 8 < 30, "x < 4");
  l.check(l.x * 8 + l.y * 2 == 3, "false");
  l.check(l.x + 3 == l.y + 3, "x == y");
  l.check(l.x - l.y < 0, "x < y");
  l.check(0 < l.x, "x >= 1");
  l.check(!(l.x < l.y), "y <= x");
  l.check(l.x != l.x + 1, "true");
  l.check(l.x * 2 % 4 == 1, "false");
}

TEST_CASE("a comparison drops what cannot matter beside a run-time size") {
  Var o("o"), i("i"), n("n");
  Analyzer a;
  a.bind_size(n);
  a.bind_extent(o, n);
  a.bind_extent(i, 32);
  CHECK(to_string(a.simplify(o * 32 + i < n * 32)) == "true");
  Var free("free");
  CHECK(to_string(a.simplify(free * 32 + i < n * 32)) == "free < n");
}

TEST_CASE("and, or, not know the operands before them") {
  Loops l = wide();
  l.check(l.x < 5 && l.x < 3, "x < 3");
  l.check(l.x < 3 && l.x < 5, "x < 3");
  l.check(l.x < 3 || l.x < 5, "x < 5");
  l.check(l.x < 3 && l.x > 4, "false");
  l.check(l.x < 3 || l.x > 1, "true");
  l.check(!(l.x < 3 && l.y < 2), "x >= 3 || y >= 2");
  l.check(!!(l.x < 3), "x < 3");
  l.check(l.x < 3 && true_expr() && l.y < 9, "x < 3");
  l.check(l.x == 2 && l.x * 3 + l.y < 6, "x == 2 && y < 0");
}

TEST_CASE("the operands of && stay in order when the left one protects the right") {
  Var x("x");
  const Buffer table("table", f32, {8});
  const Expr guarded = x < 8 && load(table, {x}) > 0.f && x < 100;
  CHECK(to_string(simplify(guarded)) == "x < 8 && table[x] > 0.f");
}

TEST_CASE("each side of a select is simplified knowing the condition") {
  Loops l = wide();
  l.check(select(l.x < 4, min(l.x, 4), l.y), "select(x < 4, x, y)");
  l.check(select(l.x < 4, l.y, max(l.x, 3)), "select(x < 4, y, x)");
  l.check(select(l.x < 4, select(l.x < 4, l.y, l.z), l.x), "select(x < 4, y, x)");
  l.check(select(l.x < 40, l.y, l.z), "y");
  l.check(select(l.x < 4, l.y, l.y), "y");
  l.check(select(l.x < 4, true_expr(), l.y < 2), "x < 4 || y < 2");
}

TEST_CASE("a constant that overflows is left unfolded") {
  Var x("x");
  Analyzer a;
  const Expr big = make_index(INT64_MAX);
  for (const Expr& e : {big + 1, big * 2, make_index(INT64_MIN) - 1, x + big + 1 + x, x * big * 2,
                        floordiv(make_index(INT64_MIN), make_index(-1))}) {
    const Expr s = a.simplify(e);
    INFO(to_string(e) << " -> " << to_string(s));
    for (std::int64_t v : {0, 1, -1}) {
      const Point p{{x.node(), v}};
      const auto before = value_of(e, p), after = value_of(s, p);
      if (before && after) CHECK(*before == *after);
      if (before) CHECK(after);
    }
  }
  CHECK_FALSE(as_int(a.simplify(big + 1)));
  CHECK_FALSE(as_int(a.simplify(big * 2)));
  CHECK_FALSE(as_int(a.simplify(floordiv(make_index(INT64_MIN), make_index(-1)))));
  CHECK_FALSE(a.can_prove(x + 1 > x + 1));
}

TEST_CASE("very deep and very wide expressions are survived") {
  Var x("x");
  Analyzer a;
  Expr deep = x;
  for (int i = 0; i < 600; ++i) deep = min(deep * 2, make_index(i)) + x;
  CHECK(a.simplify(deep).defined());
  Expr wide = x;
  std::vector<Var> vars;
  for (int i = 0; i < 100; ++i) {
    vars.push_back(Var("v" + std::to_string(i)));
    wide = wide + vars.back() * make_index(i);
  }
  CHECK(a.can_prove_equal(wide, wide + 0));
  Expr conditions = x < 0;
  for (const Var& v : vars) conditions = conditions && v * 3 + x < 7;
  CHECK(a.simplify(conditions).defined());
}

TEST_CASE("the order of terms depends on neither names nor addresses") {
  // The same expression over other variables, with names in another order, has the same shape.
  auto shape = [](const std::string& first, const std::string& second) {
    Var p(first), q(second);
    std::string text = to_string(simplify(q * 2 + floordiv(p + q, make_index(3)) + p));
    for (char& c : text) {
      if (c == first[0]) c = '1';
      if (c == second[0]) c = '2';
    }
    return text;
  };
  CHECK(shape("a", "b") == shape("z", "b"));
  CHECK(shape("a", "b") == shape("q", "p"));
}

TEST_CASE("a call with effects happens as often as it is written") {
  const Expr effect(new Call(index_type, Intrinsic::Extern, {}, "tick"));
  for (const Expr& e :
       {effect - effect, effect * 0, effect + effect, min(effect, effect), floormod(effect, 1)}) {
    int count = 0;
    walk(simplify(e), [&](const Expr& x) {
      count += x.kind() == ExprKind::Call;
      return true;
    });
    int written = 0;
    walk(e, [&](const Expr& x) {
      written += x.kind() == ExprKind::Call;
      return true;
    });
    INFO(to_string(e) << " -> " << to_string(simplify(e)));
    CHECK(count == written);
  }
}
