// Errors of primitives that move, inline and stage blocks.
#include "errors/schedule/fixture.h"

using namespace lathe;
using lathe::test::Bad;

TEST_CASE("compute_at: a loop that does not enclose every consumer") {
  Bad p;
  Schedule& s = p.s;
  const auto l1 = s.loops<2>(p.E);
  const LoopRef i = l1[0];
  const auto l2 = s.split(i, {_, 4});
  const LoopRef io = l2[0];
  const auto l3 = s.loops<3>(p.C);
  const LoopRef ci = l3[0];
  CHECK(p.refused([&] { s.compute_at(p.C, io); }) ==
        "compute_at(block \"C\", loop \"i_0\"): loop \"i_0\" does not enclose every consumer of \"C\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- not enclosed\n"
        "  for i_0    <-- here\n"
        "    for i_1, j\n"
        "      block \"E\" reads D writes E\n"
        "  legal loops for \"C\": i, j of \"D\"  [LTH-S045]");
  CHECK(p.refused([&] { s.compute_at(p.D, ci); }) ==
        "compute_at(block \"D\", loop \"i\"): loop \"i\" does not enclose every consumer of \"D\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  for i_0, i_1, j\n"
        "    block \"E\" reads D writes E    <-- not enclosed\n"
        "  legal loops for \"D\": i_0, i_1, j of \"E\"  [LTH-S045]");
  CHECK(p.refused([&] { s.compute_at(p.C, ci); }) ==
        "compute_at(block \"C\", loop \"i\"): loop \"i\" does not enclose every consumer of \"C\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- not enclosed\n"
        "  …\n"
        "  legal loops for \"C\": i, j of \"D\"  [LTH-S045]");
}

TEST_CASE("compute_at: an output, or nobody to compute for") {
  Bad p;
  Schedule& s = p.s;
  const auto l4 = s.loops<2>(p.D);
  const LoopRef i = l4[0];
  CHECK(p.refused([&] { s.compute_at(p.E, i); }) ==
        "compute_at(block \"E\", loop \"i\"): \"E\" is a parameter of the program, all of which must be "
        "computed\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"E\" reads D writes E    <-- writes it\n"
        "  no loop is legal for \"E\"  [LTH-S043]");
}

TEST_CASE("compute_at: a decomposed reduction") {
  Bad p;
  Schedule& s = p.s;
  const auto l5 = s.loops<3>(p.C);
  const LoopRef k = l5[2];
  s.decompose_reduction(p.C, k);
  const LoopRef at = s.loops<2>(p.D)[0];
  CHECK(p.refused([&] { s.compute_at(p.C, at); }) ==
        "compute_at(block \"C\", loop \"i\"): the reduction \"C\" was decomposed, its two parts cannot be "
        "moved apart\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    …\n"
        "    for k\n"
        "      block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  move it before decompose_reduction or cache_write  [LTH-S041]");
}

TEST_CASE("reverse_compute_at: places that do not work") {
  Bad p;
  Schedule& s = p.s;
  const auto l6 = s.loops<3>(p.C);
  const LoopRef i = l6[0], k = l6[2];
  const auto l7 = s.loops<2>(p.E);
  const LoopRef x = l7[0];
  CHECK(p.refused([&] { s.reverse_compute_at(p.D, k); }) ==
        "reverse_compute_at(block \"D\", loop \"k\"): the reduction of block \"C\" is not finished inside "
        "loop \"k\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    for k    <-- here\n"
        "      block \"C\" reads A, B writes C    <-- still reduces\n"
        "  …\n"
        "  legal loops for \"D\": i, j of \"C\"  [LTH-S047]");
  CHECK(p.refused([&] { s.reverse_compute_at(p.D, x); }) ==
        "reverse_compute_at(block \"D\", loop \"i\"): loop \"i\" encloses no producer of \"D\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  legal loops for \"D\": i, j of \"C\"  [LTH-S044]");
  CHECK(p.refused([&] { s.reverse_compute_at(p.E, i); }) ==
        "reverse_compute_at(block \"E\", loop \"i\"): loop \"i\" encloses no producer of \"E\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j, k\n"
        "      block \"C\" reads A, B writes C\n"
        "  …\n"
        "  legal loops for \"E\": i, j of \"D\"  [LTH-S044]");
  CHECK(p.refused([&] { s.reverse_compute_at(p.C, x); }) ==
        "reverse_compute_at(block \"C\", loop \"i\"): loop \"i\" encloses no producer of \"C\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"E\" reads D writes E\n"
        "  no loop is legal for \"C\"  [LTH-S044]");
  const LoopRef own = s.loops<2>(p.D)[0];
  CHECK(p.refused([&] { s.reverse_compute_at(p.D, own); }) ==
        "reverse_compute_at(block \"D\", loop \"i\"): loop \"i\" encloses no producer of \"D\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"D\" reads C writes D\n"
        "  legal loops for \"D\": i, j of \"C\"  [LTH-S044]");
}

