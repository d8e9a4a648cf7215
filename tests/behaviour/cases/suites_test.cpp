// What the suites of schedule compilers check: each program in several schedules, by every form of it.
#include <cmath>
#include <limits>
#include <random>

#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;
using interp::Array;

namespace {

constexpr double NaN = std::numeric_limits<double>::quiet_NaN(),
                 Inf = std::numeric_limits<double>::infinity();

Array ints(DataType t, std::vector<std::int64_t> shape, std::uint64_t seed = 1) {
  return Array::small_integers(t, std::move(shape), seed);
}

void same(const std::vector<double>& have, const std::vector<double>& want) {
  REQUIRE(have.size() == want.size());
  for (std::size_t i = 0; i < have.size(); ++i) {
    INFO("element " << i);
    CHECK(have[i] == want[i]);
  }
}

}  // namespace

TEST_CASE("a reduction's initial value counts once, however it is cut and staged") {
  for (int way = 0; way < 6; ++way) {
    INFO(way);
    constexpr std::int64_t n = 5, K = 23;
    Tensor x = placeholder("x", {n, K}, i32);
    Axis r = reduce_axis(K, "r");
    Tensor y = compute("y", {n}, [&](Var i) { return sum(x(i, r), {r}, initial(100)); });
    Schedule s(program("p", {x}, {y}));
    BlockRef b = s.block(y);
    auto [i, k] = s.loops<2>(b);
    if (way == 1) {
      auto [ko, ki] = s.split(k, {_, 4});
      s.rfactor(b, ki);
    }
    if (way == 2) {
      auto [ko, ki] = s.split(k, {_, 4});
      s.rfactor(b, ko);
    }
    if (way == 3) {
      auto [ko, ki] = s.split(k, {_, 4});
      s.reorder({ko, i, ki});
      s.cache_write(b, Scope::Local, ko);
    }
    if (way == 4) {
      s.decompose_reduction(b, i);
    }
    if (way == 5) {
      auto [ko, ki] = s.split(k, {_, 4});
      s.decompose_reduction(b, ko);
    }
    std::vector<double> want;
    for (int q = 0; q < n; ++q) {
      double t = 100;
      for (int e = 0; e < K; ++e) t += q * K + e;
      want.push_back(t);
    }
    same(values(s, {Array::iota(i32, {n, K})}), want);
  }
}

TEST_CASE("a condition that leaves out all elements of a row gives the identity, in parts and tails") {
  for (int way = 0; way < 4; ++way) {
    INFO(way);
    constexpr std::int64_t n = 7, K = 13;
    Tensor x = placeholder("x", {n, K}, f32);
    Axis r = reduce_axis(K, "r");
    Tensor y = compute("y", {n}, [&](Var i) { return max(x(i, r), {r}, where(r < i * 3 - 3)); });
    Schedule s(program("p", {x}, {y}));
    BlockRef b = s.block(y);
    auto [i, k] = s.loops<2>(b);
    auto [ko, ki] = s.split(k, {_, 4});
    if (way == 1) {
      BlockRef f = s.rfactor(b, ki);
      s.vectorize(s.loops(f)[2 - 0]);
    }
    if (way == 2) {
      auto [io, ii] = s.split(i, {_, 4});
      s.reorder({io, ko, ki, ii});
      s.vectorize(ii);
    }
    if (way == 3) {
      BlockRef f = s.rfactor(b, ko);
      s.parallel(s.loops(f)[1]);
    }
    std::vector<double> want;
    for (int q = 0; q < n; ++q) {
      double t = -Inf;
      for (int e = 0; e < K; ++e)
        if (e < q * 3 - 3) t = std::max(t, double(q * K + e));
      want.push_back(t);
    }
    same(values(s, {Array::iota(f32, {n, K})}), want);
  }
}

TEST_CASE("sums and products of narrow integers wrap in lanes of partial results") {
  for (DataType t : {u8, i8, u16, i16, u64})
    for (int op = 0; op < 2; ++op)
      for (int way = 0; way < 3; ++way) {
        INFO(t.str() << op << way);
        constexpr std::int64_t K = 37;
        Tensor x = placeholder("x", {4, K}, t);
        Axis r = reduce_axis(K, "r");
        Tensor y = compute("y", {4}, [&](Var i) { return op ? prod(x(i, r), {r}) : sum(x(i, r), {r}); });
        Schedule s(program("p", {x}, {y}));
        BlockRef b = s.block(y);
        auto [i, k] = s.loops<2>(b);
        if (way) {
          auto [ko, ki] = s.split(k, {_, 8});
          BlockRef f = s.rfactor(b, ki);
          auto l = s.loops(f);
          s.reorder({l[1], l[2]});
          if (way == 2) s.vectorize(l[2]);
        }
        Array in = Array::random(t, {4, K}, 3);
        for (int e = 0; e < in.size(); ++e) in.set_int(e, in.get_int(e) | 1);
        (void)outputs(s, {in});
      }
}

