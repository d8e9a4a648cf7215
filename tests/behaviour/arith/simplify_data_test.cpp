#include <cmath>
#include <limits>

#include "brute.h"

using namespace lathe;
using namespace lathe::arith;

namespace {

const std::vector<DataType> kIntegers = {i8, i16, i32, i64, u8, u16, u32, u64};
const std::vector<BinaryOp> kIntegerOps = {
    BinaryOp::Add, BinaryOp::Sub,      BinaryOp::Mul,      BinaryOp::Div, BinaryOp::Mod,
    BinaryOp::Min, BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::Max, BinaryOp::Lt,
    BinaryOp::Le,  BinaryOp::Eq,       BinaryOp::Ne,       BinaryOp::Gt,  BinaryOp::Ge};

}  // namespace

TEST_CASE("integer literals fold with the arithmetic of their type") {
  for (DataType t : kIntegers) {
    std::vector<std::int64_t> values = {0,   1,   2,    3,   7,   -1,    -2,        -7,
                                        100, 127, -128, 255, 256, 65535, INT64_MAX, INT64_MIN};
    for (std::int64_t& v : values) v = wrap_integer(t, v);
    for (BinaryOp op : kIntegerOps) {
      for (std::int64_t x : values) {
        for (std::int64_t y : values) {
          const Expr e = binary(op, make_int(t, x), make_int(t, y)), s = simplify(e);
          const bool division = op == BinaryOp::Div || op == BinaryOp::Mod || op == BinaryOp::FloorDiv ||
                                op == BinaryOp::FloorMod;
          if (division && y == 0) {
            REQUIRE(s.same_as(e));
          } else {
            REQUIRE(s.kind() == ExprKind::IntImm);
            REQUIRE(s.dtype() == e.dtype());
            REQUIRE(*as_int(s) == integer_op(t, op, x, y));
          }
        }
      }
    }
  }
}

TEST_CASE("64-bit integers fold exactly beyond 2^53") {
  const Expr big = make_int(i64, 9007199254740993);
  CHECK(*as_int(simplify(truncdiv(big, make_int(i64, 1)))) == 9007199254740993);
  CHECK(*as_int(simplify(truncmod(big, make_int(i64, 10)))) == 3);
  const Expr root = make_int(i64, 3037000500);
  CHECK(*as_int(simplify(root * root)) ==
        wrap_integer(i64, static_cast<std::int64_t>(3037000500ull * 3037000500ull)));
}

TEST_CASE("nothing is assumed of wrapping integers that index arithmetic may assume") {
  Var x("x", i8), y("y", u8);
  Analyzer a;
  CHECK_FALSE(a.can_prove(x + 1 > x));
  CHECK_FALSE(a.can_prove(y + 1 > make_int(u8, 0)));
  CHECK(to_string(a.simplify(truncdiv(x * 2, make_int(i8, 2)))) != "x");
  CHECK(a.bound(cast(index_type, x + 1)).min == -128);
  CHECK(a.bound(cast(index_type, y)).max == 255);
  CHECK(a.simplify(x + 1 + 127).as<Binary>() != nullptr);
  CHECK(*as_int(a.simplify(x + 1 + 127).as<Binary>()->b) == -128);
  CHECK(is_int(a.simplify(x - x), 0));
  CHECK(a.simplify(x * 1).same_as(x));
}

TEST_CASE("floats fold two literals and nothing else") {
  Var x("x", f32);
  const Expr zero = make_float(f32, 0), one = make_float(f32, 1);
  for (const Expr& e : {x + zero, x * zero, x - x, x * one, x / x, min(x, x)}) CHECK(simplify(e).same_as(e));
  CHECK_FALSE(is_true(simplify(x == x)));
  CHECK_FALSE(is_true(simplify(x < x || x >= x)));
  const Expr tenth = make_float(f32, 0.1), sum = simplify(tenth + make_float(f32, 0.2));
  CHECK(sum.as<FloatImm>()->value == static_cast<double>(0.1f + 0.2f));
  const Expr nan = make_float(f32, std::numeric_limits<double>::quiet_NaN());
  CHECK(std::isnan(simplify(max(nan, one)).as<FloatImm>()->value));
  CHECK(std::signbit(simplify(min(make_float(f32, -0.0), zero)).as<FloatImm>()->value));
  CHECK(to_string(simplify(!(x < one))) == "!(x < 1.f)");
}

TEST_CASE("casts of literals fold as the interpreter computes them") {
  CHECK(*as_int(simplify(cast(i8, make_int(i32, 200)))) == -56);
  CHECK(*as_int(simplify(cast(u8, make_float(f32, -3.5)))) == 0);
  CHECK(*as_int(simplify(cast(i32, make_float(f64, 1e20)))) == INT32_MAX);
  CHECK(simplify(cast(f32, make_int(i32, 16777217))).as<FloatImm>()->value == 16777216.0);
  const Expr large = cast(f32, make_int(i64, (std::int64_t{1} << 60) + 1));
  CHECK(simplify(large).same_as(large));
}

TEST_CASE("vectors of index stay ramps where they can") {
  Var x("x");
  const Expr r = ramp(x, 1, 8);
  CHECK(to_string(simplify(r + broadcast(make_index(3), 8))) == to_string(ramp(x + 3, 1, 8)));
  CHECK(to_string(simplify(r * broadcast(make_index(4), 8))) == to_string(ramp(x * 4, 4, 8)));
  CHECK(to_string(simplify(broadcast(x, 8) + broadcast(x, 8))) == to_string(broadcast(x * 2, 8)));
  Analyzer a;
  a.bind_extent(x, 9);
  CHECK(is_int(a.simplify(binary(BinaryOp::Lt, r, broadcast(make_index(16), 8))), 1));
  CHECK_FALSE(as_int(a.simplify(binary(BinaryOp::Lt, r, broadcast(make_index(15), 8)))));
}