TEST_CASE("reverse_compute_at: iterations that would be lost") {
  Bad p;
  Schedule& s = p.s;
  const auto l8 = s.loops<3>(p.C);
  const LoopRef i = l8[0];
  s.split(i, {_, 4});
  Tensor x = placeholder("x", {12}, f32);
  Tensor y = compute("y", {12}, [&](Var i) { return x(i); });
  Tensor z = compute("z", {10}, [&](Var i) { return y(i) + y(i + 2); });
  Tensor w = compute("w", {6}, [&](Var i) { return y(i * 2); });
  s = Schedule(program("q", {x}, {z, w}));
  const BlockRef Z = s.block(z), W = s.block(w);
  const LoopRef at = s.split(s.loops<1>(s.block(y))[0], {_, 4})[0];
  CHECK(p.refused([&] { s.reverse_compute_at(Z, at); }) ==
        "reverse_compute_at(block \"z\", loop \"i_0\"): which iterations of \"z\" need a given region of "
        "\"y\" cannot be told from its subscripts\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    block \"z\" reads y writes z    <-- reads it\n"
        "  no loop is legal for \"z\"  [LTH-S046]");
  CHECK(p.refused([&] { s.reverse_compute_at(W, at); }) ==
        "reverse_compute_at(block \"w\", loop \"i_0\"): which iterations of \"w\" need a given region of "
        "\"y\" cannot be told from its subscripts\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    block \"w\" reads y writes w    <-- reads it\n"
        "  no loop is legal for \"w\"  [LTH-S046]");
}

TEST_CASE("compute_inline: what cannot be repeated") {
  Bad p;
  Schedule& s = p.s;
  CHECK(p.refused([&] { s.compute_inline(p.C); }) ==
        "compute_inline(block \"C\"): block \"C\" is not complete: it has the reduce variable \"vk\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  a reduction cannot be repeated at each use; place it with compute_at  [LTH-S050]");
  CHECK(p.refused([&] { s.compute_inline(p.E); }) ==
        "compute_inline(block \"E\"): \"E\" is a parameter of the program, all of which must be computed\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"E\" reads D writes E    <-- writes it  [LTH-S043]");
}

TEST_CASE("compute_inline: no elementwise definition") {
  Bad p;
  Schedule& s = p.s;
  Tensor x = placeholder("x", {8}, f32);
  auto [y, z] = compute("y", {8}, [&](Var i) { return std::pair(x(i) + 1.f, x(i) * 2.f); });
  Tensor w = compute("w", {8}, [&, y = y, z = z](Var i) { return y(i) + z(i); });
  s = Schedule(program("q", {x}, {w}));
  const BlockRef Y = s.block(y);
  CHECK(p.refused([&] { s.compute_inline(Y); }) ==
        "compute_inline(block \"y\"): block \"y\" is not a single store whose subscripts are distinct "
        "variables\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i\n"
        "    block \"y\" reads x writes y_0, y_1    <-- here\n"
        "  …\n"
        "  place it with compute_at  [LTH-S051]");
  CHECK(p.refused([&] { s.cache_write(Y, Scope::Local); }) ==
        "cache_write(block \"y\", Scope::Local): block \"y\" writes 2 buffers; one can be staged\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i\n"
        "    block \"y\" reads x writes y_0, y_1    <-- here\n"
        "  …  [LTH-S054]");
}

