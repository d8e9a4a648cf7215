// Relatives of the field reports of tails_test.cpp: the same faults, met from other sides.
#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;

TEST_CASE("like A01: the init of a maximum of negatives, two cut tiles deep") {
  for (std::int64_t n : {23, 24, 25, 1, 0}) {
    INFO(n);
    Tensor a = placeholder("A", {n, 5}, f32);
    Axis k = reduce_axis(5, "k");
    Tensor b = compute("B", {n}, [&](Var i) { return max(a(i, k), {k}); });
    Tensor c = compute("C", {n}, [&](Var i) { return b(n - 1 - i); });
    Schedule s(program("p", {a}, {c}));
    auto [o, m, i] = s.split(s.loops<1>(s.block(c))[0], {_, 3, 8});
    auto [m0, m1] = s.split(m, {_, 2});
    s.compute_at(s.block(b), m1);
    s.vectorize(s.split(s.loops(s.block(b))[3], {_, 4})[1]);
    interp::Array data(f32, {n, 5});
    for (std::int64_t p = 0; p < n * 5; ++p) data.set(p, -1.0 - static_cast<double>(p));
    std::vector<double> want;
    for (std::int64_t p = 0; p < n; ++p) want.push_back(-1.0 - static_cast<double>((n - 1 - p) * 5));
    CHECK(values(s, {data}) == want);
  }
}

TEST_CASE("like A01: a fused reduction of two axes, cut, inside a cut tile") {
  Tensor a = placeholder("A", {13, 3, 5}, i32);
  Axis p = reduce_axis(3, "p"), q = reduce_axis(5, "q");
  Tensor b = compute("B", {13}, [&](Var i) { return sum(a(i, p, q), {p, q}); });
  Tensor c = compute("C", {13}, [&](Var i) { return b(i) * 2; });
  Schedule s(program("p", {a}, {c}));
  auto [o, i] = s.split(s.loops<1>(s.block(c))[0], {_, 4}, Tail::Peel);
  s.compute_at(s.block(b), o);
  const auto l = s.loops(s.block(b));
  auto [ro, ri] = s.split(s.fuse(l[2], l[3]), {_, 4});
  s.reorder({ri, ro});
  CHECK(values(s, {filled(i32, {13, 3, 5}, 1)}) == repeated(13, 30));
}

TEST_CASE("like A03: a chain of three with tiles that do not divide one another, cut and not cut") {
  for (std::int64_t n : {60, 59, 61, 1}) {
    for (Tail tail : {Tail::Guard, Tail::Peel}) {
      INFO(n << " tail " << static_cast<int>(tail));
      Tensor a = placeholder("A", {n}, i32);
      Tensor b = compute("B", {n}, [&](Var i) { return a(i) + 1; });
      Tensor c = compute("C", {n}, [&](Var i) { return b(i) * 2; });
      Tensor d = compute("D", {n}, [&](Var i) { return c(i) - a(n - 1 - i); });
      Schedule s(program("p", {a}, {d}));
      s.split(s.loops<1>(s.block(b))[0], {_, 5}, tail);
      s.split(s.loops<1>(s.block(c))[0], {_, 7}, tail);
      s.compute_at(s.block(c), s.split(s.loops<1>(s.block(d))[0], {_, 12}, tail)[0]);
      s.compute_at(s.block(b), s.loops(s.block(c))[1]);
      std::vector<double> want;
      for (std::int64_t i = 0; i < n; ++i) want.push_back(static_cast<double>((i + 1) * 2 - (n - 1 - i)));
      CHECK(values(s, {interp::Array::iota(i32, {n})}) == want);
    }
  }
}

TEST_CASE("like A04: two run-time lengths, one of them the reduction's") {
  for (auto [m, n] :
       {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 0}, {1, 1}, {7, 9}, {8, 8}, {33, 31}}) {
    INFO(m << " x " << n);
    Var rows = size("m"), columns = size("n");
    Tensor a = placeholder("a", {rows, columns}, i32);
    Axis r = reduce_axis(columns, "r");
    Tensor b = compute("b", {rows}, [&](Var i) { return sum(a(i, r), {r}); });
    Schedule s(program("p", {rows, columns, a}, {b}));
    auto [i, k] = s.loops<2>(s.block(b));
    auto [io, ii] = s.split(i, {_, 8});
    auto [ko, ki] = s.split(k, {_, 4}, Tail::Peel);
    s.reorder({io, ko, ki, ii});
    s.cache_write(s.block(b), Scope::Local, io);
    s.vectorize(ii);
    CHECK(values(s, {filled(i32, {m, n}, 1)}, {m, n}) == repeated(m, static_cast<double>(n)));
  }
}

