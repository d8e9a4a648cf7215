// Errors of primitives that take reductions apart.
#include "errors/schedule/fixture.h"

using namespace lathe;
using lathe::test::Bad;

TEST_CASE("rfactor: what is no reduction, or not its loop") {
  Bad p;
  Schedule& s = p.s;
  const auto l1 = s.loops<3>(p.C);
  const LoopRef i = l1[0], k = l1[2];
  const auto l2 = s.loops<2>(p.D);
  const LoopRef x = l2[0];
  CHECK(p.refused([&] { s.rfactor(p.D, x); }) ==
        "rfactor(block \"D\", loop \"i\", 0): block \"D\" is no reduction: it has no reducer\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here  [LTH-S060]");
  CHECK(p.refused([&] { s.rfactor(p.C, i); }) ==
        "rfactor(block \"C\", loop \"i\", 0): block \"C\" does not reduce over loop \"i\"\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C    <-- block\n"
        "  …  [LTH-S061]");
  CHECK(p.refused([&] { s.rfactor(p.C, x); }) ==
        "rfactor(block \"C\", loop \"i\", 0): block \"C\" does not reduce over loop \"i\"\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- block\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"D\" reads C writes D\n"
        "  …  [LTH-S061]");
  CHECK(p.refused([&] { s.rfactor(p.C, k, 3); }) ==
        "rfactor(block \"C\", loop \"k\", 3): axis 3 is not in 0..2\n"
        "  at reductions_text_test.cpp:LINE  [LTH-S061]");
  CHECK(p.refused([&] { s.rfactor(p.C, k, -1); }) ==
        "rfactor(block \"C\", loop \"k\", -1): axis -1 is not in 0..2\n"
        "  at reductions_text_test.cpp:LINE  [LTH-S061]");
}

TEST_CASE("rfactor: a reducer that is not associative and commutative") {
  Bad p;
  Schedule& s = p.s;
  Reducer minus = reducer(
      "minus", f32, [](Expr a, Expr b) { return a - b; }, Expr(0.f));
  Tensor t = compute("t", {10}, [&](Var i) { return reduce(minus, {p.a(i, p.r)}, {p.r}); });
  s = Schedule(program("q", {p.a}, {t}));
  const BlockRef T = s.block(t);
  const auto l3 = s.loops<2>(T);
  const LoopRef k = l3[1];
  const auto l4 = s.split(k, {_, 5});
  const LoopRef ko = l4[0], ki = l4[1];
  CHECK(
      p.refused([&] { s.rfactor(T, ki); }) ==
      "rfactor(block \"t\", loop \"k_1\", 0): reducer \"minus\" is not declared associative and commutative\n"
      "  at reductions_text_test.cpp:LINE\n"
      "  for i, k_0, k_1\n"
      "    block \"t\" reads A writes t    <-- here\n"
      "  declare the properties where the reducer is made, if they hold  [LTH-S016]");
  CHECK(p.refused([&] {
    s.reorder({ki, ko});
  }) == "reorder({loop \"k_1\", loop \"k_0\"}): reducer \"minus\" of block \"t\" is not declared associative "
        "and commutative, so its reduce loops keep their order\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, k_0, k_1\n"
        "    block \"t\" reads A writes t    <-- here\n"
        "  declare the properties where the reducer is made, if they hold  [LTH-S016]");
}

TEST_CASE("rfactor: a loop fused with a spatial one") {
  Bad p;
  Schedule& s = p.s;
  const auto l5 = s.loops<3>(p.C);
  const LoopRef j = l5[1], k = l5[2];
  const LoopRef jk = s.fuse(j, k);
  CHECK(p.refused([&] { s.rfactor(p.C, jk); }) ==
        "rfactor(block \"C\", loop \"j_k\", 0): a loop of the reduction is fused with a spatial one\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, j_k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  rfactor before fusing them  [LTH-S061]");
}

TEST_CASE("decompose_reduction: places that do not work") {
  Bad p;
  Schedule& s = p.s;
  const auto l6 = s.loops<3>(p.C);
  const LoopRef k = l6[2];
  const auto l7 = s.split(k, {_, 5});
  const LoopRef ki = l7[1];
  const auto l8 = s.loops<2>(p.D);
  const LoopRef x = l8[0];
  CHECK(p.refused([&] { s.decompose_reduction(p.D, x); }) ==
        "decompose_reduction(block \"D\", loop \"i\"): block \"D\" is no reduction: it has no reducer\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here  [LTH-S060]");
  CHECK(p.refused([&] { s.decompose_reduction(p.C, ki); }) ==
        "decompose_reduction(block \"C\", loop \"k_1\"): loop \"k_0\" outside it reduces too, so the init "
        "would run again on each of its iterations\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, j, k_0\n"
        "    for k_1    <-- here\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  choose the outermost reduce loop, or one outside it  [LTH-S062]");
  CHECK(p.refused([&] { s.decompose_reduction(p.C, x); }) ==
        "decompose_reduction(block \"C\", loop \"i\"): loop \"i\" does not enclose block \"C\"\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, j, k_0, k_1\n"
        "    block \"C\" reads A, B writes C    <-- block\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"D\" reads C writes D\n"
        "  …  [LTH-S045]");
}

