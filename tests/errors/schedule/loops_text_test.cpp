// Errors of primitives that split, join and mark loops.
#include "errors/schedule/fixture.h"

using namespace lathe;
using lathe::test::Bad;

TEST_CASE("split: factors that do not fit") {
  Bad p;
  Schedule& s = p.s;
  const auto l1 = s.loops<2>(p.E);
  const LoopRef i = l1[0];
  CHECK(p.refused([&] {
    s.split(i, {3, 3});
  }) == "split(loop \"i\", {3, 3}, Tail::Guard): the factors cover 9 iterations, the loop has 10\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  leave one factor open: {_, …}  [LTH-S010]");
  CHECK(p.refused([&] {
    s.split(i, {_, 0});
  }) == "split(loop \"i\", {_, 0}, Tail::Guard): factor 0 is not positive\n"
        "  at loops_text_test.cpp:LINE  [LTH-S010]");
  CHECK(p.refused([&] {
    s.split(i, {_, _});
  }) == "split(loop \"i\", {_, _}, Tail::Guard): more than one factor is to be inferred\n"
        "  at loops_text_test.cpp:LINE\n"
        "  leave at most one open  [LTH-S010]");
  CHECK(p.refused([&] {
    s.split(i, {_, -4});
  }) == "split(loop \"i\", {_, -4}, Tail::Guard): factor -4 is not positive\n"
        "  at loops_text_test.cpp:LINE  [LTH-S010]");
  CHECK(p.refused([&] { s.split(i, std::vector<SplitFactor>{}); }) ==
        "split(loop \"i\", {}, Tail::Guard): no factors were given\n"
        "  at loops_text_test.cpp:LINE\n"
        "  give at least one, e.g. {_, 8}  [LTH-S010]");
  CHECK(p.refused([&] {
    s.split(i, {_, std::int64_t{1} << 62, 8});
  }) == "split(loop \"i\", {_, 4611686018427387904, 8}, Tail::Guard): the product of the factors overflows "
        "64 bits\n"
        "  at loops_text_test.cpp:LINE  [LTH-S010]");
}

TEST_CASE("split: a loop that is marked already") {
  Bad p;
  Schedule& s = p.s;
  const auto l2 = s.loops<2>(p.E);
  const LoopRef i = l2[0], j = l2[1];
  s.vectorize(j);
  s.parallel(i);
  CHECK(p.refused([&] {
    s.split(j, {_, 4});
  }) == "split(loop \"j\", {_, 4}, Tail::Guard): loop \"j\" is already vectorized\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    for j    <-- here\n"
        "      block \"E\" reads D writes E\n"
        "  split first, then mark the part  [LTH-S011]");
  CHECK(p.refused([&] {
    s.split(i, {_, 4});
  }) == "split(loop \"i\", {_, 4}, Tail::Guard): loop \"i\" is already parallel\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  split first, then mark the part  [LTH-S011]");
}

TEST_CASE("split: padding that does not apply") {
  Bad p;
  Schedule& s = p.s;
  const auto l3 = s.loops<3>(p.C);
  const LoopRef i = l3[0], k = l3[2];
  const LoopRef out = s.loops<2>(p.E)[1];
  CHECK(p.refused([&] {
    s.split(out, {_, 8}, Tail::Pad);
  }) == "split(loop \"j\", {_, 8}, Tail::Pad): \"E\" is a parameter and cannot be enlarged\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"E\" reads D writes E    <-- here\n"
        "  put a cache_write between, or use Tail::Guard or Tail::Peel  [LTH-S013]");
  CHECK(p.refused([&] {
    s.split(k, {_, 8}, Tail::Pad);
  }) == "split(loop \"k\", {_, 8}, Tail::Pad): Tail::Pad needs a loop that is bound, unsplit, to a spatial "
        "variable of the block\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  on a reduce loop use pad_einsum  [LTH-S012]");
  CHECK(p.refused([&] {
    s.split(i, {_, 8}, Tail::Pad);
  }) == "split(loop \"i\", {_, 8}, Tail::Pad): Tail::Pad pads complete blocks\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  use pad_einsum, Tail::Guard or Tail::Peel  [LTH-S012]");
}

