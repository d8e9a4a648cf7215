// Arithmetic and selection that must survive scheduling, vectorising and folding.
#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;

TEST_CASE("A10: unsigned differences wrap, however they are scheduled") {
  for (DataType t : {u8, u16, u32, u64}) {
    for (int way = 0; way < 4; ++way) {
      INFO(t.str() << " way " << way);
      Tensor t0 = placeholder("T0", {8}, t);
      Tensor t1 = compute("T1", {8}, [&](Var) { return make_int(t, 0); });
      Tensor t2 = compute("T2", {8, 8}, [&](Var i, Var j) { return t1(i) - t0(j); });
      Schedule s(program("p", {t0}, {t2}));
      auto [i, j] = s.loops<2>(s.block(t2));
      if (way == 1) s.compute_at(s.block(t1), i);
      if (way == 2) s.compute_inline(s.block(t1));
      if (way == 3) s.vectorize(j);
      const std::vector<double> x = {0, 3, 2, 0, 4, 0, 2, 0};
      const interp::Array out = outputs(s, {interp::Array(t, {8}, x)})[0];
      for (std::int64_t k = 0; k < 64; ++k) {
        const std::uint64_t mask = t.bits == 64 ? ~0ull : (1ull << t.bits) - 1;
        CHECK((static_cast<std::uint64_t>(out.get_int(k)) & mask) ==
              ((0 - static_cast<std::uint64_t>(x[k % 8])) & mask));
      }
    }
  }
}

TEST_CASE("A13: a subscript clamped by min and max of negative multiples") {
  constexpr std::int64_t n = 19;
  Tensor x = placeholder("x", {n}, i32);
  Tensor z = compute("z", {n}, [&](Var i) {
    const Expr v = i - 9;                                 // -9 .. 9
    const Expr first = floordiv(max(v * -2, -4) + 4, 2);  // 0 .. 11
    const Expr second = floordiv(min(v * 4, 0), -4);      // 0 .. 9
    const Expr third = min(v * -2, -4) + 18;              // 0 .. 14
    return x(first) + x(second) * 100 + x(third) * 10000;
  });
  Schedule s(program("p", {x}, {z}));
  s.vectorize(s.split(s.loops<1>(s.block(z))[0], {_, 4})[1]);
  std::vector<double> want;
  for (int v = -9; v <= 9; ++v) {
    const int first = (std::max(v * -2, -4) + 4) / 2, second = -std::min(v * 4, 0) / 4,
              third = std::min(v * -2, -4) + 18;
    want.push_back(first + second * 100 + third * 10000);
  }
  CHECK(values(s, {interp::Array::iota(i32, {n})}) == want);
}

TEST_CASE("A16: stages in local memory keep their offsets apart at any vector length") {
  for (std::int64_t lanes : {4, 8, 1024}) {
    INFO(lanes);
    Tensor a = placeholder("A", {1024}, f32), b = placeholder("B", {1024}, f32);
    Tensor c = compute("C", {1024}, [&](Var i) { return a(i) + b(i); });
    Schedule s(program("p", {a, b}, {c}));
    const BlockRef block = s.block(c);
    std::vector<BlockRef> all = {s.cache_read(block, a, Scope::Local), s.cache_read(block, b, Scope::Local)};
    all.push_back(s.cache_write(block, Scope::Local));
    all.push_back(block);
    for (BlockRef stage : all) s.vectorize(s.split(s.loops<1>(stage)[0], {_, lanes})[1]);
    interp::Array second(f32, {1024});
    for (std::int64_t i = 0; i < 1024; ++i) second.set(i, 5000.0 - 3.0 * static_cast<double>(i));
    std::vector<double> want;
    for (int i = 0; i < 1024; ++i) want.push_back(5000 - 2.0 * i);
    CHECK(values(s, {interp::Array::iota(f32, {1024}), second}) == want);
  }
}

