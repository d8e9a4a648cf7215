// Tiles that do not divide, and what is computed inside them.
#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;

TEST_CASE("A01: a reduction inside the tail tile of its consumer is guarded, its init too") {
  for (std::int64_t n : {101, 100, 99, 1, 200, 0}) {
    INFO(n);
    Tensor a = placeholder("A", {n, n}, f32);
    Axis k = reduce_axis(n, "k");
    Tensor b = compute("B", {n}, [&](Var i) { return sum(a(i, k), {k}); });
    Tensor c = compute("C", {n}, [&](Var i) { return b(i); });
    Schedule s(program("p", {a}, {c}));
    auto [outer, inner] = s.split(s.loops<1>(s.block(c))[0], {_, 100});
    s.compute_at(s.block(b), inner);
    CHECK(values(s, {filled(f32, {n, n}, 1)}) == repeated(n, static_cast<double>(n)));
  }
}

TEST_CASE("A03: a producer tiled otherwise than its consumer, cut and not cut") {
  for (bool cut : {false, true}) {
    for (std::int64_t n : {48, 47, 49, 32, 31, 10, 9, 1, 0}) {
      INFO(n << (cut ? " cut" : ""));
      Tensor a = placeholder("A", {n}, i32);
      Tensor c = compute("C", {n}, [&](Var i) { return a(i); });
      Tensor d = compute("D", {n}, [&](Var i) { return c(i); });
      Schedule s(program("p", {a}, {d}));
      const Tail tail = cut ? Tail::Peel : Tail::Guard;
      s.split(s.loops<1>(s.block(c))[0], {_, 10}, tail);
      auto [outer, inner] = s.split(s.loops<1>(s.block(d))[0], {_, 32}, tail);
      s.compute_at(s.block(c), outer);
      if (cut) s.split(s.loops(s.block(c)).back(), {_, 10}, tail);
      const interp::Array x = interp::Array::iota(i32, {n});
      CHECK(outputs(s, {x})[0] == x);
    }
  }
}

TEST_CASE("A04: the tail of a reduction whose length is known at run time") {
  Var n = size("n");
  Tensor a = placeholder("a", {1024}, i32);
  Axis j = reduce_axis(n, "j");
  Tensor b = compute("b", {32}, [&](Var i) { return sum(cast(i32, i) * a(j), {j}, where(j < 1024)); });
  Schedule s(program("p", {n, a}, {b}));
  auto [i, k] = s.loops<2>(s.block(b));
  auto [io, ii] = s.split(i, {_, 8});
  auto [ko, ki] = s.split(k, {_, 32}, Tail::Peel);
  s.reorder({io, ko, ii, ki});
  s.compute_at(s.cache_read(s.block(b), a, Scope::Local), ko);
  for (std::int64_t length : {0, 1, 31, 32, 33, 1000, 1024}) {
    INFO(length);
    std::vector<double> want;
    for (int at = 0; at < 32; ++at) want.push_back(static_cast<double>(length * at));
    CHECK(values(s, {filled(i32, {1024}, 1)}, {length}) == want);
  }
}

TEST_CASE("A06: partial sums over the inner parts of splits that do not divide") {
  for (auto [x, y] : {std::pair<std::int64_t, std::int64_t>{10, 7}, {8, 8}, {1, 1}, {3, 5}, {12, 0}}) {
    INFO(x << " x " << y);
    Tensor a = placeholder("A", {x, y}, f32);
    Axis rx = reduce_axis(x, "rx"), ry = reduce_axis(y, "ry");
    Tensor t = compute("s", {}, [&] { return sum(a(rx, ry), {rx, ry}); });
    Schedule s(program("p", {a}, {t}));
    auto [lx, ly] = s.loops<2>(s.block(t));
    auto [xo, xi] = s.split(lx, {_, 4});
    auto [yo, yi] = s.split(ly, {_, 4});
    s.reorder({xi, yi, xo, yo});
    const LoopRef tile = s.fuse(xi, yi);
    s.rfactor(s.block(t), tile);
    CHECK(values(s, {filled(f32, {x, y}, 1)}) == std::vector<double>{static_cast<double>(x * y)});
  }
}

