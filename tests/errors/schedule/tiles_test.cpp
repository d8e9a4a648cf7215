// Texts of the refusals of prefetch, blockize and tensorize.
#include "behaviour/schedule/programs.h"
#include "lathe/target.h"
#include "lathe/tensor_intrinsic.h"
#include "support/error_text.h"

using namespace lathe;
using test::error_text;

TEST_CASE("prefetch says why a loop or buffer does not suit") {
  test::MatMul t = test::matmul(4, 4096, 8);
  Schedule s(t.program);
  const BlockRef c = s.block(t.c);
  const std::vector<LoopRef> loops = s.loops(c);
  CHECK(error_text([&] { s.prefetch(c, 2, loops[2]); }) ==
        R"(prefetch(block "C", 2, loop "k", 1): block "C" reads 2 buffers, there is no read 2
  at tiles_test.cpp:LINE
  for i, j, k
    block "C" reads A, B writes C    <-- here
  choose one of the block's reads: 0: A, 1: B  [LTH-S008])");
  CHECK(error_text([&] { s.prefetch(c, t.b, loops[2], 0); }) ==
        R"(prefetch(block "C", 1, loop "k", 0): the distance is 0 iterations
  at tiles_test.cpp:LINE
  for i, j
    for k    <-- here
      block "C" reads A, B writes C
  give the number of iterations ahead, 1 or more  [LTH-S066])");
  CHECK(
      error_text([&] { s.prefetch(c, t.b, loops[0]); }) ==
      R"(prefetch(block "C", 1, loop "i", 1): an iteration of loop "i" reads 2048 cache lines of "B", at most 64 can be on their way
  at tiles_test.cpp:LINE
  for i    <-- here
    for j, k
      block "C" reads A, B writes C
  choose a loop further in  [LTH-S066])");
}

TEST_CASE("prefetch says which loop the block or its buffer is outside of") {
  test::Chain t = test::chain(64);
  Schedule s(t.program);
  const BlockRef d = s.block(t.d);
  const LoopRef loop = s.loops(d)[0], other = s.loops(s.block(t.c))[0];
  CHECK(error_text([&] { s.prefetch(d, t.c, other); }) ==
        R"(prefetch(block "D", 0, loop "i", 1): loop "i" does not enclose block "D"
  at tiles_test.cpp:LINE
  for i    <-- the loop
    block "C" reads A writes C
  for i
    block "D" reads C writes D    <-- the block
  choose a loop round the block  [LTH-S066])");
  s.compute_at(s.block(t.c), loop);
  CHECK(
      error_text([&] { s.prefetch(d, t.c, loop); }) ==
      R"(prefetch(block "D", 0, loop "i", 1): each iteration of loop "i" has a "C" of its own, which it makes itself
  at tiles_test.cpp:LINE
  for i    <-- here
    …
  prefetch what that is made from  [LTH-S066])");
}

TEST_CASE("blockize says what does not divide") {
  test::MatMul t = test::matmul(4, 5, 6);
  Schedule s(t.program);
  const BlockRef c = s.block(t.c);
  const LoopRef inner = s.split(s.loops(c)[1], {_, 2})[1];
  CHECK(
      error_text([&] { s.blockize(inner); }) ==
      R"(blockize(loop "j_1"): the last tile of block "C" below loop "j_1" is not whole: "vj" has 5 values, no multiple of 2
  at tiles_test.cpp:LINE
  for i, j_0
    for j_1    <-- here
      for k
        block "C" reads A, B writes C    <-- runs only where j_0*2 + j_1 < 5
  split by factors that divide, or pad: split an intermediate with Tail::Pad (cache_read and cache_write make intermediates of parameters), or pad_einsum  [LTH-S068])");
  test::MatMul fused = test::matmul(4, 6, 6);
  Schedule f(fused.program);
  const BlockRef block = f.block(fused.c);
  const auto l = f.loops<3>(block);
  const LoopRef part = f.split(f.fuse(l[0], l[1]), {_, 4})[1];
  CHECK(
      error_text([&] { f.blockize(part); }) ==
      R"(blockize(loop "i_j_1"): the bindings of block "C" do not divide into a part outside loop "i_j_1" and one inside
  at tiles_test.cpp:LINE
  for i_j_0
    for i_j_1    <-- here
      for k
        block "C" reads A, B writes C    <-- the block
  split its loops by factors that divide them (or pad), and reorder the inner parts innermost  [LTH-S068])");
  test::Chain chain = test::chain(64);
  Schedule u(chain.program);
  const LoopRef loop = u.loops(u.block(chain.d))[0];
  u.compute_at(u.block(chain.c), loop);
  CHECK(error_text([&] { u.blockize(loop); }) == R"(blockize(loop "i"): below loop "i" are 2 blocks
  at tiles_test.cpp:LINE
  for i    <-- here
    …
  choose a loop round one block  [LTH-S068])");
}

TEST_CASE("what is inside a block is not staged") {
  test::Chain t = test::chain(64);
  Schedule s(t.program);
  const BlockRef d = s.block(t.d);
  s.blockize(s.split(s.loops(d)[0], {_, 8})[1]);
  CHECK(error_text([&] { s.cache_write(d, Scope::Local); }) ==
        R"(cache_write(block "D", Scope::Local): block "D" lies inside block "D_o"
  at tiles_test.cpp:LINE
  …
  for i_0
    block "D_o" reads C writes D    <-- outer
      for i_1
        block "D" reads C writes D    <-- here
  move and stage blocks before blockize; the loops inside may be reordered and marked  [LTH-S040])");
}

namespace {

/// The product tiled rows x 4 x 2, and its fourth loop.
struct Tiled {
  Schedule s;
  LoopRef inner;
  Tiled(std::int64_t rows, const Program& program) : s(program) {
    auto [i, j, k] = s.loops<3>(s.blocks()[0]);
    auto [io, ii] = s.split(i, {_, rows});
    auto [jo, ji] = s.split(j, {_, 4});
    auto [ko, ki] = s.split(k, {_, 2});
    s.reorder({io, jo, ko, ii, ji, ki});
    inner = ii;
  }
};

const std::string kIntrinsic = R"(  the intrinsic computes
program matmul(A: input f32[2, 2], B: input f32[2, 4], C: output f32[2, 4])
  for i in 0..2:
    for j in 0..4:
      for k in 0..2:
        block C(vi: i, vj: j, vk: reduce k)
          init:
            C[vi, vj] = 0.f
          C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
  [LTH-S069])";

void declare() {
  if (!find_tensor_intrinsic("error_mma"))
    register_tensor_intrinsic({"error_mma", test::matmul(2, 4, 2).program, "none"});
}

}  // namespace