TEST_CASE("gathers by subscripts of every integer type, in lanes") {
  for (DataType t : {u8, i8, u16, i16, u32, i64, u64})
    for (int lanes : {1, 3, 8, 16}) {
      INFO(t.str() << lanes);
      Tensor x = placeholder("x", {200, 3}, f32), ix = placeholder("ix", {29}, t);
      Tensor y = compute("y", {29, 3}, [&](Var i, Var j) { return x(cast(index_type, ix(i)), j); });
      Schedule s(program("p", {x, ix}, {y}));
      auto [i, j] = s.loops<2>(s.block(y));
      s.reorder({j, i});
      auto [io, ii] = s.split(i, {_, lanes});
      if (lanes > 1) s.vectorize(ii);
      Array idx(t, {29});
      for (int q = 0; q < 29; ++q) idx.set_int(q, (q * 31) % (t == i8 ? 128 : 200));
      std::vector<double> want;
      for (int q = 0; q < 29; ++q)
        for (int c = 0; c < 3; ++c) want.push_back(idx.get_int(q) * 3 + c);
      same(values(s, {Array::iota(f32, {200, 3}), idx}), want);
    }
}

TEST_CASE("argmax and argmin over two axes keep NaN, infinities and ties, in parts and lanes") {
  for (int way = 0; way < 4; ++way)
    for (bool mx : {true, false}) {
      INFO(way << mx);
      Tensor x = placeholder("x", {6, 5, 7}, f32);
      Axis r = reduce_axis(5, "r"), q = reduce_axis(7, "q");
      auto a = compute("a", {6}, [&](Var i) {
        return mx ? argmax(x(i, r, q), {r, q}) : argmin(x(i, r, q), {r, q});
      });
      Schedule s(program("p", {x}, {a[0], a[1]}));
      BlockRef b = s.block(a[0]);
      auto [i, k, l] = s.loops<3>(b);
      if (way == 1) s.reorder({l, k});
      if (way == 2) {
        LoopRef f = s.fuse(k, l);
        auto [o, in] = s.split(f, {_, 8});
        BlockRef p = s.rfactor(b, in);
        s.vectorize(s.loops(p)[2]);
        (void)p;
      }
      if (way == 3) {
        s.reorder({k, l, i});
        s.vectorize(i);
      }
      Array in(f32, {6, 5, 7});
      for (int e = 0; e < in.size(); ++e) in.set(e, (e * 5) % 4);
      in.set({1, 3, 4}, NaN);
      in.set({1, 1, 6}, NaN);
      in.set({2, 0, 0}, Inf);
      in.set({2, 4, 6}, Inf);
      in.set({3, 2, 2}, -Inf);
      in.set({4, 4, 6}, NaN);
      for (int e = 0; e < 35; ++e) in.set(5 * 35 + e, e % 2 ? 0.0 : -0.0);
      auto out = outputs(s, {in});
      for (int n = 0; n < 6; ++n) {
        double best = mx ? -Inf : Inf;
        std::int64_t at = INT64_MAX;
        for (int e = 0; e < 35; ++e) {
          double v = in.get(n * 35 + e);
          if (std::isnan(v)) {
            best = v;
            at = e;
            break;
          }
          if (at == INT64_MAX || (mx ? v > best : v < best)) {
            best = v;
            at = e;
          }
        }
        CHECK(out[1].get_int(n) == at);
      }
    }
}