TEST_CASE("A07: partial sums of a window after splits of the free axes") {
  for (auto [w, h] : {std::pair<std::int64_t, std::int64_t>{128, 128}, {13, 7}, {4, 1}, {3, 5}}) {
    INFO(w << " x " << h);
    Tensor in = placeholder("in", {w + 4, h + 4}, i32);
    Axis rx = reduce_axis(5, "rx"), ry = reduce_axis(5, "ry");
    Tensor window = compute("S", {w, h}, [&](Var x, Var y) { return sum(in(x + rx, y + ry), {rx, ry}); });
    Tensor out = compute("out", {w, h}, [&](Var x, Var y) { return truncdiv(window(x, y), 25); });
    Schedule s(program("p", {in}, {out}));
    auto [x, y, kx, ky] = s.loops<4>(s.block(window));
    auto [xo, xi] = s.split(x, {_, 4});
    s.split(xi, {_, 1});
    s.rfactor(s.block(window), kx, 1);
    s.split(s.loops<2>(s.block(out))[1], {_, 2});
    interp::Array data(i32, {w + 4, h + 4});
    std::vector<double> want;
    for (std::int64_t i = 0; i < w + 4; ++i) {
      for (std::int64_t k = 0; k < h + 4; ++k)
        data.set({i, k}, static_cast<double>(2 * (i - 2) + 5 * (k - 2)));
    }
    for (std::int64_t i = 0; i < w; ++i) {
      for (std::int64_t k = 0; k < h; ++k) want.push_back(static_cast<double>(2 * i + 5 * k));
    }
    CHECK(values(s, {data}) == want);
  }
}

TEST_CASE("A09: a chain attached to the tiles of a consumer of run-time length") {
  Var n = size("n");
  Tensor a = placeholder("A", {n}, f32), b = placeholder("B", {n}, f32);
  Tensor c = compute("C", {n}, [&](Var i) { return a(i) + b(i); });
  Tensor d = compute("D", {n}, [&](Var i) { return c(i) + c(i); });
  Tensor e = compute("E", {n}, [&](Var i) { return d(i) + a(i); });
  Schedule s(program("p", {n, a, b}, {e}));
  auto [outer, inner] = s.split(s.loops<1>(s.block(e))[0], {_, 32});
  s.compute_at(s.block(d), outer);
  s.compute_at(s.block(c), s.loops(s.block(d)).back());
  for (std::int64_t length : {1024, 1000, 31, 1, 0}) {
    INFO(length);
    std::vector<double> want;
    for (std::int64_t i = 0; i < length; ++i) want.push_back(static_cast<double>(5 * i));
    const interp::Array x = interp::Array::iota(f32, {length});
    CHECK(values(s, {x, x}, {length}) == want);
  }
}

TEST_CASE("A22: a fused axis rounded up, then unrolled, keeps the maximum of negative rows") {
  Tensor x = placeholder("x", {16, 13, 13}, f16);
  Axis c = reduce_axis(13, "c");
  Tensor m = compute("m", {16, 13}, [&](Var a, Var b) { return max(x(a, b, c), {c}); });
  Schedule s(program("p", {x}, {m}));
  auto loops = s.loops<3>(s.block(m));
  auto parts = s.split(s.fuse(loops[0], loops[1]), {_, 7, 4});  // 208 in 8 tiles of 28
  s.unroll(parts[1]);
  s.unroll(parts[2]);
  interp::Array data(f16, {16, 13, 13});
  std::vector<double> want;
  for (std::int64_t row = 0; row < 16 * 13; ++row) {
    for (std::int64_t k = 0; k < 13; ++k)
      data.set(row * 13 + k, static_cast<double>(-1 - row % 50 - (k * 5) % 13));
    want.push_back(static_cast<double>(-1 - row % 50));
  }
  CHECK(values(s, {data}) == want);
}

TEST_CASE("A24: stages fused and split alike hold one tile each") {
  Tensor x = placeholder("x", {8, 30}, f32);
  Tensor v = compute("v", {8, 30}, [&](Var i, Var j) { return x(i, j) + 1.f; });
  Tensor m = compute("m", {8, 30}, [&](Var i, Var j) { return v(i, j) * 0.5f; });
  Tensor e = compute("e", {8, 30}, [&](Var i, Var j) { return m(i, j) - 1.f; });
  Schedule s(program("p", {x}, {e}));
  auto tile = [&](const Tensor& t) {
    auto [i, j] = s.loops<2>(s.block(t));
    return s.split(s.fuse(i, j), {_, 16});
  };
  tile(v);
  tile(m);
  auto [outer, inner] = tile(e);
  s.compute_at(s.block(m), outer);
  s.compute_at(s.block(v), outer);
  std::vector<double> want;
  for (int i = 0; i < 240; ++i) want.push_back((i + 1) * 0.5 - 1);
  CHECK(values(s, {interp::Array::iota(f32, {8, 30})}) == want);
  // 16 elements lie in two rows at most.
  const interp::Outcome run =
      interp::run(lower_until(s.program(), Target::host()), {interp::Array::iota(f32, {8, 30})});
  CHECK(run.report.peak_bytes <= 2 * 2 * 30 * 4);
}

