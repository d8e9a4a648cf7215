#include "arith/sum.h"
#include "brute.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

struct Loops {
  Var x{"x"}, y{"y"}, z{"z"};
  std::vector<Axis> axes;
  Analyzer a;
  Loops(std::int64_t ex, std::int64_t ey, std::int64_t ez) {
    axes = {{x, 0, ex}, {y, 0, ey}, {z, 0, ez}};
    bind_axes(a, axes);
  }
  /// simplify(e) is structurally `wanted`, and both have the values of e.
  void check(const Expr& e, const Expr& wanted) {
    const Expr s = a.simplify(e);
    CHECK(a.can_prove_equal(s, wanted));
    INFO(to_string(e) << "  ->  " << to_string(s) << "  wanted  " << to_string(wanted));
    CHECK(same(s, a.simplify(wanted)));
    for_all(axes, [&](const Point& p) { REQUIRE(value_of(e, p) == value_of(s, p)); });
    CHECK(a.simplify(s).same_as(s));
  }
};

}  // namespace

TEST_CASE("sums are collected and sorted") {
  Loops l(8, 8, 8);
  l.check(l.x + l.y + l.x, l.x * 2 + l.y);
  l.check(l.x - l.y - l.x, l.y * -1);
  l.check((l.x + 3) - (l.y + 5), l.x - l.y - 2);
  l.check((l.x + 1) * 4 - l.x * 3, l.x + 4);
  l.check(3 - l.x, 3 - l.x);
}

TEST_CASE("a fused index comes apart") {
  Loops l(8, 8, 8);
  l.check((l.x * 8 + l.y) / 8, l.x);
  l.check((l.x * 8 + l.y) % 8, l.y);
  l.check((l.x * 64 + l.y * 8 + l.z) / 8 % 8, l.y);
  l.check((l.x * 8 + l.y) / 32, l.x / 4);
  l.check((l.x * 8 + l.y) % 32, l.x % 4 * 8 + l.y);
}

TEST_CASE("split and fused again is the variable itself") {
  Loops l(100, 8, 8);
  l.check(l.x / 4 * 4 + l.x % 4, l.x);
  l.check(l.x / 32 * 32 + l.x / 8 % 4 * 8 + l.x % 8, l.x);
  l.check((l.x + 12) / 8 * 8 + (l.x + 12) % 8, l.x + 12);
}