TEST_CASE("like A06: partial results over the outer part of a cut split, of a minimum of positives") {
  for (std::int64_t n : {15, 16, 17, 1}) {
    for (int axis : {0, 1}) {
      INFO(n << " axis " << axis);
      Tensor a = placeholder("A", {3, n}, f32);
      Axis r = reduce_axis(n, "r");
      Tensor y = compute("y", {3}, [&](Var i) { return min(a(i, r), {r}); });
      Schedule s(program("p", {a}, {y}));
      const BlockRef block = s.block(y);
      auto [ro, ri] = s.split(s.loops<2>(block)[1], {_, 8});
      const BlockRef part = s.rfactor(block, ro, axis);
      s.parallel(s.loops(part)[0]);
      interp::Array data = interp::Array::iota(f32, {3, n});
      for (std::int64_t i = 0; i < data.size(); ++i) data.set(i, data.get(i) + 5);
      CHECK(values(s, {data}) ==
            std::vector<double>{5, 5.0 + static_cast<double>(n), 5 + 2.0 * static_cast<double>(n)});
    }
  }
}

TEST_CASE("like A07: partial sums after the free axes were fused and cut") {
  for (auto [h, w] : {std::pair<std::int64_t, std::int64_t>{4, 4}, {5, 7}, {1, 3}}) {
    Tensor in = placeholder("in", {h + 2, w + 2}, i32);
    Axis y = reduce_axis(3, "y"), x = reduce_axis(3, "x");
    Tensor box = compute("box", {h, w}, [&](Var i, Var j) { return sum(in(i + y, j + x), {y, x}); });
    Schedule s(program("p", {in}, {box}));
    const BlockRef block = s.block(box);
    const auto l = s.loops<4>(block);
    s.split(s.fuse(l[0], l[1]), {_, 3});
    auto [xo, xi] = s.split(l[3], {_, 2});
    const BlockRef part = s.rfactor(block, xi, 1);
    s.compute_at(part, s.loops(block)[0]);
    std::vector<double> want;
    for (std::int64_t i = 0; i < h; ++i) {
      for (std::int64_t j = 0; j < w; ++j)
        want.push_back(static_cast<double>(9 * ((i + 1) * (w + 2) + j + 1)));
    }
    CHECK(values(s, {interp::Array::iota(i32, {h + 2, w + 2})}) == want);
  }
}

TEST_CASE("like A09: a stencil of run-time length attached to its consumer's tiles") {
  for (std::int64_t n : {64, 63, 65, 17, 1, 0}) {
    INFO(n);
    Var len = size("n");
    Tensor a = placeholder("a", {len}, i32);
    Tensor b = compute("b", {len + 2}, [&](Var i) { return if_inside(a, {i - 1}, 0) * 3; });
    Tensor c = compute("c", {len}, [&](Var i) { return b(i) + b(i + 2) - b(i + 1); });
    Schedule s(program("p", {len, a}, {c}));
    auto [outer, inner] = s.split(s.loops<1>(s.block(c))[0], {_, 16}, Tail::Peel);
    s.compute_at(s.block(b), outer);
    s.vectorize(inner);
    std::vector<double> want;
    auto at = [&](std::int64_t i) { return i < 0 || i >= n ? 0.0 : 3.0 * static_cast<double>(i); };
    for (std::int64_t i = 0; i < n; ++i) want.push_back(at(i - 1) + at(i + 1) - at(i));
    CHECK(values(s, {interp::Array::iota(i32, {n})}, {n}) == want);
  }
}

TEST_CASE("like A22: an argmax of negative rows, its axes rounded up and unrolled") {
  Tensor x = placeholder("x", {13, 11}, i32);
  Axis r = reduce_axis(11, "r");
  auto [top, place] = compute("top", {13}, [&](Var i) { return argmax(x(i, r), {r}); });
  Schedule s(program("p", {x}, {top, place}));
  auto [i, k] = s.loops<2>(s.blocks()[0]);
  auto [io, ii] = s.split(i, {_, 4});
  auto [ko, ki] = s.split(k, {_, 3});
  s.unroll(ki);
  s.vectorize(ii);
  interp::Array data(i32, {13, 11});
  for (std::int64_t p = 0; p < 13 * 11; ++p) data.set_int(p, -100 - (p * 7) % 11);
  const std::vector<interp::Array> out = outputs(s, {data});
  for (std::int64_t row = 0; row < 13; ++row) {
    std::int64_t best = 0;
    for (std::int64_t c = 0; c < 11; ++c) {
      if (data.get({row, c}) > data.get({row, best})) best = c;
    }
    CHECK(out[0].get(row) == data.get({row, best}));
    CHECK(out[1].get_int(row) == best);
  }
}

