// Producers computed where stencils and chains of reductions need them: what the test suites of other schedule languages
// look at.
#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;

namespace {

interp::Array signed_data(DataType t, std::vector<std::int64_t> shape, std::uint64_t seed = 3) {
  return interp::Array::small_integers(t, std::move(shape), seed, 9);
}
/// "" when every form of the schedule agrees with the unscheduled program.
std::string wrong(const Schedule& s, const std::vector<interp::Array>& inputs) {
  try {
    outputs(s, inputs);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct Blur {
  Tensor in, across, out;
  Program program;
};
/// A 3x3 box filter in two passes over h x w.
Blur blur(std::int64_t h, std::int64_t w) {
  Blur b;
  b.in = placeholder("in", {h + 2, w + 2}, i32);
  b.across = compute("across", {h + 2, w},
                     [&](Var y, Var x) { return b.in(y, x) + b.in(y, x + 1) + b.in(y, x + 2); });
  b.out = compute("out", {h, w},
                  [&](Var y, Var x) { return b.across(y, x) + b.across(y + 1, x) + b.across(y + 2, x); });
  b.program = program("blur", {b.in}, {b.out});
  return b;
}

}  // namespace

TEST_CASE("a two-pass blur, its first pass at every loop of the second") {
  for (auto [h, w] : {std::pair<std::int64_t, std::int64_t>{8, 16}, {7, 15}, {9, 17}, {1, 1}, {3, 0}}) {
    for (int at = 0; at < 4; ++at) {
      INFO(h << " x " << w << " at " << at);
      const Blur b = blur(h, w);
      Schedule s(b.program);
      auto [y, x] = s.loops<2>(s.block(b.out));
      auto tile = s.tile(y, x, 4, 8);
      s.vectorize(tile[3]);
      s.compute_at(s.block(b.across), tile[at == 3 ? 2 : at]);
      if (at == 3) s.vectorize(s.split(s.loops(s.block(b.across)).back(), {_, 8})[1]);
      CHECK(wrong(s, {signed_data(i32, {h + 2, w + 2})}) == "");
    }
  }
}

TEST_CASE("a tile of a stencil is its halo large, no larger") {
  const Blur b = blur(16, 32);
  Schedule s(b.program);
  auto [y, x] = s.loops<2>(s.block(b.out));
  auto tile = s.tile(y, x, 4, 8);
  s.compute_at(s.block(b.across), tile[1]);
  const interp::Outcome run =
      interp::run(lower_until(s.program(), Target::host()), {signed_data(i32, {18, 34})});
  CHECK(run.report.peak_bytes == 6 * 8 * 4);
  CHECK(run.report.buffer("across").stores == 4u * 4 * 6 * 8);
}

TEST_CASE("a pyramid of strided stages, each at the tile of the last") {
  for (std::int64_t n : {16, 15, 17, 1, 0}) {
    INFO(n);
    Tensor in = placeholder("in", {4 * n + 6}, i32);
    Tensor a = compute("a", {4 * n + 4}, [&](Var i) { return in(i) + in(i + 2); });
    Tensor b = compute("b", {2 * n + 1}, [&](Var i) { return a(i * 2) - a(i * 2 + 1); });
    Tensor c = compute("c", {n}, [&](Var i) { return b(i * 2) + b(i * 2 + 1); });
    Schedule s(program("p", {in}, {c}));
    auto [outer, inner] = s.split(s.loops<1>(s.block(c))[0], {_, 8}, Tail::Peel);
    s.compute_at(s.block(b), outer);
    s.compute_at(s.block(a), outer);
    s.vectorize(inner);
    CHECK(wrong(s, {signed_data(i32, {4 * n + 6})}) == "");
  }
}

TEST_CASE("an image enlarged and shrunk: subscripts divided and multiplied") {
  for (std::int64_t n : {8, 7, 9, 1}) {
    INFO(n);
    Tensor in = placeholder("in", {n}, i32);
    Tensor up =
        compute("up", {3 * n}, [&](Var i) { return in(floordiv(i, 3)) * 10 + cast(i32, floormod(i, 3)); });
    Tensor down = compute("down", {n}, [&](Var i) { return up(i * 3 + 2) - up(i * 3); });
    Schedule s(program("p", {in}, {down}));
    auto [outer, inner] = s.split(s.loops<1>(s.block(down))[0], {_, 4});
    s.compute_at(s.block(up), outer);
    CHECK(wrong(s, {signed_data(i32, {n})}) == "");
    Schedule t(s.original());
    t.compute_inline(t.block(up));
    t.vectorize(t.loops<1>(t.block(down))[0]);
    CHECK(wrong(t, {signed_data(i32, {n})}) == "");
  }
}

TEST_CASE("floor division of negative subscripts under a guard") {
  Tensor in = placeholder("in", {6}, i32);
  Tensor out = compute("out", {16}, [&](Var i) { return if_inside(in, {floordiv(i - 5, 2)}, -1); });
  Schedule s(program("p", {in}, {out}));
  s.vectorize(s.split(s.loops<1>(s.block(out))[0], {_, 8})[1]);
  const std::vector<double> want = {-1, -1, -1, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5};
  CHECK(values(s, {interp::Array::iota(i32, {6})}) == want);
}

TEST_CASE("a reduction of a reduction, the inner one at each loop of the outer") {
  for (int at = 0; at < 3; ++at) {
    for (std::int64_t n : {6, 5, 1, 0}) {
      INFO(at << " of " << n);
      Tensor x = placeholder("x", {n, 7, 9}, i32);
      Axis r = reduce_axis(9, "r"), q = reduce_axis(7, "q");
      Tensor inner = compute("inner", {n, 7}, [&](Var i, Var j) { return max(x(i, j, r), {r}); });
      Tensor outer = compute("outer", {n}, [&](Var i) { return sum(inner(i, q), {q}); });
      Schedule s(program("p", {x}, {outer}));
      auto [i, k] = s.loops<2>(s.block(outer));
      auto [io, ii] = s.split(i, {_, 2});
      s.compute_at(s.block(inner), at == 0 ? io : at == 1 ? ii : k);
      CHECK(wrong(s, {signed_data(i32, {n, 7, 9})}) == "");
    }
  }
}

TEST_CASE("a row's sum, then its products with the row: the consumers meet the reduction in its row") {
  for (std::int64_t n : {8, 9, 1}) {
    Tensor x = placeholder("x", {5, n}, i32);
    Axis r = reduce_axis(n, "r");
    Tensor total = compute("total", {5}, [&](Var i) { return sum(x(i, r), {r}); });
    Tensor out = compute("out", {5, n}, [&](Var i, Var j) { return x(i, j) * total(i); });
    Schedule s(program("p", {x}, {out}));
    s.reverse_compute_at(s.block(out), s.loops(s.block(total))[0]);
    s.vectorize(s.loops(s.block(out)).back());
    s.parallel(s.loops(s.block(out))[0]);
    CHECK(wrong(s, {signed_data(i32, {5, n})}) == "");
  }
}

TEST_CASE("the place of the largest element, in parts, keeps the smaller index among equals") {
  for (std::int64_t n : {24, 23, 25, 1}) {
    for (int way = 0; way < 4; ++way) {
      INFO(n << " way " << way);
      Tensor x = placeholder("x", {3, n}, f32);
      Axis r = reduce_axis(n, "r");
      auto [top, place] = compute("top", {3}, [&](Var i) { return argmax(x(i, r), {r}); });
      Schedule s(program("p", {x}, {top, place}));
      const BlockRef block = s.blocks()[0];
      auto [i, k] = s.loops<2>(block);
      auto [ko, ki] = s.split(k, {_, 8});
      if (way == 1) s.reorder({ki, ko});
      if (way >= 2) {
        const BlockRef part = s.rfactor(block, way == 2 ? ki : ko, way - 2);
        if (way == 2) {
          s.reorder({ko, ki});
          s.vectorize(s.loops(part).back());
        }
      }
      interp::Array data(f32, {3, n});
      for (std::int64_t p = 0; p < 3 * n; ++p) data.set(p, static_cast<double>((p * 7) % 5));
      const std::vector<interp::Array> out = outputs(s, {data});
      for (std::int64_t row = 0; row < 3; ++row) {
        std::int64_t best = 0;
        for (std::int64_t c = 0; c < n; ++c) {
          if (data.get({row, c}) > data.get({row, best})) best = c;
        }
        CHECK(out[1].get_int(row) == best);
      }
    }
  }
}

TEST_CASE("NaN wins in max and argmax whatever the order") {
  Tensor x = placeholder("x", {16}, f32);
  Axis r = reduce_axis(16, "r");
  auto [top, place] = compute("top", {}, [&] { return argmax(x(r), {r}); });
  Schedule s(program("p", {x}, {top, place}));
  auto [ko, ki] = s.split(s.loops<1>(s.blocks()[0])[0], {_, 4});
  s.rfactor(s.blocks()[0], ki);
  interp::Array data = interp::Array::iota(f32, {16});
  data.set(5, std::nan(""));
  data.set(9, std::nan(""));
  const std::vector<interp::Array> out = outputs(s, {data});
  CHECK(std::isnan(out[0].get(0)));
  CHECK(out[1].get_int(0) == 5);
}

TEST_CASE("casts keep their meaning in lanes: wrapping, saturation, rounding") {
  Tensor x = placeholder("x", {9}, f32), k = placeholder("k", {9}, i32);
  std::vector<Tensor> y = compute("y", {9}, [&](Var i) {
    return std::vector<Expr>{cast(i8, x(i)), cast(u8, x(i)), cast(i8, k(i)), cast(u16, k(i)),
                             cast(f16, x(i))};
  });
  Schedule s(program("p", {x, k}, y));
  s.vectorize(s.loops(s.blocks()[0])[0]);
  const std::vector<double> reals = {-1.5, 1.5, 127.9, 128, -129, 300, 1e30, -1e30, 2.5};
  const std::vector<double> integers = {-1, 255, 256, 127, 128, -128, -129, 65536, 2147483647};
  const std::vector<interp::Array> out =
      outputs(s, {interp::Array(f32, {9}, reals), interp::Array(i32, {9}, integers)});
  const std::vector<double> to_i8 = {-1, 1, 127, 127, -128, 127, 127, -128, 2},
                            to_u8 = {0, 1, 127, 128, 0, 255, 255, 0, 2},
                            wrapped_i8 = {-1, -1, 0, 127, -128, -128, 127, 0, -1},
                            wrapped_u16 = {65535, 255, 256, 127, 128, 65408, 65407, 0, 65535};
  for (std::int64_t i = 0; i < 9; ++i) {
    CHECK(out[0].get(i) == to_i8[i]);
    CHECK(out[1].get(i) == to_u8[i]);
    CHECK(out[2].get(i) == wrapped_i8[i]);
    CHECK(out[3].get(i) == wrapped_u16[i]);
  }
  CHECK(std::isinf(out[4].get(6)));
}

TEST_CASE("a select that guards a subscript outside, as a clamp would not") {
  for (std::int64_t n : {8, 7, 9, 1}) {
    INFO(n);
    Tensor x = placeholder("x", {n}, f32), k = placeholder("k", {n}, i32);
    Tensor y = compute("y", {n}, [&](Var i) {
      const Expr at = cast(index_type, k(i));
      return select(at >= 0 && at < n, x(at), -1.f);
    });
    Schedule s(program("p", {x, k}, {y}));
    s.vectorize(s.split(s.loops<1>(s.block(y))[0], {_, 4})[1]);
    interp::Array places(i32, {n});
    std::vector<double> want;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = i % 3 == 0 ? -100000 : i % 3 == 1 ? i : 2147483647;
      places.set_int(i, at);
      want.push_back(at == i ? static_cast<double>(i) : -1);
    }
    CHECK(values(s, {interp::Array::iota(f32, {n}), places}) == want);
  }
}

TEST_CASE("consumers of one producer at different tiles") {
  for (std::int64_t n : {24, 23, 25, 1, 0}) {
    INFO(n);
    Tensor x = placeholder("x", {n + 2}, i32);
    Tensor p = compute("p", {n + 2}, [&](Var i) { return x(i) * 3; });
    Tensor a = compute("a", {n}, [&](Var i) { return p(i) + p(i + 2); });
    Tensor b = compute("b", {n}, [&](Var i) { return p(i + 1) - a(i); });
    Schedule s(program("p", {x}, {b, a}));
    auto [outer, inner] = s.split(s.loops<1>(s.block(b))[0], {_, 8});
    CHECK_FALSE(s.can([&, outer = outer](Schedule& t) { t.compute_at(t.block(p), outer); }));
    s.reverse_compute_at(s.block(b), s.split(s.loops<1>(s.block(a))[0], {_, 8})[0]);
    s.compute_at(s.block(p), s.loops(s.block(b))[0]);
    CHECK(wrong(s, {signed_data(i32, {n + 2})}) == "");
  }
}