TEST_CASE("a producer at the part of a loop that was fused, split and fused again") {
  for (int f1 : {3, 7, 8})
    for (int f2 : {2, 5}) {
      INFO(f1 << " " << f2);
      Tensor x = placeholder("x", {7, 11, 5}, i32);
      Tensor y = compute("y", {7, 11, 5}, [&](Var i, Var j, Var k) { return x(i, j, k) * 3 + cast(i32, i); });
      Tensor z = compute("z", {5, 7}, [&](Var k, Var i) { return y(i, 10, k) - y(6 - i, 0, 4 - k); });
      Schedule s(program("p", {x}, {z}));
      auto [a, b] = s.loops<2>(s.block(z));
      LoopRef f = s.fuse(a, b);
      auto [o, m] = s.split(f, {_, f1});
      auto [o1, o2] = s.split(o, {_, f2});
      LoopRef g = s.fuse(o2, m);
      auto [g1, g2] = s.split(g, {_, 4});
      s.compute_at(s.block(y), g1);
      s.vectorize(g2);
      auto ls = s.loops(s.block(y));
      s.vectorize(ls.back());
      (void)outputs(s, {Array::random(i32, {7, 11, 5}, 1)});
    }
}

TEST_CASE("a reduction over tuples at a tile that is cut short, in parts and decomposed") {
  for (int way = 0; way < 5; ++way) {
    INFO(way);
    Tensor x = placeholder("x", {6, 20}, i32);
    Axis r = reduce_axis(20, "r");
    Reducer mm = reducer("minmax", {i32, i32},
                         [](const Values& a, const Values& b) {
                           return Values{min(a[0], b[0]), max(a[1], b[1])};
                         },
                         {INT32_MAX, INT32_MIN}, {.associative = true, .commutative = true});
    auto m = compute("m", {6}, [&](Var i) { return reduce(mm, {x(i, r), x(i, r)}, {r}); });
    Tensor y = compute("y", {6}, [&](Var i) { return m[1](i) - m[0](i); });
    Schedule s(program("p", {x}, {y}));
    BlockRef M = s.block(m[0]);
    auto [o, in] = s.split(s.loops<1>(s.block(y))[0], {_, 4});
    if (way >= 1) s.compute_at(M, o);
    auto k = s.split(s.loops(M).back(), {_, 3});
    if (way == 2) {
      const BlockRef f = s.rfactor(M, k[1]);
      s.vectorize(s.loops(f).back());
    }
    if (way == 3) s.unroll(k[1]);
    if (way == 4) s.decompose_reduction(M, k[0]);
    (void)outputs(s, {ints(i32, {6, 20})});
  }
}

TEST_CASE("a tile made one block moves to its consumer whole") {
  Tensor x = placeholder("x", {12, 16}, f32);
  Tensor y = compute("y", {12, 16}, [&](Var i, Var j) { return x(i, j) + 1.f; });
  Tensor z = compute("z", {12, 16}, [&](Var i, Var j) { return y(i, j) * 2; });
  Schedule s(program("p", {x}, {z}));
  auto [i, j] = s.loops<2>(s.block(y));
  auto [io, ii] = s.split(i, {_, 4});
  auto [jo, ji] = s.split(j, {_, 8});
  s.reorder({io, jo, ii, ji});
  BlockRef b = s.blockize(ii);
  auto [a, c] = s.loops<2>(s.block(z));
  auto [ao, ai] = s.split(a, {_, 4});
  s.compute_at(b, ao);
  s.vectorize(ji);
  (void)c;
  (void)ai;
  (void)outputs(s, {Array::iota(f32, {12, 16})});
}

TEST_CASE("an init of its own in a tile that is cut short, in lanes, down to tiles of one") {
  for (int f : {1, 3, 8, 16}) {
    INFO(f);
    Tensor x = placeholder("x", {17, 7}, f32);
    Axis r = reduce_axis(7, "r");
    Tensor c = compute("c", {17}, [&](Var i) { return sum(x(i, r), {r}); });
    Tensor y = compute("y", {17}, [&](Var i) { return c(i) * 2; });
    Schedule s(program("p", {x}, {y}));
    auto [o, in] = s.split(s.loops<1>(s.block(y))[0], {_, f});
    s.compute_at(s.block(c), o);
    auto l = s.loops(s.block(c));
    s.reorder({l[2], l[1]});
    BlockRef init = s.decompose_reduction(s.block(c), l[2]);
    s.vectorize(s.loops(init).back());
    s.vectorize(l[1]);
    s.vectorize(in);
    s.parallel(o);
    (void)outputs(s, {ints(f32, {17, 7})});
  }
}

