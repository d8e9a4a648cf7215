// Relatives of the field reports of values_test.cpp and refused_test.cpp: the same faults, met from other sides.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "behaviour/cases/case.h"
#include "lathe/digest.h"

using namespace lathe;
using namespace lathe::cases;
using lathe::test::error_text;

TEST_CASE("like A10: unsigned comparison, division and minimum across the sign bit") {
  for (DataType t : {u8, u16, u32, u64}) {
    for (bool lanes : {false, true}) {
      INFO(t.str() << " lanes " << lanes);
      Tensor a = placeholder("a", {4}, t), b = placeholder("b", {4}, t);
      std::vector<Tensor> y = compute("y", {4}, [&](Var i) {
        const Expr d = a(i) - b(i);
        return std::vector<Expr>{min(d, b(i)),        max(d, b(i)),      d / make_int(t, 2),
                                 d % make_int(t, 10), cast(t, d < b(i)), floordiv(d, make_int(t, 3))};
      });
      Schedule s(program("p", {a, b}, y));
      if (lanes) s.vectorize(s.loops<1>(s.blocks()[0])[0]);
      const std::uint64_t mask = t.bits == 64 ? ~0ull : (1ull << t.bits) - 1;
      const std::vector<double> x = {0, 3, 7, 1}, z = {1, 5, 2, 1};
      const std::vector<interp::Array> out = outputs(s, {interp::Array(t, {4}, x), interp::Array(t, {4}, z)});
      for (int i = 0; i < 4; ++i) {
        const auto p = static_cast<std::uint64_t>(x[i]), q = static_cast<std::uint64_t>(z[i]);
        const std::uint64_t d = (p - q) & mask;
        const std::uint64_t want[] = {std::min(d, q), std::max(d, q), d / 2, d % 10, d < q, d / 3};
        for (int k = 0; k < 6; ++k) CHECK((static_cast<std::uint64_t>(out[k].get_int(i)) & mask) == want[k]);
      }
    }
  }
}

