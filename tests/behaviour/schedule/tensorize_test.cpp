// blockize and tensorize: loop nests as one block, computed by a declared function.
#include <cstring>

#include "behaviour/schedule/programs.h"
#include "lathe/compile.h"
#include "lathe/tensor_intrinsic.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

int calls = 0;

}  // namespace

/// c[4,8] += a[4,4] b[4,8]
extern "C" void test_mma_4x8x4(const float* a, std::int64_t a0, std::int64_t a1, const float* b,
                               std::int64_t b0, std::int64_t b1, float* c, std::int64_t c0, std::int64_t c1) {
  ++calls;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 4; ++k) c[i * c0 + j * c1] += a[i * a0 + k * a1] * b[k * b0 + j * b1];
    }
  }
}
/// y[16] = 2 x[16]
extern "C" void test_twice_16(const float* x, std::int64_t x0, float* y, std::int64_t y0) {
  ++calls;
  for (int i = 0; i < 16; ++i) y[i * y0] = 2 * x[i * x0];
}

namespace {

void declare() {
  if (find_tensor_intrinsic("mma_4x8x4")) return;
  test::MatMul mma = test::matmul(4, 8, 4);
  register_tensor_intrinsic({"mma_4x8x4", mma.program, "test_mma_4x8x4"});
  Tensor x = placeholder("x", {16}, f32);
  Tensor y = compute("y", {16}, [&](Var i) { return x(i) * 2.f; });
  register_tensor_intrinsic({"twice_16", program("twice", {x}, {y}), "test_twice_16"});
}

/// "" when the compiled schedule gives what the program says on small integers.
std::string compiled_disagreement(const Schedule& s) {
  const std::vector<interp::Array> in = interp::integer_inputs(s.original(), 3);
  const interp::Outcome want = interp::run(s.original(), in);
  std::vector<runtime::Tensor> tensors;
  for (std::size_t i = 0; i < want.arrays.size(); ++i) {
    tensors.emplace_back(want.arrays[i].dtype(), want.arrays[i].shape());
    if (i < in.size())
      std::memcpy(tensors[i].data(), in[i].data(), in[i].bytes());
    else
      std::memset(tensors[i].data(), 0xff, tensors[i].bytes());
  }
  std::vector<runtime::Tensor*> pointers;
  for (runtime::Tensor& t : tensors) pointers.push_back(&t);
  compile(s, Target::host())(pointers);
  for (std::size_t i = in.size(); i < tensors.size(); ++i) {
    interp::Array have(want.arrays[i].dtype(), want.arrays[i].shape());
    std::memcpy(have.data(), tensors[i].data(), have.bytes());
    if (const interp::Difference d = interp::difference(have, want.arrays[i]); d.different > 0) return d.text;
  }
  return "";
}

/// A product tiled 4 x 8 x 4, its inner loops innermost.
struct Tiled {
  test::MatMul t;
  Schedule s;
  BlockRef c;
  LoopRef inner;
  Tiled(std::int64_t m, std::int64_t n, std::int64_t k)
      : t(test::matmul(m, n, k)), s(t.program), c(s.block(t.c)) {
    auto [i, j, r] = s.loops<3>(c);
    auto [io, ii] = s.split(i, {_, 4});
    auto [jo, ji] = s.split(j, {_, 8});
    auto [ro, ri] = s.split(r, {_, 4});
    s.reorder({io, jo, ro, ii, ji, ri});
    inner = ii;
  }
};

}  // namespace

TEST_CASE("a blockized nest computes the same") {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{4, 8, 4}, {8, 16, 12}, {12, 8, 4}}) {
    Tiled x(m, n, k);
    const BlockRef outer = x.s.blockize(x.inner);
    CHECK(x.s.name(outer) == "C_o");
    CHECK(x.s.loops(outer).size() == 3);
    CHECK(x.s.loops(x.c).size() == 3);
    CHECK(disagreement(x.s) == "");
  }
}

TEST_CASE("outside and inside of a block are scheduled apart") {
  Tiled x(8, 16, 12);
  const BlockRef outer = x.s.blockize(x.inner);
  const std::vector<LoopRef> inside = x.s.loops(x.c), outside = x.s.loops(outer);
  x.s.reorder({inside[2], inside[0], inside[1]});
  x.s.vectorize(inside[1]);
  x.s.parallel(outside[0]);
  CHECK(disagreement(x.s) == "");
}

TEST_CASE("blocks inside blocks survive steps outside") {
  Tiled x(8, 16, 12);
  const BlockRef outer = x.s.blockize(x.inner);
  const std::vector<LoopRef> outside = x.s.loops(outer);
  auto [a, b] = x.s.split(outside[1], {_, 2});
  x.s.reorder({a, outside[0], b});
  x.s.decompose_reduction(outer, outside[2]);
  CHECK(disagreement(x.s) == "");
}

TEST_CASE("a complete block is blockized") {
  test::Chain t = test::chain(48);
  Schedule s(t.program);
  auto [io, ii] = s.split(s.loops(s.block(t.d))[0], {_, 16});
  const BlockRef outer = s.blockize(ii);
  s.compute_at(s.block(t.c), io);
  CHECK(s.name(outer) == "D_o");
  CHECK(disagreement(s) == "");
}

TEST_CASE("a tensorized product runs the function on every tile") {
  declare();
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{4, 8, 4}, {8, 16, 12}, {12, 8, 8}}) {
    Tiled x(m, n, k);
    x.s.tensorize(x.inner, "mma_4x8x4");
    calls = 0;
    CHECK(compiled_disagreement(x.s) == "");
    CHECK(calls == m / 4 * (n / 8) * (k / 4));
    // In block form the nest is what the description says.
    const std::vector<interp::Array> in = interp::integer_inputs(x.t.program, 5);
    CHECK(interp::run(x.s.program(), in)["C"] == interp::run(x.t.program, in)["C"]);
    Schedule again(x.t.program);
    again.replay(Trace::from_json(x.s.trace().to_json()));
    CHECK(structural_equal(again.program(), x.s.program()));
    CHECK(x.s.trace().to_cpp().find("s.tensorize(") != std::string::npos);
  }
}

TEST_CASE("tensorized tiles of a convolution's rows") {
  declare();
  test::Conv t = test::conv(3, 8, 4, 16);
  Schedule s(t.program);
  const BlockRef conv = s.block(t.conv);
  auto [n, y, x, o, ry, rx, rc] = s.loops<7>(conv);
  auto [xo, xi] = s.split(x, {_, 4});
  auto [oo, oi] = s.split(o, {_, 8});
  s.reorder({n, y, xo, oo, ry, rx, xi, oi, rc});
  s.tensorize(xi, "mma_4x8x4");
  CHECK(compiled_disagreement(s) == "");
}

TEST_CASE("a function that stores, on tiles of an intermediate") {
  declare();
  test::Chain t = test::chain(64);
  Schedule s(t.program);
  const BlockRef d = s.block(t.d);
  auto [io, ii] = s.split(s.loops(d)[0], {_, 16});
  s.compute_at(s.block(t.c), io);
  s.tensorize(ii, "twice_16");
  calls = 0;
  CHECK(compiled_disagreement(s) == "");
  CHECK(calls == 4);
}
