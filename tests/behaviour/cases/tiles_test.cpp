// Functions that compute tiles: where the tiles do not fit, where loops changed places, where extents are 1.
#include "behaviour/cases/case.h"
#include "lathe/tensor_intrinsic.h"

using namespace lathe;
using namespace lathe::cases;
using lathe::test::error_text;

namespace {
int calls = 0;
std::int64_t strides_seen[3] = {};
}  // namespace

/// y[128] = |x[128]| of f16, whose sign is the top bit.
extern "C" void case_abs_128(const std::uint16_t* x, std::int64_t x0, std::uint16_t* y, std::int64_t y0) {
  ++calls;
  for (int i = 0; i < 128; ++i) y[i * y0] = x[i * x0] & 0x7fff;
}
extern "C" void case_add_16(const float* x, std::int64_t x0, const float* y, std::int64_t y0, float* z,
                            std::int64_t z0) {
  ++calls;
  strides_seen[0] = x0, strides_seen[1] = y0, strides_seen[2] = z0;
  for (int i = 0; i < 16; ++i) z[i * z0] = x[i * x0] + y[i * y0];
}
extern "C" void case_dot_16(const float* a, std::int64_t a0, const float* b, std::int64_t b0, float* c) {
  ++calls;
  strides_seen[0] = a0, strides_seen[1] = b0;
  for (int k = 0; k < 16; ++k) *c += a[k * a0] * b[k * b0];
}
extern "C" void case_multiply_4x4x2(const float* a, std::int64_t a0, std::int64_t a1, const float* b,
                                    std::int64_t b0, std::int64_t b1, float* c, std::int64_t c0,
                                    std::int64_t c1) {
  ++calls;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 2; ++k) c[i * c0 + j * c1] += a[i * a0 + k * a1] * b[k * b0 + j * b1];
    }
  }
}

namespace {

void declare() {
  if (find_tensor_intrinsic("abs_128")) return;
  Tensor h = placeholder("x", {128}, f16);
  Tensor r = compute("y", {128}, [&](Var i) { return abs(h(i)); });
  register_tensor_intrinsic({"abs_128", program("abs", {h}, {r}), "case_abs_128"});
  Tensor x = placeholder("x", {16}, f32), y = placeholder("y", {16}, f32);
  Tensor z = compute("z", {16}, [&](Var i) { return x(i) + y(i); });
  register_tensor_intrinsic({"add_16", program("add", {x, y}, {z}), "case_add_16"});
  Axis k = reduce_axis(16, "k");
  Tensor d = compute("d", {}, [&] { return sum(x(k) * y(k), {k}); });
  register_tensor_intrinsic({"dot_16", program("dot", {x, y}, {d}), "case_dot_16"});
  Tensor a = placeholder("a", {4, 2}, f32), b = placeholder("b", {2, 4}, f32);
  Axis q = reduce_axis(2, "q");
  Tensor c = compute("c", {4, 4}, [&](Var i, Var j) { return sum(a(i, q) * b(q, j), {q}); });
  register_tensor_intrinsic({"multiply_4x4x2", program("multiply", {a, b}, {c}), "case_multiply_4x4x2"});
}

interp::Array signed_data(DataType t, std::vector<std::int64_t> shape, std::uint64_t seed = 3) {
  return interp::Array::small_integers(t, std::move(shape), seed, 9);
}

/// Compiled, against the unscheduled program in the interpreter, which does not call the function.
void check_compiled(const Schedule& s, const std::vector<interp::Array>& inputs) {
  const std::vector<interp::Array> want = interp::run(s.original(), inputs).outputs;
  const std::vector<interp::Array> have = fuzz::run_guarded(compile(s, Target::host()), s.original(), inputs,
                                                            {}, fuzz::GuardedMemory::Against::End);
  for (std::size_t k = 0; k < want.size(); ++k) CHECK(have[k] == want[k]);
}

struct Absolute {
  Tensor x, y;
  Program p;
  explicit Absolute(std::int64_t n) {
    x = placeholder("x", {n}, f16);
    y = compute("y", {n}, [&](Var i) { return abs(x(i)); });
    p = program("p", {x}, {y});
  }
};

}  // namespace

TEST_CASE("B09: a tile that is cut short is refused in the user's words") {
  declare();
  for (std::int64_t n : {131, 127, 129, 1}) {
    Absolute t(n);
    Schedule s(t.p);
    const LoopRef inner = s.split(s.loops<1>(s.block(t.y))[0], {_, 128})[1];
    const std::string why = error_text([&] { s.tensorize(inner, "abs_128"); });
    INFO(why);
    CHECK(why.find(std::to_string(n) + " values, no multiple of 128") != std::string::npos);
    CHECK(why.find("pad") != std::string::npos);
    CHECK(values(s, {signed_data(f16, {n})}).size() == static_cast<std::size_t>(n));
  }
}

TEST_CASE("B09: the way out that the error names: padded intermediates") {
  declare();
  for (std::int64_t n : {131, 128, 256, 257, 1}) {
    INFO(n);
    Absolute t(n);
    Schedule s(t.p);
    const BlockRef y = s.block(t.y);
    const BlockRef read = s.cache_read(y, t.x, Scope::Global);
    s.cache_write(y, Scope::Global);
    s.split(s.loops<1>(read)[0], {_, 128}, Tail::Pad);  // first: then y reads what is there
    const LoopRef inner = s.split(s.loops<1>(y)[0], {_, 128}, Tail::Pad)[1];
    s.tensorize(inner, "abs_128");
    calls = 0;
    check_compiled(s, {signed_data(f16, {n})});
    CHECK(calls == (n + 127) / 128);
  }
}