TEST_CASE("like A13: quotients and remainders by negative constants under minima, as subscripts") {
  constexpr int n = 21;
  Tensor x = placeholder("x", {n}, i32);
  Tensor z = compute("z", {n}, [&](Var i) {
    const Expr v = i - 10;
    return x(min(floormod(v * -3, 7) * 3, 20)) + x(max(floordiv(v, -4), -2) + 2) * 100 +
           x(min(max(v * -1, v * 0), 20)) * 10000;
  });
  Schedule s(program("p", {x}, {z}));
  s.vectorize(s.loops<1>(s.block(z))[0]);
  auto floor_div = [](int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  std::vector<double> want;
  for (int v = -10; v <= 10; ++v) {
    const int mod = ((v * -3) % 7 + 7) % 7;
    want.push_back(std::min(mod * 3, 20) + (std::max(floor_div(v, -4), -2) + 2) * 100 +
                   std::max(-v, 0) * 10000);
  }
  CHECK(values(s, {interp::Array::iota(i32, {n})}) == want);
}

TEST_CASE("like A16: local stages of types of different widths keep apart") {
  Tensor a = placeholder("a", {37}, u8), b = placeholder("b", {37}, f64), c = placeholder("c", {37}, i16);
  Tensor y = compute("y", {37}, [&](Var i) { return cast(f64, a(i)) + b(36 - i) * 2.0 + cast(f64, c(i)); });
  Schedule s(program("p", {a, b, c}, {y}));
  const BlockRef block = s.block(y);
  auto [outer, inner] = s.split(s.loops<1>(block)[0], {_, 8});
  for (const Tensor& t : {a, b, c}) {
    const BlockRef stage = s.cache_read(block, t, Scope::Local);
    s.compute_at(stage, outer);
    s.vectorize(s.loops(stage).back());
  }
  s.vectorize(inner);
  std::vector<double> want;
  for (int i = 0; i < 37; ++i) want.push_back(i + (36 - i) * 2 - i * 100);
  interp::Array third(i16, {37});
  for (int i = 0; i < 37; ++i) third.set(i, -100 * i);
  CHECK(values(s, {interp::Array::iota(u8, {37}), interp::Array::iota(f64, {37}), third}) == want);
}

TEST_CASE("like A18: an argmax that does not vary with the lane, chosen by lane and by data") {
  Tensor x = placeholder("x", {3, 4}, i32), flag = placeholder("flag", {8}, i32);
  Axis r = reduce_axis(4, "r");
  auto [top, place] = compute("top", {3}, [&](Var i) { return argmax(x(i, r), {r}); });
  Tensor o = compute("o", {3, 8}, [&, top = top, place = place](Var i, Var c) {
    return select(flag(c) > 0 && c != 3, top(i), cast(i32, place(i)) - 100);
  });
  for (int way = 0; way < 3; ++way) {
    INFO(way);
    Schedule s(program("p", {x, flag}, {o}));
    auto [i, c] = s.loops<2>(s.block(o));
    if (way > 0) s.compute_at(s.block(top), way == 1 ? i : c);
    s.vectorize(c);
    std::vector<double> want;
    for (int row = 0; row < 3; ++row) {
      for (int k = 0; k < 8; ++k) want.push_back(k % 2 && k != 3 ? row * 4 + 3 : 3 - 100);
    }
    interp::Array flags(i32, {8});
    for (int k = 0; k < 8; ++k) flags.set(k, k % 2);
    CHECK(values(s, {interp::Array::iota(i32, {3, 4}), flags}) == want);
  }
}

TEST_CASE("like A19: a division and a nested read that only the condition makes safe, in lanes") {
  Tensor a = placeholder("a", {10}, i32), at = placeholder("at", {10}, i32);
  Tensor y = compute("y", {12}, [&](Var i) {
    const Expr inside = i >= 1 && i < 11;
    return select(inside && at(i - 1) >= 0 && at(i - 1) < 10 && a(cast(index_type, at(i - 1))) != 0,
                  100 / a(cast(index_type, at(i - 1))), -1);
  });
  Schedule s(program("p", {a, at}, {y}));
  s.vectorize(s.loops<1>(s.block(y))[0]);
  const std::vector<double> where = {0, 3, -1, 10, 9, 1000000, -1000000, 5, 2, 9};
  std::vector<double> want = {-1};
  for (double p : where) {
    const bool safe = p >= 0 && p < 10 && p != 0;
    want.push_back(safe ? static_cast<int>(100 / p) : -1);
  }
  want.push_back(-1);
  CHECK(values(s, {interp::Array::iota(i32, {10}), interp::Array(i32, {10}, where)}) == want);
}

TEST_CASE("like A21: truth values are compared, joined and reduced, and stay 0 or 1") {
  Tensor a = placeholder("A", {4, 5}, boolean);
  Axis r = reduce_axis(4, "r"), q = reduce_axis(4, "q");
  Tensor count = compute("count", {5}, [&](Var j) { return sum(cast(u8, a(r, j)), {r}); });
  Reducer any = reducer("any", boolean, [](Expr x, Expr y) { return x || y; }, Expr(false), {true, true});
  Tensor some = compute("some", {5}, [&](Var j) { return reduce(any, {a(q, j) == (j != 2)}, {q}); });
  Schedule s(program("p", {a}, {count, some}));
  s.vectorize(s.loops(s.block(count))[0]);
  s.vectorize(s.loops(s.block(some))[0]);
  interp::Array data(boolean, {4, 5});
  for (int k = 0; k < 20; ++k) data.set_int(k, k % 5 != 2 && k % 3 == 0);
  const std::vector<interp::Array> out = outputs(s, {data});
  for (int j = 0; j < 5; ++j) {
    int n = 0, found = 0;
    for (int k = 0; k < 4; ++k) {
      n += static_cast<int>(data.get_int(k * 5 + j));
      found |= (data.get_int(k * 5 + j) != 0) == (j != 2);
    }
    CHECK(out[0].get_int(j) == n);
    CHECK(out[1].get_int(j) == found);
  }
}

TEST_CASE("like B01 and B03: a product's loop run in parallel, fused with a free one, or bound to blocks") {
  Tensor v = placeholder("v", {4, 6}, i32);
  Axis k = reduce_axis(6, "k");
  Tensor o = compute("o", {4}, [&](Var i) { return prod(v(i, k), {k}); });
  Schedule s(program("p", {v}, {o}));
  auto [i, r] = s.loops<2>(s.block(o));
  const StructuralHash before = structural_hash(s.program());
  CHECK(error_text([&, r = r] { s.parallel(r); }).find("rfactor") != std::string::npos);
  CHECK(error_text([&, r = r] { s.bind(r, ThreadAxis::BlockX); }).find("LTH-S019") != std::string::npos);
  CHECK(structural_hash(s.program()) == before);
  const LoopRef fused = s.fuse(i, r);
  for (auto mark : {&Schedule::parallel, &Schedule::vectorize})
    CHECK(error_text([&] { (s.*mark)(fused, Site::current()); }).find("LTH-S019") != std::string::npos);
  CHECK(values(s, {filled(i32, {4, 6}, -2)}) == repeated(4, 64));
}

TEST_CASE("like B04: a reducer that is associative and not commutative keeps the order of its elements") {
  // (a, b) of affine maps x -> a x + b, composed left to right: associative, not commutative.
  Reducer compose = reducer("compose", {i32, i32},
                            [](const Values& f, const Values& g) {
                              return Values{f[0] * g[0], f[1] * g[0] + g[1]};
                            },
                            {Expr(1), Expr(0)}, {true, false});
  Tensor a = placeholder("a", {3, 8}, i32), b = placeholder("b", {3, 8}, i32);
  Axis k = reduce_axis(8, "k");
  const auto y = compute("y", {3}, [&](Var i) { return reduce(compose, {a(i, k), b(i, k)}, {k}); });
  Schedule s(program("p", {a, b}, {y[0], y[1]}));
  const BlockRef block = s.blocks()[0];
  auto [i, r] = s.loops<2>(block);
  auto [ro, ri] = s.split(r, {_, 2});
  CHECK_FALSE(s.can([&, ro = ro, ri = ri](Schedule& t) { t.reorder({ri, ro}); }));
  CHECK_FALSE(s.can([&, ri = ri](Schedule& t) { t.rfactor(block, ri); }));
  s.reorder({ro, ri, i});
  const std::vector<interp::Array> out =
      outputs(s, {filled(i32, {3, 8}, 2), interp::Array::iota(i32, {3, 8})});
  for (int row = 0; row < 3; ++row) {
    std::int64_t p = 1, q = 0;
    for (int c = 0; c < 8; ++c) p = p * 2, q = q * 2 + row * 8 + c;
    CHECK(out[0].get_int(row) == p);
    CHECK(out[1].get_int(row) == q);
  }
}

TEST_CASE("like B12: a marked loop is not marked otherwise, fused or split") {
  Tensor x = placeholder("x", {4, 16}, i32);
  Tensor y = compute("y", {4, 16}, [&](Var i, Var j) { return x(i, j) + 1; });
  for (int kind = 0; kind < 3; ++kind) {
    INFO(kind);
    Schedule s(program("p", {x}, {y}));
    auto [i, j] = s.loops<2>(s.block(y));
    const LoopRef marked = kind == 1 ? i : j;
    if (kind == 0) s.vectorize(j);
    if (kind == 1) s.parallel(i);
    if (kind == 2) s.unroll(j);
    const StructuralHash before = structural_hash(s.program());
    for (auto change :
         std::vector<std::function<void()>>{[&, i = i, j = j] { s.fuse(i, j); },
                                            [&] {
                                              s.split(marked, {_, 2});
                                            },
                                            [&] { s.vectorize(marked); }, [&] { s.parallel(marked); },
                                            [&] { s.bind(marked, ThreadAxis::ThreadX); }})
      CHECK(error_text(change).find("LTH-S") != std::string::npos);
    CHECK(structural_hash(s.program()) == before);
    CHECK(values(s, {filled(i32, {4, 16}, 1)}) == repeated(64, 2));
  }
}

TEST_CASE("like E07: a row with infinities and one of equal huge values") {
  for (int way = 0; way < 2; ++way) {
    Tensor x = placeholder("x", {4}, f32);
    Axis r = reduce_axis(4, "r"), q = reduce_axis(4, "q");
    Tensor top = compute("top", {}, [&] { return max(x(r), {r}); });
    Tensor total = compute("total", {}, [&] { return sum(exp(x(q) - top()), {q}); });
    Tensor out = compute("out", {4}, [&](Var i) { return x(i) - top() - log(total()); });
    Schedule s(program("p", {x}, {out}));
    s.vectorize(s.loops<1>(s.block(out))[0]);
    if (way == 1)
      s.vectorize(s.loops(s.rfactor(s.block(top), s.split(s.loops<1>(s.block(top))[0], {_, 2})[1])).back());
    const std::vector<double> huge = values(s, {filled(f32, {4}, 3e38)});
    for (double v : huge) CHECK(v == Approx(-std::log(4.0)));
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<double> low = values(s, {interp::Array(f32, {4}, {-inf, 0, -inf, 0})});
    CHECK(low[0] == -inf);
    CHECK(low[1] == Approx(-std::log(2.0)));
  }
}

TEST_CASE("like E10: the ends of 64-bit integers, folded and computed") {
  Tensor x = placeholder("x", {1}, i64), u = placeholder("u", {1}, u64);
  constexpr std::int64_t least = INT64_MIN;
  for (bool folded : {true, false}) {
    std::vector<Tensor> y = compute("y", {1}, [&](Var i) {
      const Expr low = folded ? make_int(i64, least) : x(i), big = folded ? make_int(u64, -1) : u(i);
      return std::vector<Expr>{truncdiv(low, make_int(i64, -1)),
                               truncmod(low, make_int(i64, -1)),
                               floordiv(low, make_int(i64, -1)),
                               abs(low),
                               -low,
                               truncdiv(big, make_int(u64, 10)),
                               cast(u64, cast(f64, big)),
                               cast(i64, big),
                               floordiv(low, make_int(i64, 0))};
    });
    Schedule s(program("p", {x, u}, y));
    interp::Array a(i64, {1}), b(u64, {1});
    a.set_int(0, least);
    b.set_int(0, -1);
    const std::vector<interp::Array> out = outputs(s, {a, b});
    const std::int64_t want[] = {least, 0, least, least, least, 1844674407370955161, -1, -1, 0};
    for (int k = 0; k < 9; ++k) CHECK(out[k].get_int(0) == want[k]);
  }
}

TEST_CASE("like E13: rows gathered through two tables, clamped, the producer attached to a tile") {
  for (int way = 0; way < 3; ++way) {
    INFO(way);
    Tensor a = placeholder("A", {6, 5}, i32), first = placeholder("first", {9}, i32),
           second = placeholder("second", {4}, i64);
    Tensor b = compute("B", {6, 5}, [&](Var i, Var j) { return a(i, j) * 2; });
    Tensor out = compute("out", {9, 5}, [&](Var i, Var j) {
      const Expr row = second(cast(index_type, max(min(first(i), 3), 0)));
      return b(max(min(cast(index_type, row), 5), 0), j);
    });
    Schedule s(program("p", {a, first, second}, {out}));
    auto [i, j] = s.loops<2>(s.block(out));
    auto [io, ii] = s.split(i, {_, 4});
    if (way == 1) s.compute_inline(s.block(b));
    if (way == 2) s.compute_at(s.block(b), io);
    s.vectorize(way == 0 ? ii : j);
    const std::vector<double> p = {0, 1, 2, 3, -5, 99, 2, 2, 0}, q = {5, -7, 3, 1000000};
    std::vector<double> want;
    for (double k : p) {
      const int at = static_cast<int>(std::max(std::min(k, 3.0), 0.0));
      const int row = static_cast<int>(std::max(std::min(q[at], 5.0), 0.0));
      for (int c = 0; c < 5; ++c) want.push_back((row * 5 + c) * 2);
    }
    CHECK(values(s, {interp::Array::iota(i32, {6, 5}), interp::Array(i32, {9}, p),
                     interp::Array(i64, {4}, q)}) == want);
  }
}

TEST_CASE("like E19: a ragged gather of which some rows are empty, and a window of nothing") {
  Tensor v = placeholder("v", {5}, i32), off = placeholder("off", {4}, i32);
  Tensor dense = compute("dense", {3, 4}, [&](Var b, Var r) {
    return select(cast(i32, r) < off(b + 1) - off(b), v(cast(index_type, off(b)) + r), -1);
  });
  Tensor none = placeholder("none", {0, 4}, i32);
  Axis k = reduce_axis(0, "k");
  Tensor total = compute("total", {4}, [&](Var i) { return sum(none(k, i), {k}); });
  Schedule s(program("p", {v, off, none}, {dense, total}));
  s.vectorize(s.fuse(s.loops<2>(s.block(dense))[0], s.loops<2>(s.block(dense))[1]));
  s.vectorize(s.loops<2>(s.block(total))[0]);
  const std::vector<interp::Array> out = outputs(
      s, {interp::Array::iota(i32, {5}), interp::Array(i32, {4}, {0, 3, 3, 5}), interp::Array(i32, {0, 4})});
  const std::vector<double> want = {0, 1, 2, -1, -1, -1, -1, -1, 3, 4, -1, -1};
  for (int p = 0; p < 12; ++p) CHECK(out[0].get(p) == want[p]);
  for (int p = 0; p < 4; ++p) CHECK(out[1].get(p) == 0);
}

namespace {

/// What a build of several kernels depends on, as one number.
std::string everything_made() {
  std::string all;
  const Target target = Target::parse("x86-64-v3");
  for (const char* spec : {"matmul(m=33,n=17,k=9)", "softmax(m=3,n=50)", "layer_norm(m=4,n=33)",
                           "conv2d(n=1,h=8,ci=3,co=5)", "attention(b=1,heads=2,seq=5,dim=8)"}) {
    const Workload w = Workload::parse(spec);
    const Schedule s = w.default_schedule(target);
    all += structural_hash(w.program).hex() + s.trace().to_json() +
           to_string(lower_until(s.program(), target)) + llvm_ir(s.program(), target);
    const std::vector<char> object = compile_object(s.program(), target);
    all.append(object.begin(), object.end());
  }
  return digest_of(all).hex();
}

}  // namespace

TEST_CASE("print everything that is made", "[.child]") {
  std::printf("MADE %s\n", everything_made().c_str());
}

TEST_CASE("F07: hashes, traces, code and objects are the same in every process") {
  // Another process has other addresses, and so another order of what is ordered by address.
  const std::string here = everything_made();
  for (int round = 0; round < 3; ++round) {
    char self[4096] = {};
    REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    FILE* child = popen((std::string("'") + self + "' 'print everything that is made'").c_str(), "r");
    REQUIRE(child);
    std::string text;
    for (char buffer[256]; fgets(buffer, sizeof buffer, child);) text += buffer;
    CHECK(pclose(child) == 0);
    CHECK(text.find("MADE " + here) != std::string::npos);
  }
}