TEST_CASE("sampled tiles, places and layouts replay to the same program, also where a block stays") {
  for (int seed = 0; seed < 12; ++seed) {
    INFO(seed);
    std::mt19937 g(seed);
    Tensor x = placeholder("x", {12, 30}, f32), w = placeholder("w", {30, 20}, f32, Constant);
    Axis r = reduce_axis(30, "r");
    Tensor c = compute("c", {12, 20}, [&](Var i, Var j) { return sum(x(i, r) * w(r, j), {r}); });
    Tensor y = compute("y", {12, 20}, [&](Var i, Var j) { return relu(c(i, j)); });
    Schedule s(
        program("p", {x, w}, {y}),
        [&](const Instruction&, const std::vector<std::vector<std::int64_t>>& o) { return g() % o.size(); });
    BlockRef Y = s.block(y), C = s.block(c);
    auto [i, j] = s.loops<2>(Y);
    auto fi = s.sample_tile(i, 3, 8);
    auto fj = s.sample_perfect_tile(j, 2);
    auto is = s.split(i, {fi[0], fi[1], fi[2]});
    auto js = s.split(j, {fj[0], fj[1]});
    s.reorder({is[0], js[0], is[1], is[2], js[1]});
    LoopRef at = s.sample_compute_location(C);
    s.compute_at(C, at);
    Factor p = s.sample_choice({2, 4, 5}, "w.pack");
    s.transform_layout(C, w, [&](const std::vector<Var>& v) {
      return std::vector<Expr>{floordiv(v[1], p), v[0], floormod(v[1], p)};
    });
    s.require(p * 2 <= 10);
    s.vectorize(js[1]);
    (void)outputs(s, {ints(f32, {12, 30}), ints(f32, {30, 20}, 2)});
    Schedule again(s.original());
    again.replay(s.trace());
    CHECK(structural_equal(again.program(), s.program()));
    CHECK(again.trace().to_json(true) == s.trace().to_json(true));
  }
}

TEST_CASE("convolutions with stride and dilation in prime tiles, the padding inlined or at a tile") {
  for (int st : {1, 2})
    for (int di : {1, 2}) {
      INFO(st << di);
      constexpr int H = 11, C = 3, O = 5;
      const int P = di, OH = (H + 2 * P - di * 2 - 1) / st + 1;
      Tensor x = placeholder("x", {H, H, C}, i32), w = placeholder("w", {3, 3, C, O}, i32);
      Axis a = reduce_axis(3, "a"), b = reduce_axis(3, "b"), c = reduce_axis(C, "c");
      Tensor p = compute("pad", {H + 2 * P, H + 2 * P, C}, [&](Var i, Var j, Var k) {
        return if_inside(x, {i - P, j - P, k}, 0);
      });
      Tensor y = compute("y", {OH, OH, O}, [&](Var i, Var j, Var o) {
        return sum(p(i * st + a * di, j * st + b * di, c) * w(a, b, c, o), {a, b, c});
      });
      Tensor z = compute("z", {OH, OH, O}, [&](Var i, Var j, Var o) { return max(y(i, j, o), 0); });
      for (int way = 0; way < 3; ++way) {
        Schedule s(program("p", {x, w}, {z}));
        if (way == 1) s.compute_inline(s.block(p));
        auto [i, j, o] = s.loops<3>(s.block(z));
        auto [jo, ji] = s.split(j, {_, 3});
        auto [oo, oi] = s.split(o, {_, 4});
        s.reorder({i, jo, oo, ji, oi});
        s.compute_at(s.block(y), oo);
        if (way == 2) s.compute_at(s.block(p), jo);
        s.vectorize(oi);
        auto l = s.loops(s.block(y));
        s.reorder({l[l.size() - 3], l[l.size() - 2], l[l.size() - 1], l[l.size() - 4]});
        s.vectorize(l[l.size() - 4]);
        (void)outputs(s, {ints(i32, {H, H, C}), ints(i32, {3, 3, C, O}, 3)});
      }
    }
}

TEST_CASE("a pyramid of run-time size, its stages at tiles that are cut short, staged and in lanes") {
  Var n = size("n");
  Tensor x = placeholder("x", {4 * n + 8}, i32);
  Tensor a = compute("a", {2 * n + 3}, [&](Var i) { return x(2 * i) + x(2 * i + 1); });
  Tensor b = compute("b", {n + 1}, [&](Var i) { return a(2 * i) + a(2 * i + 1); });
  Tensor c = compute("c", {n}, [&](Var i) { return b(i) * 3 - b(i + 1); });
  for (int way = 0; way < 4; ++way) {
    Schedule s(program("p", {n, x}, {c}));
    auto [o, in] = s.split(s.loops<1>(s.block(c))[0], {_, 5}, way & 1 ? Tail::Peel : Tail::Guard);
    s.compute_at(s.block(b), o);
    s.compute_at(s.block(a), o);
    if (way & 2) {
      auto l = s.loops(s.block(a));
      s.vectorize(s.split(l.back(), {_, 4})[1]);
      BlockRef k = s.cache_read(s.block(a), x, Scope::Local);
      s.compute_at(k, o);
    }
    s.vectorize(in);
    for (std::int64_t N : {0, 1, 4, 5, 6, 23}) {
      INFO(way << " " << N);
      (void)outputs(s, {ints(i32, {4 * N + 8})}, {N});
    }
  }
}