TEST_CASE("B10: the function gets the strides of the loop that it stands for, wherever that was moved") {
  declare();
  for (int which = 0; which < 3; ++which) {
    INFO(which);
    Tensor x = placeholder("x", {16, 16, 16}, f32), y = placeholder("y", {16, 16, 16}, f32);
    Tensor z = compute("z", {16, 16, 16}, [&](Var i, Var j, Var k) { return x(i, j, k) + y(i, j, k); });
    Schedule s(program("p", {x, y}, {z}));
    const auto l = s.loops<3>(s.block(z));
    std::vector<LoopRef> order(l.begin(), l.end());
    std::rotate(order.begin(), order.begin() + which + 1, order.end());  // j k i; k i j; i j k
    s.reorder(order);
    s.tensorize(order.back(), "add_16");
    calls = 0;
    check_compiled(s, {signed_data(f32, {16, 16, 16}), signed_data(f32, {16, 16, 16}, 4)});
    CHECK(calls == 256);
    const std::int64_t stride = which == 0 ? 256 : which == 1 ? 16 : 1;
    for (std::int64_t seen : strides_seen) CHECK(seen == stride);
  }
}

TEST_CASE("B10: operands laid out otherwise than one another") {
  declare();
  Tensor x = placeholder("x", {16, 5}, f32), y = placeholder("y", {5, 16}, f32);
  Tensor z = compute("z", {5, 16}, [&](Var i, Var j) { return x(j, i) + y(4 - i, j); });
  Schedule s(program("p", {x, y}, {z}));
  s.tensorize(s.loops<2>(s.block(z))[1], "add_16");
  check_compiled(s, {signed_data(f32, {16, 5}), signed_data(f32, {5, 16}, 4)});
  CHECK(strides_seen[0] == 5);
  CHECK(strides_seen[1] == 1);
}

TEST_CASE("B10: reduce axes of extent 1 round the one that the function takes") {
  declare();
  for (std::int64_t window : {1, 3}) {
    INFO(window);
    const std::int64_t n = 4 + window - 1;
    Tensor x = placeholder("x", {2, n, n, 16}, f32), k = placeholder("k", {window, window, 16, 3}, f32);
    Axis rh = reduce_axis(window, "rh"), rw = reduce_axis(window, "rw"), rc = reduce_axis(16, "rc");
    Tensor conv = compute("conv", {2, 4, 4, 3}, [&](Var b, Var y, Var z, Var o) {
      return sum(x(b, y + rh, z + rw, rc) * k(rh, rw, rc, o), {rh, rw, rc});
    });
    Schedule s(program("p", {x, k}, {conv}));
    s.tensorize(s.loops(s.block(conv)).back(), "dot_16");
    calls = 0;
    check_compiled(s, {signed_data(f32, {2, n, n, 16}), signed_data(f32, {window, window, 16, 3}, 4)});
    CHECK(calls == 96 * window * window);
    CHECK(strides_seen[0] == 1);
    CHECK(strides_seen[1] == 3);
  }
}

TEST_CASE("B10: a product with transposed operands, its tiles in any order") {
  declare();
  for (int transposed = 0; transposed < 4; ++transposed) {
    INFO(transposed);
    const bool ta = transposed & 1, tb = transposed & 2;
    Tensor a = ta ? placeholder("a", {6, 8}, f32) : placeholder("a", {8, 6}, f32),
           b = tb ? placeholder("b", {12, 6}, f32) : placeholder("b", {6, 12}, f32);
    Axis r = reduce_axis(6, "r");
    Tensor c = compute("c", {8, 12}, [&](Var i, Var j) {
      return sum((ta ? a(r, i) : a(i, r)) * (tb ? b(j, r) : b(r, j)), {r});
    });
    Schedule s(program("p", {a, b}, {c}));
    auto [i, j, k] = s.loops<3>(s.block(c));
    auto [io, ii] = s.split(i, {_, 4});
    auto [jo, ji] = s.split(j, {_, 4});
    auto [ko, ki] = s.split(k, {_, 2});
    s.reorder({ko, jo, io, ii, ji, ki});
    s.tensorize(ii, "multiply_4x4x2");
    calls = 0;
    check_compiled(
        s, {signed_data(f32, ta ? std::vector<std::int64_t>{6, 8} : std::vector<std::int64_t>{8, 6}),
            signed_data(f32, tb ? std::vector<std::int64_t>{12, 6} : std::vector<std::int64_t>{6, 12}, 4)});
    CHECK(calls == 2 * 3 * 3);
    Schedule again(s.original());
    again.replay(Trace::from_json(s.trace().to_json()));
    CHECK(structural_equal(again.program(), s.program()));
  }
}

TEST_CASE("B10: subscripts that no dimension by itself gives are refused") {
  declare();
  Tensor x = placeholder("x", {32}, f32), y = placeholder("y", {16, 16}, f32);
  auto refused = [&](const std::function<Expr(Var)>& element) {
    Tensor z = compute("z", {16}, element);
    Schedule s(program("p", {x, y}, {z}));
    return error_text([&] { s.tensorize(s.loops<1>(s.block(z))[0], "add_16"); }).find("LTH-S069") !=
           std::string::npos;
  };
  CHECK(refused([&](Var i) { return x(i * 2) + y(0, i); }));   // every second element
  CHECK(refused([&](Var i) { return x(31 - i) + y(0, i); }));  // backwards
  CHECK(refused([&](Var i) { return x(i) + y(i, i); }));       // a diagonal
  CHECK_FALSE(refused([&](Var i) { return x(i + 16) + y(i, 3); }));
}
