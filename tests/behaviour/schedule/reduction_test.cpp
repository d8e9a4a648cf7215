// rfactor, decompose_reduction, layouts, hints.
#include "behaviour/schedule/programs.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

struct RowSum {
  Tensor a, s;
  Program program;
};
RowSum row_sum(std::int64_t rows, std::int64_t columns) {
  RowSum t;
  t.a = placeholder("A", {rows, columns}, f32);
  Axis r = reduce_axis(columns, "r");
  t.s = compute("S", {rows}, [&](Var i) { return sum(t.a(i, r), {r}); });
  t.program = program("row_sum", {t.a}, {t.s});
  return t;
}

}  // namespace

TEST_CASE("rfactor keeps the guards of non-dividing splits") {
  for (std::int64_t n : {0, 1, 7, 8, 9, 10, 16}) {
    for (bool outer : {false, true}) {
      INFO(n << " " << outer);
      RowSum t = row_sum(3, n);
      Schedule s(t.program);
      BlockRef block = s.block(t.s);
      auto [i, r] = s.loops<2>(block);
      auto [ro, ri] = s.split(r, {_, 4});
      s.rfactor(block, outer ? ro : ri, 1);
      CHECK(disagreement(s) == "");
    }
  }
}

TEST_CASE("a full sum over both inner axes of two splits") {
  Tensor a = placeholder("A", {10, 7}, f32);
  Axis x = reduce_axis(10, "x"), y = reduce_axis(7, "y");
  Tensor total = compute("s", {}, [&] { return sum(a(x, y), {x, y}); });
  Schedule s(program("total", {a}, {total}));
  BlockRef block = s.block(total);
  auto [lx, ly] = s.loops<2>(block);
  auto [xo, xi] = s.split(lx, {_, 4});
  auto [yo, yi] = s.split(ly, {_, 4});
  s.reorder({xo, yo, xi, yi});
  s.rfactor(block, s.fuse(xi, yi));
  CHECK(disagreement(s) == "");
}

TEST_CASE("a row reduction runs in lanes after rfactor") {
  for (std::int64_t n : {1, 8, 30, 64}) {
    RowSum t = row_sum(5, n);
    Schedule s(t.program);
    BlockRef block = s.block(t.s);
    auto [i, r] = s.loops<2>(block);
    auto [ro, ri] = s.split(r, {_, 8});
    BlockRef partial = s.rfactor(block, ri, 1);
    s.reverse_compute_at(block, i);
    s.set_scope(partial, Scope::Local);
    s.vectorize(ri);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("an init in a nest of its own") {
  for (std::int64_t k : {0, 1, 5}) {
    test::MatMul t = test::matmul(6, 9, k);
    Schedule s(t.program);
    BlockRef c = s.block(t.c);
    auto [i, j, r] = s.loops<3>(c);
    auto [jo, ji] = s.split(j, {_, 4});
    s.reorder({jo, r, ji});
    s.decompose_reduction(c, r);
    s.vectorize(ji);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("a packed operand") {
  for (std::int64_t n : {16, 23}) {
    test::MatMul t = test::matmul(6, n, 9);
    Schedule s(t.program);
    BlockRef c = s.block(t.c);
    auto [i, j, r] = s.loops<3>(c);
    auto [jo, ji] = s.split(j, {_, 16});
    s.reorder({jo, i, r, ji});
    BlockRef pack = s.cache_read(c, t.b, Scope::Global);
    s.transform_layout(pack, -1, [] {
      Var k("k"), j("j");
      return IndexMap{{k, j}, {floordiv(j, 16), k, floormod(j, 16)}};
    }());
    s.vectorize(ji);
    CHECK(disagreement(s) == "");
    s.compute_at(pack, jo);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("a reducer that is not associative is never reordered") {
  Tensor a = placeholder("A", {4, 16}, f32);
  Axis k = reduce_axis(16, "k");
  Reducer minus = reducer(
      "minus", {f32},
      [](const std::vector<Expr>& x, const std::vector<Expr>& y) { return std::vector<Expr>{x[0] - y[0]}; },
      {Expr(0.f)}, ReducerProperties{});
  Tensor b = compute("B", {4}, [&](Var i) { return reduce(minus, {a(i, k)}, {k}); });
  Schedule s(program("minus", {a}, {b}));
  auto [i, r] = s.loops<2>(s.block(b));
  auto [ro, ri] = s.split(r, {_, 4});
  CHECK_FALSE(s.can([&](Schedule& t) { t.rfactor(t.block(b), ri); }));
  CHECK_FALSE(s.can([&](Schedule& t) { t.reorder({ri, ro}); }));
  CHECK(disagreement(s) == "");
}