TEST_CASE("reverse_compute_inline: no producer to inline into") {
  Bad p;
  Schedule& s = p.s;
  Tensor x = placeholder("x", {8}, f32);
  Tensor y = compute("y", {8}, [&](Var i) { return x(i) + 1.f; });
  Tensor z = compute("z", {8}, [&](Var i) { return y(7 - i); });
  Schedule t(program("q", {x}, {z}));
  const BlockRef Z = t.block(z);
  CHECK(
      p.refused([&] { s.reverse_compute_inline(p.C); }) ==
      "reverse_compute_inline(block \"C\"): block \"C\" is not complete: it has the reduce variable \"vk\"\n"
      "  at placement_text_test.cpp:LINE\n"
      "  for i, j, k\n"
      "    block \"C\" reads A, B writes C    <-- here\n"
      "  …  [LTH-S050]");
  CHECK(p.refused([&] { s.reverse_compute_inline(p.D); }) ==
        "reverse_compute_inline(block \"D\"): no complete block with a single store makes an intermediate "
        "that \"D\" alone reads\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here\n"
        "  place it under its producer with reverse_compute_at  [LTH-S052]");
  CHECK(p.refused([&] { t.reverse_compute_inline(Z); }) ==
        "reverse_compute_inline(block \"z\"): block \"z\" does not read \"y\" element by element\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i\n"
        "    block \"z\" reads y writes z    <-- here\n"
        "  place it under its producer with reverse_compute_at  [LTH-S053]");
}

TEST_CASE("cache_read and cache_write: what cannot be staged") {
  Bad p;
  Schedule& s = p.s;
  const LoopRef x = s.loops<2>(p.D)[0];
  CHECK(p.refused([&] { s.cache_read(p.C, 2, Scope::Local); }) ==
        "cache_read(block \"C\", 2, Scope::Local): block \"C\" reads 2 buffers, there is no read 2\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  choose one of the block's reads: 0: A, 1: B  [LTH-S008]");
  CHECK(p.refused([&] { s.cache_read(p.C, -1, Scope::Local); }) ==
        "cache_read(block \"C\", -1, Scope::Local): block \"C\" reads 2 buffers, there is no read -1\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- here\n"
        "  …\n"
        "  choose one of the block's reads: 0: A, 1: B  [LTH-S008]");
  CHECK(
      p.refused([&] { s.cache_read(p.C, 0, Scope::Local, 1); }) ==
      "cache_read(block \"C\", 0, Scope::Local, 1): block \"C\" reads \"A\" in 1 way, there is no access 1\n"
      "  at placement_text_test.cpp:LINE\n"
      "  for i, j, k\n"
      "    block \"C\" reads A, B writes C    <-- here\n"
      "  …\n"
      "  choose one of its accesses: 0: A[vi, vk]  [LTH-S008]");
  CHECK(p.refused([&] { s.cache_read(p.D, p.a, Scope::Local); }) ==
        "cache_read(block \"D\", tensor \"A\"): block \"D\" does not read \"A\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  choose one of the block's reads: 0: C  [LTH-S008]");
  CHECK(p.refused([&] { s.cache_write(p.D, Scope::Local, x); }) ==
        "cache_write(block \"D\", Scope::Local, loop \"i\"): block \"D\" is no reduction with its init, so "
        "there is nothing to accumulate\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here\n"
        "  use cache_write without a loop  [LTH-S055]");
  CHECK(p.refused([&] { s.cache_write(p.C, Scope::Local, x); }) ==
        "cache_write(block \"C\", Scope::Local, loop \"i\"): loop \"i\" does not enclose block \"C\"\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    block \"C\" reads A, B writes C    <-- block\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      block \"D\" reads C writes D\n"
        "  …  [LTH-S045]");
}