TEST_CASE("A18: a reduction that does not vary with the lane, in a select by lane") {
  for (int way = 0; way < 3; ++way) {
    INFO(way);
    Tensor x = placeholder("x", {2, 2}, i32);
    Axis r = reduce_axis(2, "r");
    Tensor t = compute("s", {2, 2}, [&](Var i, Var j) { return sum(x(i, j) + cast(i32, r) + 1, {r}); });
    Tensor o =
        compute("o", {2, 2, 4}, [&](Var i, Var j, Var c) { return select(c == 3, Expr(255), t(i, j)); });
    Schedule s(program("p", {x}, {o}));
    auto [i, j, c] = s.loops<3>(s.block(o));
    if (way == 1) s.compute_at(s.block(t), j);
    if (way == 2) s.compute_at(s.block(t), c);
    s.vectorize(c);
    std::vector<double> want;
    for (int k = 0; k < 16; ++k) want.push_back(k % 4 == 3 ? 255 : 3);
    CHECK(values(s, {interp::Array(i32, {2, 2})}) == want);
  }
}

TEST_CASE("A19: a guarded load touches nothing outside, inlined and in lanes") {
  Tensor a = placeholder("A", {128}, f32);
  Tensor p = compute("P", {130}, [&](Var i) { return select(i >= 1, select(i < 129, a(i - 1), 0.f), 0.f); });
  Tensor out = compute("out", {130}, [&](Var i) { return p(i); });
  Schedule s(program("p", {a}, {out}));
  s.compute_inline(s.block(p));
  s.vectorize(s.split(s.loops<1>(s.block(out))[0], {_, 4})[1]);
  std::vector<double> want = repeated(130, 0);
  for (int i = 1; i < 129; ++i) want[i] = i - 1;
  const interp::Array x = interp::Array::iota(f32, {128});
  CHECK(values(s, {x}) == want);
  // The forbidden page once behind the tensor, as above, and once before it.
  const interp::Array other = fuzz::run_guarded(compile(s, Target::host()), s.original(), {x}, {},
                                                fuzz::GuardedMemory::Against::Start)[0];
  for (std::int64_t i = 0; i < 130; ++i) CHECK(other.get(i) == want[i]);
}

TEST_CASE("A21: conditions are joined by ||; their sum is refused") {
  Tensor a = placeholder("A", {3, 5}, f32);
  Axis r = reduce_axis(3, "r");
  Var i("i"), j("j");
  CHECK(test::error_text([&] { (i < 3) + (j < 1); }).find("LTH-D") != std::string::npos);
  Tensor p = compute("P", {3, 5}, [&](Var y, Var x) { return select(y < 3 || x < 1, a(y, x), 0.f); });
  Tensor t = compute("t", {5}, [&](Var x) { return sum(p(r, x), {r}); });
  Schedule s(program("p", {a}, {t}));
  s.compute_inline(s.block(p));
  s.vectorize(s.loops(s.block(t))[0]);
  CHECK(values(s, {filled(f32, {3, 5}, 1)}) == repeated(5, 3));
}

TEST_CASE("E07: softmax of a hugely scaled row has no NaN") {
  for (double scale : {-1.7e14, 1e14, 0.0, -0.0}) {
    INFO(scale);
    Tensor x = placeholder("x", {3}, f32);
    Axis r = reduce_axis(3, "r"), q = reduce_axis(3, "q");
    Tensor z = compute("z", {3}, [&](Var i) { return x(i) * make_float(f32, scale); });
    Tensor top = compute("top", {}, [&] { return max(z(r), {r}); });
    Tensor e = compute("e", {3}, [&](Var i) { return exp(z(i) - top()); });
    Tensor total = compute("total", {}, [&] { return sum(e(q), {q}); });
    Tensor out = compute("out", {3}, [&](Var i) { return e(i) / total(); });
    Schedule s(program("p", {x}, {out}));
    s.compute_inline(s.block(z));
    const std::vector<double> got = values(s, {interp::Array(f32, {3}, {1, 2, 3})});
    const std::vector<double> want = scale < 0   ? std::vector<double>{1, 0, 0}
                                     : scale > 0 ? std::vector<double>{0, 0, 1}
                                                 : repeated(3, static_cast<float>(1.0 / 3));
    for (int i = 0; i < 3; ++i) CHECK(got[i] == Approx(want[i]).margin(1e-7));
  }
}

TEST_CASE("E09: the variance of a row far from zero") {
  Workload w = Workload::parse("layer_norm(m=1,n=4)");
  Schedule s = w.default_schedule(Target::host());
  std::vector<interp::Array> in = {interp::Array(f32, {1, 4}, {80000, 80001, 80002, 80003}),
                                   filled(f32, {4}, 1), filled(f32, {4}, 0)};
  const interp::Array out = fuzz::run_guarded(compile(s, Target::host()), s.original(), in, {},
                                              fuzz::GuardedMemory::Against::End)[0];
  const double want[] = {-1.34164, -0.44721, 0.44721, 1.34164};
  for (int i = 0; i < 4; ++i) CHECK(out.get(i) == Approx(want[i]).epsilon(1e-4));
}