TEST_CASE("fuse: loops that are not nested alone") {
  Bad p;
  Schedule& s = p.s;
  const auto l4 = s.loops<3>(p.C);
  const LoopRef i = l4[0], j = l4[1], k = l4[2];
  const auto l5 = s.loops<2>(p.E);
  const LoopRef x = l5[0];
  CHECK(p.refused([&] { s.fuse({}); }) ==
        "fuse({}): no loops were given\n"
        "  at loops_text_test.cpp:LINE  [LTH-S014]");
  CHECK(p.refused([&] { s.fuse(i, k); }) ==
        "fuse({loop \"i\", loop \"k\"}): loop \"k\" is not the only statement in loop \"i\"\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- outer\n"
        "    for j\n"
        "      for k    <-- inner\n"
        "        block \"C\" reads A, B writes C\n"
        "  …\n"
        "  bring them together with reorder  [LTH-S014]");
  CHECK(p.refused([&] { s.fuse(j, i); }) ==
        "fuse({loop \"j\", loop \"i\"}): loop \"i\" is not the only statement in loop \"j\"\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- inner\n"
        "    for j    <-- outer\n"
        "      for k\n"
        "        block \"C\" reads A, B writes C\n"
        "  …\n"
        "  bring them together with reorder  [LTH-S014]");
  CHECK(p.refused([&] { s.fuse(i, x); }) ==
        "fuse({loop \"i\", loop \"i\"}): loop \"i\" is not the only statement in loop \"i\"\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- outer\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  for i    <-- inner\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  bring them together with reorder  [LTH-S014]");
  CHECK(p.refused([&] { s.fuse(i, i); }) ==
        "fuse({loop \"i\", loop \"i\"}): loop \"i\" is not the only statement in loop \"i\"\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- outer\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  bring them together with reorder  [LTH-S014]");
}

TEST_CASE("fuse: a loop that is marked already") {
  Bad p;
  Schedule& s = p.s;
  const auto l6 = s.loops<2>(p.E);
  const LoopRef i = l6[0], j = l6[1];
  s.unroll(j);
  CHECK(p.refused([&] { s.fuse(i, j); }) ==
        "fuse({loop \"i\", loop \"j\"}): loop \"j\" is already unrolled\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    for j    <-- here\n"
        "      block \"E\" reads D writes E\n"
        "  fuse first, then mark the fused loop  [LTH-S011]");
}

TEST_CASE("reorder: loops that are not of one nest") {
  Bad p;
  Schedule& s = p.s;
  const auto l7 = s.loops<3>(p.C);
  const LoopRef i = l7[0], j = l7[1];
  const auto l8 = s.loops<2>(p.E);
  const LoopRef x = l8[0];
  CHECK(p.refused([&] { s.reorder({}); }) ==
        "reorder({}): no loops were given\n"
        "  at loops_text_test.cpp:LINE  [LTH-S015]");
  CHECK(p.refused([&] {
    s.reorder({i, x});
  }) == "reorder({loop \"i\", loop \"i\"}): the loops do not lie inside one another\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  for i    <-- and here\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  reorder loops of one nest  [LTH-S015]");
  CHECK(p.refused([&] {
    s.reorder({j, i, j});
  }) == "reorder({loop \"j\", loop \"i\", loop \"j\"}): loop \"j\" is named twice\n"
        "  at loops_text_test.cpp:LINE  [LTH-S015]");
}