TEST_CASE("cache_write at a loop: reduce loops that may run not once") {
  Bad p;
  Schedule& s = p.s;
  Axis none = reduce_axis(0, "none");
  Tensor t = compute("t", {4}, [&](Var i) { return sum(p.a(i, none), {none}); });
  s = Schedule(program("q", {p.a}, {t}));
  const auto l10 = s.loops<2>(s.block(t));
  const LoopRef k = l10[1];
  const BlockRef T = s.block(t);
  CHECK(p.refused([&] { s.cache_write(T, Scope::Local, k); }) ==
        "cache_write(block \"t\", Scope::Local, loop \"none\"): the reduce loops at and above \"none\" may "
        "run not once, and then nothing would store the init\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i\n"
        "    for none    <-- here\n"
        "      block \"t\" reads A writes t\n"
        "  choose a loop outside the reduction, or use cache_write without a loop  [LTH-S055]");
}

TEST_CASE("set_scope: a parameter") {
  Bad p;
  Schedule& s = p.s;
  CHECK(
      p.refused([&] { s.set_scope(p.E, Scope::Local); }) ==
      "set_scope(block \"E\", Scope::Local): \"E\" is a parameter of the program and stays in global memory\n"
      "  at placement_text_test.cpp:LINE\n"
      "  …\n"
      "  for i, j\n"
      "    block \"E\" reads D writes E    <-- writes it\n"
      "  put a cache_write between  [LTH-S043]");
}

TEST_CASE("transform_layout: maps that do not fit") {
  Bad p;
  Schedule& s = p.s;
  Var i("i"), j("j");
  CHECK(p.refused([&] {
    s.transform_layout(p.E, -1, IndexMap{{i, j}, {j, i}});
  }) == "transform_layout(block \"E\", -1, {i, j} to {j, i}): \"E\" is a parameter of the program, whose "
        "layout "
        "its callers know\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"E\" reads D writes E    <-- here\n"
        "  cache_read it (or cache_write) and lay out the copy  [LTH-S043]");
  CHECK(p.refused([&] {
    s.transform_layout(p.D, 3, IndexMap{{i, j}, {j, i}});
  }) == "transform_layout(block \"D\", 3, {i, j} to {j, i}): block \"D\" has no such buffer\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here\n"
        "  choose one of the block's reads: 0: C; -1: what it writes  [LTH-S008]");
  CHECK(p.refused([&] {
    s.transform_layout(p.D, -1, IndexMap{{i}, {i}});
  }) == "transform_layout(block \"D\", -1, {i} to {i}): the map takes 1 indices, \"D\" has 2\n"
        "  at placement_text_test.cpp:LINE  [LTH-S063]");
  CHECK(
      p.refused([&] {
        s.transform_layout(p.D, -1, IndexMap{{i, j}, {j}});
      }) ==
      "transform_layout(block \"D\", -1, {i, j} to {j}): different elements of \"D\" may get the same place\n"
      "  at placement_text_test.cpp:LINE\n"
      "  …\n"
      "  for i, j\n"
      "    block \"D\" reads C writes D    <-- here\n"
      "  use every index, split by floordiv and floormod of the same constant  [LTH-S063]");
  CHECK(p.refused([&] {
    s.transform_layout(p.D, -1, IndexMap{{i, j}, {i - 5, j}});
  }) == "transform_layout(block \"D\", -1, {i, j} to {i - 5, j}): the new index i - 5 has no constant bounds "
        "from 0 "
        "up\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here\n"
        "  use floordiv and floormod by constants  [LTH-S063]");
  CHECK(p.refused([&] {
    s.transform_layout(p.D, -1, IndexMap{{i, j}, {floordiv(i, 4), floormod(i, 3), j}});
  }) == "transform_layout(block \"D\", -1, {i, j} to {i/4, i%3, j}): different elements of \"D\" may get the "
        "same place\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- here\n"
        "  use every index, split by floordiv and floormod of the same constant  [LTH-S063]");
}