TEST_CASE("sums along diagonals under a condition, factored twice") {
  Tensor x = placeholder("x", {9, 9}, i32);
  Axis r = reduce_axis(9, "r");
  Tensor d = compute("d", {17}, [&](Var k) { return sum(x(r, k - r), {r}, where(k - r >= 0 && k - r < 9)); });
  for (int way = 0; way < 4; ++way) {
    INFO(way);
    Schedule s(program("p", {x}, {d}));
    BlockRef D = s.block(d);
    auto [k, l] = s.loops<2>(D);
    auto [a, b, c] = s.split(l, {_, 2, 3});
    if (way & 1) {
      s.rfactor(D, c);
    }
    if (way & 2) {
      BlockRef f = s.rfactor(D, way & 1 ? s.loops(D).back() : b);
      (void)f;
    }
    if (way == 0) {
      s.reorder({a, b, c, k});
      s.vectorize(k);
    }
    (void)outputs(s, {ints(i32, {9, 9})});
  }
}

TEST_CASE("image arithmetic: saturating sums and rounded averages of bytes") {
  Tensor x = placeholder("x", {40}, u8), y = placeholder("y", {40}, u8);
  Tensor z = compute("z", {40}, [&](Var i) { return cast(u8, min(cast(u16, x(i)) + cast(u16, y(i)), 255)); });
  Tensor a = compute("a", {40}, [&](Var i) { return cast(u8, (cast(u16, x(i)) + cast(u16, y(i)) + 1) / 2); });
  Schedule s(program("p", {x, y}, {z, a}));
  s.vectorize(s.split(s.loops<1>(s.block(z))[0], {_, 32})[1]);
  s.vectorize(s.split(s.loops<1>(s.block(a))[0], {_, 16})[1]);
  Array p = Array::random(u8, {40}, 1), q = Array::random(u8, {40}, 2);
  auto o = outputs(s, {p, q});
  for (int i = 0; i < 40; ++i) {
    CHECK(o[0].get_int(i) == std::min<int>(255, p.get_int(i) + q.get_int(i)));
    CHECK(o[1].get_int(i) == (p.get_int(i) + q.get_int(i) + 1) / 2);
  }
}

TEST_CASE("fused loops of run-time extents run in parallel and in lanes") {
  for (int way = 0; way < 4; ++way) {
    INFO(way);
    const Var n = size("n"), m = size("m"), l = size("l");
    Tensor x = placeholder("x", {n, m, l, 3}, f32);
    Axis r = reduce_axis(3, "r");
    Tensor t = compute("t", x.shape(), [&](Var i, Var j, Var k, Var c) { return x(i, j, k, c) * 2; });
    Tensor y = compute("y", {n, m, l}, [&](Var i, Var j, Var k) { return sum(t(i, j, k, r), {r}); });
    Schedule s(program("p", {n, m, l, x}, {y}));
    auto [i, j, k, c] = s.loops<4>(s.block(y));
    const LoopRef all = way < 2 ? s.fuse({i, j, k}) : s.fuse(i, j);
    if (way == 0) {
      s.parallel(all);
    } else {
      auto [outer, inner] = s.split(all, {_, 7});
      s.compute_at(s.block(t), inner);
      s.set_scope(s.block(t), Scope::Local);
      s.parallel(outer);
      if (way == 3) {
        auto [ko, ki] = s.split(k, {_, 4});
        s.reorder({ko, c, ki});
        s.vectorize(ki);
      }
    }
    for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
             {3, 5, 2}, {0, 4, 1}, {7, 1, 9}, {1, 1, 1}, {4, 6, 5}, {2, 3, 0}}) {
      INFO(sizes[0] << " " << sizes[1] << " " << sizes[2]);
      CHECK_NOTHROW(outputs(s, {ints(f32, {sizes[0], sizes[1], sizes[2], 3})}, sizes));
    }
  }
}