TEST_CASE("reorder: other statements between the loops") {
  Bad p;
  Schedule& s = p.s;
  const auto l9 = s.loops<2>(p.E);
  const LoopRef x = l9[0], y = l9[1];
  s.compute_at(p.D, x);
  CHECK(p.refused([&] {
    s.reorder({y, x});
  }) == "reorder({loop \"j\", loop \"i\"}): there are other statements between the loops\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    for vi    <-- in the way\n"
        "      for vj\n"
        "        block \"D\" reads C writes D\n"
        "    for j    <-- here\n"
        "      block \"E\" reads D writes E\n"
        "  move them away first, with compute_at for instance  [LTH-S015]");
}

TEST_CASE("parallel and vectorize: a loop that carries a reduction") {
  Bad p;
  Schedule& s = p.s;
  const auto l10 = s.loops<3>(p.C);
  const LoopRef k = l10[2];
  CHECK(p.refused([&] { s.parallel(k); }) ==
        "parallel(loop \"k\"): loop \"k\" carries the reduction of block \"C\": its iterations update the "
        "same elements\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    for k    <-- here\n"
        "      block \"C\" reads A, B writes C    <-- reduces over it\n"
        "  …\n"
        "  rfactor the reduction over this loop first: the partial results are independent  [LTH-S019]");
  CHECK(p.refused([&] { s.vectorize(k); }) ==
        "vectorize(loop \"k\"): loop \"k\" carries the reduction of block \"C\": its iterations update the "
        "same elements\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    for k    <-- here\n"
        "      block \"C\" reads A, B writes C    <-- reduces over it\n"
        "  …\n"
        "  rfactor the reduction over this loop first: the partial results are lanes  [LTH-S019]");
}

TEST_CASE("parallel and vectorize: nested loops of one kind") {
  Bad p;
  Schedule& s = p.s;
  const auto l11 = s.loops<2>(p.E);
  const LoopRef i = l11[0], j = l11[1];
  const auto l12 = s.loops<2>(p.D);
  const LoopRef i2 = l12[0], j2 = l12[1];
  s.parallel(i);
  s.vectorize(j2);
  CHECK(p.refused([&] { s.parallel(j); }) ==
        "parallel(loop \"j\"): it lies in loop \"i\", which is parallel\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- outer\n"
        "    for j    <-- here\n"
        "      block \"E\" reads D writes E\n"
        "  nested parallel loops have no meaning; fuse them first  [LTH-S018]");
  CHECK(p.refused([&] { s.vectorize(i2); }) ==
        "vectorize(loop \"i\"): it contains loop \"j\", which is vectorized\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j    <-- inner\n"
        "      block \"D\" reads C writes D\n"
        "  nested vectorized loops have no meaning; fuse them first  [LTH-S018]");
  CHECK(p.refused([&] { s.parallel(i); }) ==
        "parallel(loop \"i\"): loop \"i\" is already parallel\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E  [LTH-S011]");
  CHECK(p.refused([&] { s.vectorize(j2); }) ==
        "vectorize(loop \"j\"): loop \"j\" is already vectorized\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    for j    <-- here\n"
        "      block \"D\" reads C writes D  [LTH-S011]");
}

TEST_CASE("vectorize: a loop that contains a parallel one") {
  Bad p;
  Schedule& s = p.s;
  const auto l13 = s.loops<2>(p.E);
  const LoopRef i = l13[0], j = l13[1];
  s.parallel(j);
  CHECK(p.refused([&] { s.vectorize(i); }) ==
        "vectorize(loop \"i\"): it contains loop \"j\", which is parallel\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j    <-- inner\n"
        "      block \"E\" reads D writes E\n"
        "  vectorise an inner loop  [LTH-S018]");
}