TEST_CASE("compute_at: the producer of what the block reads runs later") {
  Bad p;
  Schedule& s = p.s;
  const auto at = s.loops<3>(p.C);
  const BlockRef first = s.cache_read(p.C, p.a, Scope::Local);
  s.compute_at(first, at[1]);
  const BlockRef second = s.cache_read(p.C, 0, Scope::Global);
  CHECK(p.refused([&] { s.compute_at(second, at[0]); }) ==
        "compute_at(block \"A_local_global\", loop \"i\"): \"A_local_global\" would run before block "
        "\"A_local\", which makes what it reads\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i    <-- here\n"
        "    for j\n"
        "      for v0, v1\n"
        "        block \"A_local\" reads A writes A_local    <-- runs later\n"
        "      …\n"
        "  …\n"
        "  legal loops for \"A_local_global\": j of \"A_local\"; k of \"C\"  [LTH-S042]");
}

TEST_CASE("compute_inline and cache_read: the parts of a decomposed reduction") {
  Bad p;
  Schedule& s = p.s;
  const auto at = s.loops<3>(p.C);
  const BlockRef init = s.decompose_reduction(p.C, at[2]);
  CHECK(p.refused([&] { s.compute_inline(init); }) ==
        "compute_inline(block \"C_init\"): block \"C_init\" is a part of a decomposed reduction\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j\n"
        "    block \"C_init\" writes C    <-- here\n"
        "    …\n"
        "  …\n"
        "  inline before decompose_reduction or cache_write at a loop  [LTH-S041]");
  Bad q;
  const auto loops = q.s.loops<3>(q.C);
  const BlockRef store = q.s.cache_write(q.C, Scope::Local, loops[2]);
  CHECK(q.refused([&] { q.s.cache_read(store, 0, Scope::Local); }) ==
        "cache_read(block \"C_store\", 0, Scope::Local): \"C_local\" holds the sums that the parts of a "
        "reduction hand to one another\n"
        "  at placement_text_test.cpp:LINE\n"
        "  for i, j, k\n"
        "    for v0, v1\n"
        "      block \"C_load\" reads C writes C_local    <-- writes it\n"
        "    …\n"
        "    for v0, v1\n"
        "      block \"C_store\" reads C_local writes C    <-- reads it\n"
        "  …\n"
        "  stage the operands of the reduction instead  [LTH-S041]");
}

TEST_CASE("cache_read: a layout with padding that nothing writes") {
  Bad p;
  Schedule& s = p.s;
  Var i("i"), j("j");
  s.transform_layout(p.D, -1, IndexMap{{i, j}, {floordiv(i, 4), j, floormod(i, 4)}});
  CHECK(p.refused([&] { s.cache_read(p.E, 0, Scope::Local); }) ==
        "cache_read(block \"E\", 0, Scope::Local): the layout of \"D\" has elements that nothing writes, and "
        "a copy would read them\n"
        "  at placement_text_test.cpp:LINE\n"
        "  …\n"
        "  for i, j\n"
        "    block \"D\" reads C writes D    <-- writes it\n"
        "  stage it before transform_layout, or choose a layout without padding  [LTH-S046]");
}

TEST_CASE("buffers that no address reaches are refused by the step that would make them") {
  Bad p;
  Schedule& s = p.s;
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  const LoopRef i = s.loops(p.D)[0];
  CHECK(p.refused([&] {
    s.split(i, {_, huge}, Tail::Pad);
  }) == "split(loop \"i\", {_, 2305843009213693952}, Tail::Pad): \"D\" would have 2^63 bytes or more\n"
        "  at placement_text_test.cpp:LINE\n"
        "  use smaller factors  [LTH-S078]");
  const LoopRef inner = s.split(s.loops(p.C)[2], {_, huge})[1];
  CHECK(p.refused([&] { s.rfactor(p.C, inner); }) ==
        "rfactor(block \"C\", loop \"k_1\", 0): \"C_rf\" would have 2^63 bytes or more\n"
        "  at placement_text_test.cpp:LINE\n"
        "  use smaller factors  [LTH-S078]");
  CHECK(p.refused([&] {
    s.pad_einsum(p.D, {huge, 1});
  }) == "pad_einsum(block \"D\", {2305843009213693952, 1}): \"D\" would have 2^63 bytes or more\n"
        "  at placement_text_test.cpp:LINE\n"
        "  use smaller factors  [LTH-S078]");
}