TEST_CASE("decompose_reduction: twice") {
  Bad p;
  Schedule& s = p.s;
  const auto l9 = s.loops<3>(p.C);
  const LoopRef k = l9[2];
  s.decompose_reduction(p.C, k);
  CHECK(p.refused([&] { s.decompose_reduction(p.C, k); }) ==
        "decompose_reduction(block \"C\", loop \"k\"): the reduction \"C\" was decomposed already\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    …\n"
        "    for k\n"
        "      block \"C\" reads A, B writes C    <-- here\n"
        "  …  [LTH-S041]");
  CHECK(p.refused([&] { s.rfactor(p.C, k); }) ==
        "rfactor(block \"C\", loop \"k\", 0): the reduction \"C\" was decomposed already\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    …\n"
        "    for k\n"
        "      block \"C\" reads A, B writes C    <-- here\n"
        "  …  [LTH-S041]");
}

TEST_CASE("decompose_reduction and fuse: a loop that repeats the reduction") {
  Bad p;
  Schedule& s = p.s;
  Axis q = reduce_axis(30, "q");
  Tensor total = compute("total", {10}, [&](Var i) { return sum(p.a(i, q), {q}); });
  Tensor out = compute("out", {10, 20}, [&](Var i, Var) { return total(i); });
  s = Schedule(program("q", {p.a}, {out}));
  const BlockRef T = s.block(total);
  const LoopRef j = s.loops<2>(s.block(out))[1];
  s.compute_at(T, j);
  CHECK(p.refused([&] { s.decompose_reduction(T, j); }) ==
        "decompose_reduction(block \"total\", loop \"j\"): loop \"j\" repeats block \"total\", which would "
        "add to the same sums again\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i\n"
        "    for j    <-- here\n"
        "      for vi, vq\n"
        "        block \"total\" reads A writes total    <-- block\n"
        "      …\n"
        "  choose a loop inside it  [LTH-S062]");
  const LoopRef top = s.loops(T)[0];
  CHECK(p.refused([&] { s.cache_write(T, Scope::Local, top); }) ==
        "cache_write(block \"total\", Scope::Local, loop \"i\"): loop \"j\" repeats block \"total\", which "
        "would add to the same sums again\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      for vi, vq\n"
        "        block \"total\" reads A writes total    <-- block\n"
        "      …\n"
        "  choose a loop inside it  [LTH-S045]");
}

TEST_CASE("fuse: a reduce loop that may be empty") {
  Bad p;
  Schedule& s = p.s;
  Axis none = reduce_axis(0, "none");
  Tensor t = compute("t", {4}, [&](Var i) { return sum(p.a(i, none), {none}); });
  s = Schedule(program("q", {p.a}, {t}));
  const BlockRef T = s.block(t);
  const auto at = s.loops<2>(T);
  CHECK(p.refused([&] { s.fuse(at[0], at[1]); }) ==
        "fuse({loop \"i\", loop \"none\"}): loop \"none\", over which block \"t\" reduces, may be empty; "
        "fused with it, the other loops would not run, nor would the init\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i\n"
        "    for none    <-- may be empty\n"
        "      block \"t\" reads A writes t\n"
        "  fuse spatial loops with one another, reduce loops with one another  [LTH-S014]");
}

TEST_CASE("cache_write at a loop that is fused of spatial and reduce loops") {
  Bad p;
  Schedule& s = p.s;
  const auto at = s.loops<3>(p.C);
  const LoopRef jk = s.fuse(at[1], at[2]);
  CHECK(p.refused([&] { s.cache_write(p.C, Scope::Local, jk); }) ==
        "cache_write(block \"C\", Scope::Local, loop \"j_k\"): loop \"j_k\", over which block \"C\" reduces, "
        "is fused with a spatial one, so the passes over an element are not its iterations\n"
        "  at reductions_text_test.cpp:LINE\n"
        "  for i\n"
        "    for j_k    <-- here\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  choose a loop outside it, or do not fuse them  [LTH-S045]");
}
