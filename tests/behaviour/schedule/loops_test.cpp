// split, fuse, reorder, parallel, vectorize, unroll.
#include "behaviour/schedule/programs.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

TEST_CASE("a split that does not divide is guarded, one that divides is not") {
  for (std::int64_t n : {1, 7, 8, 9, 16, 17}) {
    test::Chain t = test::chain(n);
    Schedule s(t.program);
    auto [i] = s.loops<1>(s.block(t.d));
    s.split(i, {_, 8});
    CHECK(is_true(s.get(s.block(t.d)).predicate) == (n % 8 == 0));
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("nested splits inside tails") {
  for (std::int64_t n : {1, 5, 29, 30, 31, 60, 61}) {
    test::Chain t = test::chain(n);
    Schedule s(t.program);
    auto [i] = s.loops<1>(s.block(t.d));
    auto [io, ii] = s.split(i, {_, 10});
    auto [a, b, c] = s.split(ii, {2, _, 3});
    s.vectorize(c);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("loops of run-time extent split, fuse and vectorise") {
  Var n = size("n");
  test::Chain t = test::chain(n, {n});
  Schedule s(t.program);
  auto [i] = s.loops<1>(s.block(t.d));
  auto [io, ii] = s.split(i, {_, 8});
  s.vectorize(ii);
  s.parallel(io);
  for (std::int64_t size : {0, 1, 7, 8, 9, 31, 32, 33}) {
    INFO(size);
    CHECK(disagreement(s, {size}) == "");
  }
}

TEST_CASE("a fused loop runs the same iterations") {
  test::MatMul t = test::matmul(3, 5, 7);
  Schedule s(t.program);
  auto [i, j, k] = s.loops<3>(s.block(t.c));
  LoopRef f = s.fuse(i, j);
  CHECK(s.extent(f) == 15);
  s.split(f, {_, 4});
  CHECK(disagreement(s) == "");
}

TEST_CASE("a fused and split loop of exact factors has simple bindings") {
  test::MatMul t = test::matmul(4, 8, 3);
  Schedule s(t.program);
  auto [i, j, k] = s.loops<3>(s.block(t.c));
  auto [x, y] = s.split(s.fuse(i, j), {4, 8});
  const Block& block = s.get(s.block(t.c));
  CHECK(block.bindings[0].get() == s.get(x).var.get());
  CHECK(block.bindings[1].get() == s.get(y).var.get());
}

TEST_CASE("the register tile of a matrix product, with tails in every loop") {
  for (std::int64_t m : {1, 6, 13}) {
    for (std::int64_t n : {1, 16, 23}) {
      for (std::int64_t k : {0, 1, 9}) {
        INFO(m << " " << n << " " << k);
        test::MatMul t = test::matmul(m, n, k);
        Schedule s(t.program);
        BlockRef c = s.block(t.c);
        auto [i, j, r] = s.loops<3>(c);
        auto [io, ii] = s.split(i, {_, 6});
        auto [jo, ji] = s.split(j, {_, 16});
        s.reorder({io, jo, r, ii, ji});
        BlockRef store = s.cache_write(c, Scope::Local);
        s.reverse_compute_at(store, jo);
        s.vectorize(ji);
        s.unroll(ii);
        CHECK(disagreement(s) == "");
      }
    }
  }
}

TEST_CASE("a blocked reduction keeps its sums in a local tile between passes") {
  for (std::int64_t k : {1, 8, 9, 20}) {
    INFO(k);
    test::MatMul t = test::matmul(7, 18, k);
    Schedule s(t.program);
    BlockRef c = s.block(t.c);
    auto [i, j, r] = s.loops<3>(c);
    auto [io, ii] = s.split(i, {_, 4});
    auto [jo, ji] = s.split(j, {_, 8});
    auto [ro, ri] = s.split(r, {_, 8});
    s.reorder({ro, io, jo, ri, ii, ji});
    s.cache_write(c, Scope::Local, jo);
    s.vectorize(ji);
    s.unroll(ii);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("sums kept in a local tile survive iterations in which the block does nothing") {
  for (std::int64_t m : {1, 2, 5, 6, 7, 13}) {
    INFO(m);
    test::MatMul t = test::matmul(m, 1, 9);
    Schedule s(t.program);
    BlockRef c = s.block(t.c);
    auto [i, j, r] = s.loops<3>(c);
    auto [io, im, ii] = s.split(i, {_, 4, 6});  // 24 rows at a time: far more than there are
    auto [ro, ri] = s.split(r, {_, 4});
    s.reorder({ro, io, im, ri, ii, j});
    s.cache_write(c, Scope::Local, im);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("primitives that are refused leave the schedule as it was") {
  test::MatMul t = test::matmul(8, 8, 8);
  Schedule s(t.program);
  auto [i, j, k] = s.loops<3>(s.block(t.c));
  const Program before = s.program();
  const std::size_t steps = s.trace().steps.size();
  CHECK_THROWS_AS(s.vectorize(k), ScheduleError);
  CHECK_THROWS_AS(s.split(i, {2, 2}), ScheduleError);
  CHECK_THROWS_AS(s.fuse(j, i), ScheduleError);
  CHECK_THROWS_AS(s.compute_at(s.block(t.c), i), ScheduleError);
  CHECK(s.program().same_as(before));
  CHECK(s.trace().steps.size() == steps);
}

TEST_CASE("an unrolled loop of more iterations than 64 bits count statements stays a loop") {
  for (std::int64_t n : {std::int64_t{1} << 31, std::int64_t{1} << 61, std::int64_t{1} << 62}) {
    Tensor x = placeholder("x", {1}, i8);
    Axis r = reduce_axis(n, "r");
    Tensor y = compute("y", {1}, [&](Var i) { return sum(x(i), {r}); });
    Schedule s(program("p", {x}, {y}));
    const auto l = s.loops<2>(s.block(y));
    s.unroll(l[1]);
    s.unroll(s.split(l[0], {_, 4})[1]);
    CHECK(to_string(lower::lower(s.program(), test::avx2())).size() < 2000);
  }
}

TEST_CASE("a trace whose text is nested without end is refused, wherever it is nested") {
  const std::string many(100'000, '['), head = R"({"format":"lathe-trace","version":1,"steps":[)";
  for (const std::string& text : {many, head + many, head + R"(["split",)" + many}) {
    try {
      Trace::from_json(text);
      FAIL("accepted");
    } catch (const UserError& e) {
      CHECK(std::string(e.what()) == "trace: the text is nested too deeply  [LTH-F020]");
    }
  }
}
