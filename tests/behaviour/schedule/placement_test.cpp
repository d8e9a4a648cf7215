// compute_at, reverse_compute_at, inlining, caches.
#include "behaviour/schedule/programs.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

TEST_CASE("compute_at shrinks a producer to its consumer's tile") {
  for (std::int64_t n : {1, 31, 32, 33, 48}) {
    test::Chain t = test::chain(n);
    Schedule s(t.program);
    auto [i] = s.loops<1>(s.block(t.d));
    auto [io, ii] = s.split(i, {_, 32});
    s.compute_at(s.block(t.c), io);
    CHECK(disagreement(s) == "");
    const interp::Outcome run =
        interp::run(lower::lower(s.program(), test::avx2()), interp::integer_inputs(s.original(), 1));
    CHECK(run.report.buffer("C").peak_bytes <= 32 * 4);
  }
}

TEST_CASE("a producer and a consumer split by different factors") {
  // 10 divides neither 32 nor 48, 32 does not divide 48.
  for (bool partition : {false, true}) {
    test::Chain t = test::chain(48);
    Schedule s(t.program);
    auto [ci] = s.loops<1>(s.block(t.c));
    s.split(ci, {_, 10});
    auto [i] = s.loops<1>(s.block(t.d));
    auto [io, ii] = s.split(i, {_, 32});
    s.compute_at(s.block(t.c), io);
    CHECK(disagreement(s) == "");
    lower::Options options;
    options.partition = partition;
    const auto inputs = interp::integer_inputs(s.original(), 3);
    const interp::Outcome run = interp::run(lower::lower(s.program(), test::avx2(), options), inputs);
    CHECK(run.report.text() == "");
    CHECK(interp::difference(run.outputs[0], interp::run(s.original(), inputs).outputs[0]).text == "");
  }
}