TEST_CASE("like A24: three axes fused, cut, and the producer's tile is a row or two") {
  Tensor x = placeholder("x", {3, 4, 10}, i32);
  Tensor v = compute("v", {3, 4, 10}, [&](Var i, Var j, Var k) { return x(i, j, k) + 1; });
  Tensor e = compute("e", {3, 4, 10}, [&](Var i, Var j, Var k) { return v(i, j, k) * 2; });
  Schedule s(program("p", {x}, {e}));
  const auto l = s.loops<3>(s.block(e));
  auto [outer, inner] = s.split(s.fuse({l[0], l[1], l[2]}), {_, 8});
  s.compute_at(s.block(v), outer);
  std::vector<double> want;
  for (int i = 0; i < 120; ++i) want.push_back((i + 1) * 2);
  CHECK(values(s, {interp::Array::iota(i32, {3, 4, 10})}) == want);
}

TEST_CASE("like B07: the loop that a producer was attached to is reordered, unrolled or run in parallel") {
  for (int way = 0; way < 4; ++way) {
    INFO(way);
    Tensor a = placeholder("A", {10, 10}, i32);
    Tensor p = compute("P", {10, 10}, [&](Var i, Var j) { return a(i, j) + 1; });
    Tensor b = compute("B", {10, 10}, [&](Var i, Var j) { return p(j, i) * 3; });
    Schedule s(program("p", {a}, {b}));
    auto [i, j] = s.loops<2>(s.block(b));
    auto [jo, ji] = s.split(j, {_, 4});
    s.compute_at(s.block(p), jo);
    if (way == 0) s.reorder({jo, i});
    if (way == 1) s.unroll(jo);
    if (way == 2) s.parallel(s.fuse(i, jo));
    if (way == 3) s.unroll(s.split(jo, {_, 2}, Tail::Peel)[1]);
    std::vector<double> want;
    for (int y = 0; y < 10; ++y) {
      for (int x = 0; x < 10; ++x) want.push_back((x * 10 + y + 1) * 3);
    }
    CHECK(values(s, {interp::Array::iota(i32, {10, 10})}) == want);
  }
}

TEST_CASE("like B13: two guarded consumers of one producer, each larger than it, shifted apart") {
  Tensor p = placeholder("p", {4, 4}, i32);
  Tensor t = compute("t", {4, 4}, [&](Var y, Var x) { return p(y, x) * 10; });
  Tensor u = compute("u", {9, 9}, [&](Var y, Var x) {
    return if_inside(t, {y - 3, x - 2}, 1) + if_inside(t, {y - 1, 6 - x}, 2);
  });
  Schedule s(program("p", {p}, {u}));
  auto [y, x] = s.loops<2>(s.block(u));
  auto tile = s.tile(y, x, 4, 5);
  s.compute_at(s.block(t), tile[1]);
  s.vectorize(tile[3]);
  std::vector<double> want;
  auto at = [](int r, int c, int otherwise) {
    return r < 0 || r > 3 || c < 0 || c > 3 ? otherwise : (r * 4 + c) * 10;
  };
  for (int r = 0; r < 9; ++r) {
    for (int c = 0; c < 9; ++c) want.push_back(at(r - 3, c - 2, 1) + at(r - 1, 6 - c, 2));
  }
  CHECK(values(s, {interp::Array::iota(i32, {4, 4})}) == want);
}

TEST_CASE("like C15: a tile's producer, a fused loop and a staged sum of a tensor without elements") {
  for (auto [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 0}, {0, 0}}) {
    INFO(m << " x " << n);
    Tensor x = placeholder("x", {m, n}, i32);
    Axis r = reduce_axis(n, "r");
    Tensor v = compute("v", {m, n}, [&](Var i, Var j) { return x(i, j) + 1; });
    Tensor total = compute("total", {m}, [&](Var i) { return sum(v(i, r), {r}); });
    Schedule s(program("p", {x}, {total}));
    auto [i, k] = s.loops<2>(s.block(total));
    s.split(i, {_, 4});
    s.compute_at(s.block(v), s.split(k, {_, 4})[0]);
    s.cache_write(s.block(total), Scope::Local);
    s.vectorize(s.split(s.fuse(s.loops(s.block(v))[3], s.loops(s.block(v))[4]), {_, 8})[1]);
    CHECK(values(s, {interp::Array(i32, {m, n})}) == repeated(m, 0));
  }
}