TEST_CASE("bind: axes that cannot be there") {
  Bad p;
  Schedule& s = p.s;
  const auto l14 = s.loops<2>(p.E);
  const LoopRef i = l14[0], j = l14[1];
  const auto l15 = s.loops<3>(p.C);
  const LoopRef ck = l15[2];
  s.bind(i, ThreadAxis::ThreadX);
  CHECK(p.refused([&] { s.bind(j, ThreadAxis::ThreadX); }) ==
        "bind(loop \"j\", ThreadAxis::ThreadX): threadIdx.x is bound already, by loop \"i\" above\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j    <-- and here\n"
        "      block \"E\" reads D writes E  [LTH-S021]");
  CHECK(p.refused([&] { s.bind(j, ThreadAxis::BlockX); }) ==
        "bind(loop \"j\", ThreadAxis::BlockX): blockIdx.x would lie in threadIdx.x: blocks contain threads, "
        "not the other way round\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- outer\n"
        "    for j    <-- here\n"
        "      block \"E\" reads D writes E  [LTH-S021]");
  CHECK(p.refused([&] { s.bind(j, ThreadAxis::None); }) ==
        "bind(loop \"j\", ThreadAxis::None): ThreadAxis::None is no thread axis\n"
        "  at loops_text_test.cpp:LINE\n"
        "  bind to ThreadAxis::BlockX … ThreadZ or VThread  [LTH-S003]");
  CHECK(p.refused([&] { s.bind(ck, ThreadAxis::BlockX); }) ==
        "bind(loop \"k\", ThreadAxis::BlockX): loop \"k\" carries the reduction of block \"C\"; only "
        "threadIdx can share a reduction\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    for k    <-- here\n"
        "      block \"C\" reads A, B writes C    <-- reduces over it\n"
        "  …\n"
        "  rfactor the reduction over this loop first  [LTH-S019]");
}

TEST_CASE("annotate and partition") {
  Bad p;
  Schedule& s = p.s;
  const auto l16 = s.loops<2>(p.E);
  const LoopRef i = l16[0], j = l16[1];
  s.vectorize(j);
  CHECK(p.refused([&] { s.annotate(i, "", 1); }) ==
        "annotate(loop \"i\", \"\", 1): the key is empty\n"
        "  at loops_text_test.cpp:LINE  [LTH-S003]");
  CHECK(p.refused([&] { s.partition(j); }) ==
        "partition(loop \"j\"): loop \"j\" is vectorized and cannot be cut\n"
        "  at loops_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    for j    <-- here\n"
        "      block \"E\" reads D writes E\n"
        "  partition a serial loop round it  [LTH-S011]");
}

TEST_CASE("loops of run-time extent") {
  Bad p;
  Schedule& s = p.s;
  Var n = size("n");
  Tensor x = placeholder("x", {n}, f32);
  Tensor y = compute("y", {n}, [&](Var i) { return x(i); });
  s = Schedule(program("q", {n, x}, {y}));
  const LoopRef i = s.loops<1>(s.block(y))[0];
  CHECK(p.refused([&] { s.vectorize(i); }) ==
        "vectorize(loop \"i\"): the extent n is known at run time only\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    block \"y\" reads x writes y\n"
        "  split the loop by a constant and take the inner part  [LTH-S017]");
  CHECK(p.refused([&] { s.unroll(i); }) ==
        "unroll(loop \"i\"): the extent n is known at run time only\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    block \"y\" reads x writes y\n"
        "  split the loop by a constant and take the inner part  [LTH-S017]");
  CHECK(p.refused([&] {
    s.split(i, {4, 4});
  }) == "split(loop \"i\", {4, 4}, Tail::Guard): the extent n is known at run time only, so constant factors "
        "cannot cover it\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    block \"y\" reads x writes y\n"
        "  leave one factor open: {_, …}  [LTH-S010]");
  CHECK(p.refused([&] { s.bind(i, ThreadAxis::ThreadX); }) ==
        "bind(loop \"i\", ThreadAxis::ThreadX): the extent n is known at run time only\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    block \"y\" reads x writes y\n"
        "  split the loop by a constant and take the inner part  [LTH-S017]");
  CHECK(p.refused([&] { s.sample_perfect_tile(i, 2); }) ==
        "sample_perfect_tile(loop \"i\", 2, 64): the extent n is known at run time only\n"
        "  at loops_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    block \"y\" reads x writes y\n"
        "  choose constant tiles with sample_choice and split with {_, tile}  [LTH-S017]");
}
