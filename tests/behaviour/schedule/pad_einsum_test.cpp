// pad_einsum: contractions over domains that their tiles divide.
#include "behaviour/schedule/programs.h"
#include "support/check_schedule.h"
#include "support/error_codes/schedule.h"

using namespace lathe;
using test::disagreement;

TEST_CASE("padding the domains of a product changes nothing that is read") {
  for (std::int64_t n : {0, 1, 3, 4, 5, 8}) {
    for (std::int64_t k : {0, 1, 5, 6}) {
      INFO(n << " " << k);
      test::MatMul t = test::matmul(5, n, k);
      Schedule s(t.program);
      BlockRef sums = s.block(t.c);
      s.cache_write(sums, Scope::Global);
      const std::vector<BlockRef> copies = s.pad_einsum(sums, {1, 4, 3});
      CHECK(copies.size() == (n == 0 || k == 0 ? copies.size() : 2));
      CHECK(disagreement(s) == "");
    }
  }
}

TEST_CASE("after padding tiles need no guards") {
  test::MatMul t = test::matmul(6, 29, 7);
  Schedule s(t.program);
  BlockRef sums = s.block(t.c);
  BlockRef store = s.cache_write(sums, Scope::Local);
  BlockRef panels = s.pad_einsum(sums, {1, 16, 1}).at(0);
  Var k("k"), j("j");
  s.transform_layout(panels, -1, IndexMap{{k, j}, {floordiv(j, 16), k, floormod(j, 16)}});
  auto [i, c] = s.loops<2>(store);
  auto [co, ci] = s.split(c, {_, 16});
  s.reorder({co, i, ci});
  s.compute_at(sums, i);
  s.compute_at(panels, co);
  CHECK(is_true(s.get(sums).predicate));
  CHECK(disagreement(s) == "");
}

TEST_CASE("a block that was taken apart already, or is no contraction there, is not padded") {
  test::MatMul t = test::matmul(5, 7, 3);
  Schedule s(t.program);
  BlockRef sums = s.block(t.c);
  const Program before = s.program();
  CHECK(s.why_not([&](Schedule& u) { u.pad_einsum(sums, {1, 4, 1}); })->code() == code::S013);
  s.cache_write(sums, Scope::Global);
  CHECK(s.why_not([&](Schedule& u) { u.pad_einsum(sums, {1, 4}); })->code() == code::S067);
  CHECK(s.why_not([&](Schedule& u) {
           u.split(u.loops(sums)[1], {_, 4});
           u.pad_einsum(sums, {1, 4, 1});
         })->code() == code::S067);
}

TEST_CASE("a window of a padded variable reaches further") {
  for (std::int64_t n : {1, 4, 5, 6}) {
    for (std::int64_t stride : {1, 2}) {
      INFO(n << " by " << stride);
      Tensor x = placeholder("x", {3, stride * (n - 1) + 3}, f32), k = placeholder("k", {4, 3, 3}, f32);
      Axis c = reduce_axis(3, "c"), r = reduce_axis(3, "r");
      Tensor y = compute("y", {4, n}, [&](Var o, Var j) {
        return sum(x(c, stride * j + r) * k(o, c, r), {c, r});
      });
      const Program p = program("windows", {x, k}, {y});
      Schedule s(p);
      const BlockRef sums = s.block(y);
      s.cache_write(sums, Scope::Global);
      const std::vector<BlockRef> copies = s.pad_einsum(sums, {1, 4, 1, 1});
      CHECK(copies.size() == 1);
      CHECK(disagreement(s) == "");
      CHECK(as_int(s.get(copies[0]).writes[0].buffer->shape[1]).value() ==
            stride * ((n + 3) / 4 * 4 - 1) + 3);
      // A reduce variable's surplus must find zeros, and in a window it does not.
      CHECK(s.why_not([&](Schedule& u) { u.pad_einsum(sums, {1, 1, 1, 2}); })->code() == code::S067);
    }
  }
  // Larger values would read before the beginning.
  Tensor x = placeholder("x", {7}, f32), k = placeholder("k", {3}, f32);
  Axis r = reduce_axis(3, "r");
  Tensor y = compute("y", {5}, [&](Var j) { return sum(x(4 - j + r) * k(r), {r}); });
  Schedule s(program("backwards", {x, k}, {y}));
  const BlockRef backwards = s.block(y);
  s.cache_write(backwards, Scope::Global);
  CHECK(s.why_not([&](Schedule& u) { u.pad_einsum(backwards, {4, 1}); })->code() == code::S067);
}

TEST_CASE("a padded reduction of a part of its operands adds nothing of the rest") {
  Tensor a = placeholder("A", {5, 9}, f32), b = placeholder("B", {9, 6}, f32);
  Axis r = reduce_axis(5, "k");  // of the 9
  Tensor c = compute("C", {5, 6}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
  Schedule s(program("part", {a, b}, {c}));
  const BlockRef sums = s.block(c);
  s.cache_write(sums, Scope::Global);
  s.pad_einsum(sums, {1, 4, 4});
  CHECK(disagreement(s) == "");
}