TEST_CASE("the tutorial schedule of a convolution") {
  for (auto [h, w, ci, co] :
       {std::array<std::int64_t, 4>{8, 12, 4, 16}, {5, 7, 3, 20}, {1, 1, 1, 1}, {4, 13, 5, 17}}) {
    INFO(h << " " << w << " " << ci << " " << co);
    test::Conv t = test::conv(h, w, ci, co);
    Schedule s(t.program);
    auto [i, y, z, o] = s.loops<4>(s.block(t.out));
    auto [zo, zi] = s.split(z, {_, 6});
    auto [oo, oi] = s.split(o, {_, 16});
    s.reorder({i, y, zo, oo, zi, oi});
    s.compute_at(s.block(t.conv), oo);
    s.compute_at(s.block(t.pad), y);
    s.vectorize(oi);
    std::vector<LoopRef> loops = s.loops(s.block(t.conv));
    // i y zo oo | i y z o ry rx rc
    REQUIRE(loops.size() == 11);
    s.reorder({loops[8], loops[9], loops[10], loops[6], loops[7]});
    s.vectorize(loops[7]);
    s.unroll(loops[6]);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("inlining puts the expression into every consumer") {
  test::Conv t = test::conv(4, 5, 3, 6);
  Schedule s(t.program);
  s.compute_inline(s.block(t.pad));
  CHECK(disagreement(s) == "");
  CHECK(s.program()->temps.size() == 1);
}

TEST_CASE("reverse inlining applies an epilogue where the producer stores") {
  test::Chain t = test::chain(9);
  Schedule s(t.program);
  s.reverse_compute_inline(s.block(t.d));
  CHECK(s.program()->temps.empty());
  CHECK(disagreement(s) == "");
}

TEST_CASE("cache_read stages the region that a tile needs") {
  test::MatMul t = test::matmul(9, 10, 11);
  Schedule s(t.program);
  BlockRef c = s.block(t.c);
  auto [i, j, k] = s.loops<3>(c);
  auto [io, ii] = s.split(i, {_, 4});
  auto [ko, ki] = s.split(k, {_, 4});
  s.reorder({io, ko, j, ii, ki});
  BlockRef a = s.cache_read(c, t.a, Scope::Global);
  s.compute_at(a, ko);
  BlockRef b = s.cache_read(c, t.b, Scope::Global);
  s.compute_at(b, ko);
  CHECK(disagreement(s) == "");
}

TEST_CASE("cache_read stages one of several accesses to a buffer") {
  const std::int64_t n = 9, k = 5;
  Tensor x = placeholder("X", {k + 2, n}, f32);
  Axis r = reduce_axis(k, "r");
  Tensor c =
      compute("C", {n, n}, [&](Var i, Var j) { return sum(x(r, i) * x(r, j) + x(r, i) * x(r + 2, j), {r}); });
  const Program p = program("several", {x}, {c});
  const std::vector<std::int64_t> rows{k, k, k}, columns{n, n, n};  // of X that each access reaches
  for (int access : {0, 1, 2}) {
    INFO(access);
    Schedule s(p);
    const BlockRef block = s.block(c), copy = s.cache_read(block, x, Scope::Global, access);
    CHECK(disagreement(s) == "");
    CHECK(s.get(block).reads.size() == 2);
    std::vector<LoopRef> loops = s.loops(copy);
    CHECK(s.extent(loops[0]) == rows[static_cast<std::size_t>(access)]);
    CHECK(s.extent(loops[1]) == columns[static_cast<std::size_t>(access)]);
    s.compute_at(copy, s.loops(block)[access == 0 ? 0 : 1]);
    CHECK(disagreement(s) == "");
    Schedule all(p);
    all.cache_read(all.block(c), x, Scope::Global);
    CHECK(all.get(all.block(c)).reads.size() == 1);
  }
}

TEST_CASE("an access that never happens, or in an inner block, is not staged") {
  Tensor x = placeholder("X", {4, 4}, f32);
  Schedule never(program("never", {x}, {compute("C", {4, 4}, [&](Var i, Var j) {
                           return x(i, j) + select(i < 0, x(j, i), make_const(f32, 0));
                         })}));
  CHECK_THROWS_WITH(never.cache_read(never.block("C"), 0, Scope::Local, 1),
                    Catch::Contains("never reads X["));
  CHECK(disagreement(never) == "");

  Schedule nested(program("nested", {x}, {compute("C", {4, 4}, [&](Var i, Var j) { return x(j, i); })}));
  const BlockRef outer = nested.blockize(nested.loops(nested.block("C"))[1]);
  CHECK_THROWS_WITH(nested.cache_read(outer, 0, Scope::Local, 0), Catch::Contains("blocks inside it"));
  CHECK(disagreement(nested) == "");
}

TEST_CASE("one access is staged with its guards, and inside of another") {
  const std::int64_t n = 7;
  Tensor x = placeholder("X", {n}, f32), at = placeholder("at", {n}, i32);
  Tensor y = compute("y", {n}, [&](Var i) {
    const Expr position =
        clamp(cast(index_type, at(clamp(cast(index_type, at(i)), make_index(0), make_index(n - 1)))),
              make_index(0), make_index(n - 1));
    return if_inside(x, {i - 2}, 1.f) + x(position);
  });
  const Program p = program("guarded", {x, at}, {y});
  for (const Tensor& t : {x, at}) {
    for (int access : {0, 1}) {
      INFO(t.name() << " " << access);
      Schedule s(p);
      s.cache_read(s.block(y), t, Scope::Global, access);
      CHECK(disagreement(s) == "");
      CHECK(s.get(s.block(y)).reads.size() == 3);
    }
  }
}

TEST_CASE("a forked schedule and its origin go separate ways") {
  test::Chain t = test::chain(12);
  Schedule s(t.program);
  auto [i] = s.loops<1>(s.block(t.d));
  Schedule other = s.fork();
  other.split(i, {_, 4});
  CHECK(s.extent(i) == 12);
  s.split(i, {_, 3});
  CHECK(disagreement(s) == "");
  CHECK(disagreement(other) == "");
}

TEST_CASE(
    "a gathered dimension of run-time extent is computed whole, not as far as the subscript's type reaches") {
  Var n = size("n");
  Tensor x = placeholder("x", {n, 4}, i32), at = placeholder("at", {5}, i32);
  Tensor b = compute("b", {n, 4}, [&](Var i, Var j) { return x(i, j) * 3; });
  Tensor y = compute("y", {5, 4}, [&](Var i, Var j) {
    return select(n > 0, b(clamp(cast(index_type, at(i)), 0, max(n, 1) - 1), j), 0);
  });
  Schedule s(program("p", {n, x, at}, {y}));
  const BlockRef B = s.block(b);
  s.compute_at(B, s.loops<2>(s.block(y))[0]);
  CHECK(s.get(s.loops(B)[1]).extent.same_as(n));
  for (std::int64_t rows : {0, 1, 7}) CHECK(disagreement(s, {rows}) == "");
}