TEST_CASE("B13: a guarded consumer larger than its producer") {
  Tensor p = placeholder("p", {4, 10, 10}, f32);
  Axis ry = reduce_axis(2, "ry"), rx = reduce_axis(2, "rx");
  Tensor t = compute("t", {4, 4, 4}, [&](Var c, Var y, Var x) {
    return sum(p(c, y * 2 + ry, x * 2 + rx), {ry, rx});
  });
  Tensor u =
      compute("u", {4, 8, 8}, [&](Var c, Var y, Var x) { return select(y < 4 && x < 4, t(c, y, x), 0.f); });
  Schedule s(program("p", {p}, {u}));
  auto [c, y, x] = s.loops<3>(s.block(u));
  auto [yo, yi] = s.split(y, {_, 8});
  auto [xo, xi] = s.split(x, {_, 8});
  s.reorder({yo, xo, yi, xi});
  s.compute_at(s.block(t), xo);
  std::vector<double> want;
  for (int k = 0; k < 256; ++k) want.push_back(k % 64 / 8 < 4 && k % 8 < 4 ? 4 : 0);
  CHECK(values(s, {filled(f32, {4, 10, 10}, 1)}) == want);
}

TEST_CASE("C12: the tile of a padded stencil is the tile and its halo") {
  constexpr std::int64_t n = 32;
  Tensor a = placeholder("A", {n, n}, f32);
  Tensor padded = pad(a, {3, 3}, {3, 3}, 0.f);
  Axis ry = reduce_axis(3, "ry"), rx = reduce_axis(3, "rx");
  Tensor window = compute("w", {n + 4, n + 4}, [&](Var y, Var x) {
    return sum(padded(y + ry, x + rx), {ry, rx});
  });
  Tensor out = compute("out", {n + 6, n + 6}, [&](Var y, Var x) {
    return if_inside(window, {y - 1, x - 1}, 0.f);
  });
  Schedule s(program("p", {a}, {out}));
  auto [y, x] = s.loops<2>(s.block(out));
  auto tile = s.tile(y, x, 8, 8);
  s.compute_at(s.block(window), tile[1]);
  s.compute_at(s.block(padded), tile[1]);
  const std::vector<double> got = values(s, {filled(f32, {n, n}, 1)});
  CHECK(got[0] == 0);                          // the rim
  CHECK(got[(n / 2) * (n + 6) + n / 2] == 9);  // inside
  CHECK(got[3 * (n + 6) + 10] == 6);           // one row of the window lies in the padding
  const interp::Outcome run = interp::run(lower_until(s.program(), Target::host()), {filled(f32, {n, n}, 1)});
  CHECK(run.report.peak_bytes <= (10 * 10 + 8 * 8) * 4);
}

TEST_CASE("C15: tensors without elements") {
  for (auto [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 4}, {4, 0}, {0, 0}}) {
    INFO(m << " x " << n);
    Tensor x = placeholder("x", {m, n}, f32);
    Axis r = reduce_axis(n, "r"), q = reduce_axis(n, "q");
    Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return -x(i, j); });
    Tensor total = compute("total", {m}, [&](Var i) { return sum(x(i, r), {r}); });
    Tensor top = compute("top", {m}, [&](Var i) { return max(x(i, q), {q}); });
    Tensor mean =
        compute("mean", {m}, [&](Var i) { return total(i) / make_float(f32, static_cast<double>(n)); });
    Schedule s(program("p", {x}, {y, total, top, mean}));
    auto [i, j] = s.loops<2>(s.block(y));
    s.vectorize(s.split(s.fuse(i, j), {_, 8})[1]);
    s.parallel(s.loops(s.block(total))[0]);
    s.split(s.loops(s.block(top))[1], {_, 4});
    const std::vector<interp::Array> out = outputs(s, {interp::Array(f32, {m, n})});
    for (std::int64_t k = 0; k < m; ++k) {
      CHECK(out[1].get(k) == 0);
      CHECK(out[2].get(k) == -std::numeric_limits<double>::infinity());
      CHECK(std::isnan(out[3].get(k)));
    }
  }
}
