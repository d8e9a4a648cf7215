// Schedules that must be refused at the call, and natural ones that must not be.
#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;
using lathe::test::error_text;

TEST_CASE("B01: lanes of a reduction are refused, with rfactor as the way out") {
  Tensor v = placeholder("V", {128}, f32);
  Axis k = reduce_axis(128, "k");
  Tensor o = compute("O", {1}, [&](Var) { return sum(v(k), {k}); });
  Schedule s(program("p", {v}, {o}));
  auto [i, r] = s.loops<2>(s.block(o));
  CHECK(error_text([&] { s.vectorize(r); }).find("rfactor") != std::string::npos);
  auto [outer, inner] = s.split(r, {_, 8});
  const StructuralHash before = structural_hash(s.program());
  CHECK(error_text([&] { s.vectorize(inner); }).find("rfactor") != std::string::npos);
  CHECK(structural_hash(s.program()) == before);
  const BlockRef partial = s.rfactor(s.block(o), inner);
  s.vectorize(s.loops(partial).back());
  CHECK(values(s, {filled(f32, {128}, 1)}) == repeated(1, 128));
}

TEST_CASE("B03: lanes that all store a maximum to one cell") {
  Tensor a = placeholder("a", {3, 64}, f32);
  Axis i = reduce_axis(8, "i"), j = reduce_axis(8, "j");
  Tensor t = compute("s", {3}, [&](Var y) { return max(a(y, i * 8 + j), {i, j}); });
  Schedule s(program("p", {a}, {t}));
  CHECK(error_text([&] { s.vectorize(s.loops<3>(s.block(t))[2]); }).find("LTH-S019") != std::string::npos);
  interp::Array data = interp::Array::iota(f32, {3, 64});
  CHECK(values(s, {data}) == std::vector<double>{63, 127, 191});
}

TEST_CASE("B04: a reducer that is not declared associative keeps its order") {
  Reducer minus = reducer(
      "minus", f32, [](Expr a, Expr b) { return a - b; }, Expr(0.f));
  Tensor a = placeholder("A", {4, 64}, f32);
  Axis k = reduce_axis(64, "k");
  Tensor b = compute("B", {4}, [&](Var i) { return reduce(minus, {a(i, k)}, {k}); });
  Schedule s(program("p", {a}, {b}));
  auto [i, r] = s.loops<2>(s.block(b));
  auto [ro, ri] = s.split(r, {_, 8});
  for (auto refused : std::vector<std::function<void()>>{[&, ro = ro, ri = ri] {
                                                           s.reorder({ri, ro});
                                                         },
                                                         [&, ri = ri] { s.rfactor(s.block(b), ri); },
                                                         [&, ri = ri] { s.bind(ri, ThreadAxis::ThreadX); }})
    CHECK(error_text(refused).find("not declared associative and commutative") != std::string::npos);
  CHECK(values(s, {filled(f32, {4, 64}, 1)}) == repeated(4, -64));
}

TEST_CASE("B07: the loop that a producer was attached to is split or fused afterwards") {
  for (bool split : {true, false}) {
    Tensor a = placeholder("A", {10, 10}, f32);
    Tensor p = compute("P", {10, 10}, [&](Var i, Var j) { return a(i, j); });
    Tensor b = compute("B", {10, 10}, [&](Var i, Var j) { return p(i, j); });
    Schedule s(program("p", {a}, {b}));
    auto [i, j] = s.loops<2>(s.block(b));
    s.compute_at(s.block(p), j);
    if (split)
      s.split(j, {_, 2});
    else
      s.fuse(i, j);
    CHECK(values(s, {filled(f32, {10, 10}, 1)}) == repeated(100, 1));
  }
}

TEST_CASE("B12: a loop that is vectorised already is not split again") {
  Tensor x = placeholder("x", {18}, f32);
  Tensor blur = compute("blur", {16}, [&](Var i) { return x(i) + x(i + 1) + x(i + 2); });
  Schedule s(program("p", {x}, {blur}));
  auto [outer, inner] = s.split(s.loops<1>(s.block(blur))[0], {_, 4});
  auto [mid, lane] = s.split(inner, {_, 2});
  s.vectorize(lane);
  for (int factor : {1, 8})
    CHECK(error_text([&, lane = lane] { s.split(lane, {_, factor}); }).find("vectori") != std::string::npos);
  std::vector<double> want;
  for (int i = 0; i < 16; ++i) want.push_back(3 * i + 3);
  CHECK(values(s, {interp::Array::iota(f32, {18})}) == want);
}

TEST_CASE("C18: nested loops on one block axis are refused") {
  Tensor x = placeholder("x", {8, 8}, f32);
  Tensor y = compute("y", {8, 8}, [&](Var i, Var j) { return x(i, j); });
  Schedule s(program("p", {x}, {y}));
  auto [i, j] = s.loops<2>(s.block(y));
  s.bind(i, ThreadAxis::BlockX);
  CHECK(error_text([&, j = j] { s.bind(j, ThreadAxis::BlockX); }).find("LTH-S021") != std::string::npos);
}
