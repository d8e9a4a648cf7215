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

  test::Conv conv = test::conv(4, 5, 3, 6);
  Schedule c(conv.program);
  // The columns of the image are shifted by the kernel's.
  CHECK(c.why_not([&](Schedule& u) {
           u.pad_einsum(u.block(conv.conv), {1, 1, 4, 1, 1, 1, 1});
         })->code() == code::S067);
  CHECK(c.can([&](Schedule& u) { u.pad_einsum(u.block(conv.conv), {1, 1, 1, 4, 1, 1, 2}); }));
}