TEST_CASE("tensorize says where nest and description differ") {
  declare();
  Tiled x(2, test::matmul(8, 8, 8).program);
  CHECK(error_text([&] { x.s.tensorize(x.inner, "unknown"); }) ==
        R"(tensorize(loop "i_1", "unknown"): no intrinsic is called "unknown"
  at tiles_test.cpp:LINE
  declare it with register_tensor_intrinsic  [LTH-S069])");
  CHECK(
      error_text([&] { x.s.tensorize(x.s.loops(x.s.block("C"))[4], "error_mma"); }) ==
      R"(tensorize(loop "j_1", "error_mma"): the nest is not what intrinsic "error_mma" computes: it has 2 loops, the intrinsic 3
  at tiles_test.cpp:LINE
  for i_0, j_0, k_0, i_1
    for j_1    <-- here
      for k_1
        block "C" reads A, B writes C
)" + kIntrinsic);
  Tiled wide(4, test::matmul(8, 8, 8).program);
  CHECK(
      error_text([&] { wide.s.tensorize(wide.inner, "error_mma"); }) ==
      R"(tensorize(loop "i_1", "error_mma"): the nest is not what intrinsic "error_mma" computes: loop "i_1" has 4 iterations, loop "i" of the intrinsic 2
  at tiles_test.cpp:LINE
  for i_0, j_0, k_0
    for i_1    <-- here
      for j_1, k_1
        block "C" reads A, B writes C
)" + kIntrinsic);
  Tensor a = placeholder("A", {8, 8}, f32), b = placeholder("B", {8, 8}, f32);
  Axis r = reduce_axis(8, "k");
  Tensor c = compute("C", {8, 8}, [&](Var i, Var j) { return sum(a(i, r) + b(r, j), {r}); });
  Tiled other(2, program("sums", {a, b}, {c}));
  CHECK(
      error_text([&] { other.s.tensorize(other.inner, "error_mma"); }) ==
      R"(tensorize(loop "i_1", "error_mma"): the nest is not what intrinsic "error_mma" computes: block "C" computes something else
  at tiles_test.cpp:LINE
  for i_0, j_0, k_0
    for i_1    <-- here
      for j_1, k_1
        block "C" reads A, B writes C
)" + kIntrinsic);
}

TEST_CASE("a nest that changed after tensorize is found by verify") {
  declare();
  Tiled x(2, test::matmul(8, 8, 8).program);
  x.s.tensorize(x.inner, "error_mma");
  const std::vector<LoopRef> inside = x.s.loops(x.s.block("C"));
  x.s.reorder({inside[1], inside[0]});
  const std::string text = error_text([&] { verify(x.s, Target::parse("x86-64-v3")); });
  CHECK(text.find("verify(\"matmul\"): block \"C_o\" is no longer what intrinsic \"error_mma\" computes: "
                  "loop \"j_1\" has "
                  "4 iterations, loop \"i\" of the intrinsic 2\n") == 0);
}

TEST_CASE("declaring an intrinsic is refused when it would mean nothing") {
  declare();
  CHECK(error_text([] {
          register_tensor_intrinsic({"error_mma", test::matmul(2, 4, 2).program, "none"});
        }) == "an intrinsic \"error_mma\" is declared already  [LTH-S069]");
  CHECK(error_text([] {
          register_tensor_intrinsic({"chain", test::chain(4).program, "none"});
        }) ==
        R"(intrinsic "chain": its description is not one compute with constant extents
program chain(A: input f32[4], D: output f32[4])
  temp C: f32[4]
  for i in 0..4:
    block C(vi: i)
      C[vi] = A[vi] + 1.f
  for i_1 in 0..4:
    block D(vi_1: i_1)
      D[vi_1] = C[vi_1] * 2.f
  [LTH-S069])");
}