TEST_CASE("E10: integers are folded as integers") {
  Tensor x = placeholder("x", {1}, i64);
  const std::int64_t odd = 9007199254740993;  // 2^53 + 1
  std::vector<Tensor> y = compute("y", {1}, [&](Var i) {
    const Expr zero = make_int(i64, 0), one = make_int(i64, 1);
    return std::vector<Expr>{truncdiv(make_int(i64, odd), one),
                             truncmod(make_int(i64, odd), make_int(i64, 2)),
                             make_int(i64, 3037000500) * make_int(i64, 3037000500), truncdiv(one, zero),
                             select(x(i) == 0, one, floordiv(one, zero))};
  });
  Schedule s(program("p", {x}, y));
  const std::vector<interp::Array> out = outputs(s, {interp::Array(i64, {1})});
  CHECK(out[0].get_int(0) == odd);
  CHECK(out[1].get_int(0) == 1);
  CHECK(out[2].get_int(0) == -9223372036709301616);
  CHECK(out[3].get_int(0) == 0);
  CHECK(out[4].get_int(0) == 1);
}

TEST_CASE("E12: a shifted and padded source read by both halves of a concatenation") {
  Tensor x = placeholder("x", {20}, f64);
  Tensor p = compute("p", {20}, [&](Var i) { return if_inside(x, {i - 1}, 0.0); });
  Tensor out = compute("out", {20, 2}, [&](Var i, Var c) { return select(c == 0, p(i), x(i)); });
  Schedule s(program("p", {x}, {out}));
  s.compute_inline(s.block(p));
  s.vectorize(s.loops(s.block(out))[1]);
  std::vector<double> want;
  for (int i = 0; i < 20; ++i) {
    want.push_back(i == 0 ? 0 : i);
    want.push_back(i + 1);
  }
  interp::Array data(f64, {20});
  for (int i = 0; i < 20; ++i) data.set(i, i + 1);
  CHECK(values(s, {data}) == want);
}

TEST_CASE("E13: rows gathered by an index tensor, the producer inlined, attached or whole") {
  for (int way = 0; way < 3; ++way) {
    for (const std::vector<double>& rows : std::vector<std::vector<double>>{{2}, {0, 1, 2, 3}, {3, 3, 0}}) {
      INFO("way " << way << ", " << rows.size() << " rows");
      const std::int64_t n = static_cast<std::int64_t>(rows.size());
      Tensor a = placeholder("A", {4, 4}, f16), idx = placeholder("idx", {n}, i32);
      Tensor b = compute("B", {4, 4}, [&](Var i, Var j) { return a(i, j) + 1.0; });
      Tensor out = compute("out", {n, 4}, [&](Var i, Var j) { return b(cast(index_type, idx(i)), j); });
      Schedule s(program("p", {a, idx}, {out}));
      auto [i, j] = s.loops<2>(s.block(out));
      if (way == 1) s.compute_inline(s.block(b));
      if (way == 2) s.compute_at(s.block(b), i);
      s.vectorize(j);
      interp::Array data(f16, {4, 4});
      for (int r = 0; r < 16; ++r) data.set(r, 10 * (r / 4) + r % 4);
      std::vector<double> want;
      for (double r : rows) {
        for (int k = 0; k < 4; ++k) want.push_back(10 * r + k + 1);
      }
      CHECK(values(s, {data, interp::Array(i32, {n}, rows)}) == want);
    }
  }
}

TEST_CASE("E19: an empty tensor under a condition that never holds") {
  Tensor v = placeholder("v", {0}, f32), off = placeholder("off", {2}, i32),
         len = placeholder("len", {2}, i32);
  Tensor dense = compute("dense", {2, 3}, [&](Var b, Var r) {
    return select(cast(i32, r) < len(b), v(cast(index_type, off(b)) + r), 0.f);
  });
  Schedule s(program("p", {v, off, len}, {dense}));
  s.vectorize(s.loops(s.block(dense))[1]);
  CHECK(values(s, {interp::Array(f32, {0}), interp::Array(i32, {2}), interp::Array(i32, {2})}) ==
        repeated(6, 0));
}
