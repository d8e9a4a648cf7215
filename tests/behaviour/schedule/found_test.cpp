// What the schedule fuzzer found, each as the kind that it was.
#include "behaviour/schedule/programs.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

/// total[i] = sum of row i, out[i, j] = a[i, j] - total[i].
struct Centred {
  Tensor a, total, out;
  Program program;
};
Centred centred(std::int64_t m, std::int64_t n) {
  Centred t;
  t.a = placeholder("a", {m, n}, f32);
  Axis r = reduce_axis(n, "r");
  t.total = compute("total", {m}, [&](Var i) { return sum(t.a(i, r), {r}); });
  t.out = compute("out", {m, n}, [&](Var i, Var j) { return t.a(i, j) - t.total(i); });
  t.program = program("centred", {t.a}, {t.out});
  return t;
}

}  // namespace

TEST_CASE("sums kept in a tile below the only loop nest of a program") {
  // The loop was taken for the program's body, and every iteration wrote all of the result.
  const test::MatMul t = test::matmul(5, 7, 9);
  Schedule s(t.program);
  const auto l = s.loops<3>(s.block(t.c));
  s.cache_write(s.block(t.c), Scope::Local, l[0]);
  CHECK(disagreement(s) == "");
}

TEST_CASE("a staged result is stored before a consumer in the same loop reads it") {
  const Centred t = centred(5, 6);
  Schedule s(t.program);
  const BlockRef total = s.block(t.total);
  s.reverse_compute_at(s.block(t.out), s.loops<2>(total)[0]);
  s.cache_write(total, Scope::Local);
  CHECK(disagreement(s) == "");
}

TEST_CASE("a staged operand is copied after its producer in the same loop") {
  const Centred t = centred(5, 6);
  Schedule s(t.program);
  const BlockRef out = s.block(t.out);
  s.compute_at(s.block(t.total), s.loops<2>(out)[0]);
  s.cache_read(out, t.total, Scope::Local);
  CHECK(disagreement(s) == "");
}

TEST_CASE("partial results keep the value that a sum begins with") {
  Tensor a = placeholder("a", {4, 10}, f32);
  Axis r = reduce_axis(10, "r");
  Tensor y = compute("y", {4}, [&](Var i) { return sum(a(i, r), {r}, initial(2)); });
  Schedule s(program("p", {a}, {y}));
  s.rfactor(s.block(y), s.split(s.loops<2>(s.block(y))[1], {_, 4})[1]);
  CHECK(disagreement(s) == "");
}

TEST_CASE("partial results under a guard are moved with their guard") {
  for (std::int64_t n : {15, 16, 17, 1}) {
    Tensor a = placeholder("a", {3, n}, f32);
    Axis r = reduce_axis(n, "r");
    Tensor y = compute("y", {3}, [&](Var i) { return max(a(i, r), {r}); });
    Tensor z = compute("z", {3}, [&](Var i) { return y(i) + 1.f; });
    Schedule s(program("p", {a}, {z}));
    const BlockRef block = s.block(y);
    const auto parts = s.split(s.loops<2>(block)[1], {_, 8});
    const BlockRef partial = s.rfactor(block, parts[0]);
    s.compute_at(partial, s.loops(block)[0]);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("a split of an empty reduction still initialises") {
  Tensor a = placeholder("a", {5, 0}, f32);
  Axis r = reduce_axis(0, "r");
  Tensor y = compute("y", {5}, [&](Var i) { return sum(a(i, r), {r}); });
  for (int way = 0; way < 2; ++way) {
    Schedule s(program("p", {a}, {y}));
    const LoopRef k = s.loops<2>(s.block(y))[1];
    if (way == 0)
      s.split(k, {2, 3});
    else
      s.split(k, {_, 8});
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("a consumer moves only where each iteration holds all that it reads") {
  Tensor x = placeholder("x", {5, 5}, f32);
  Tensor y = compute("y", {5, 5}, [&](Var i, Var j) { return x(i, j) + 1.f; });
  Tensor diagonal = compute("diagonal", {5}, [&](Var i) { return y(i, i) * 2.f; });
  Schedule s(program("p", {x}, {diagonal}));
  const auto l = s.loops<2>(s.block(y));
  s.reorder({l[1], l[0]});
  const BlockRef d = s.block(diagonal);
  CHECK_FALSE(s.can([&](Schedule& t) { t.reverse_compute_at(d, l[0]); }));
  CHECK_FALSE(s.can([&](Schedule& t) { t.reverse_compute_at(d, l[1]); }));
}

TEST_CASE("a consumer does not move into iterations in which its producer does nothing") {
  Tensor x = placeholder("x", {1}, f32);
  Tensor y = compute("y", {1}, [&](Var i) { return x(i) + 1.f; });
  Tensor z = compute("z", {1}, [&](Var i) { return y(i) * 2.f; });
  Schedule s(program("p", {x}, {z}));
  const auto l = s.split(s.loops<1>(s.block(y))[0], {_, 13});
  const BlockRef Z = s.block(z);
  CHECK_FALSE(s.can([&](Schedule& t) { t.reverse_compute_at(Z, l[1]); }));
  s.reverse_compute_at(Z, l[0]);
  CHECK(disagreement(s) == "");
}

TEST_CASE("a producer is guarded like the consumer that it is computed for") {
  Tensor x = placeholder("x", {1}, f32), a = placeholder("a", {8}, f32);
  Tensor y = compute("y", {1}, [&](Var i) { return x(i) + 1.f; });
  Tensor z = compute("z", {8}, [&](Var i) { return y(0) + a(i); });
  Schedule s(program("p", {x, a}, {z}));
  const BlockRef Z = s.block(z);
  s.compute_at(s.block(y), s.loops<1>(Z)[0]);
  const auto l = s.split(s.loops<1>(Z)[0], {3, 3, 1});
  s.compute_at(s.cache_read(Z, 0, Scope::Local), l[2]);
  CHECK(disagreement(s) == "");
}

TEST_CASE("loops over nothing take every primitive that they take when they are full") {
  for (std::int64_t n : {6, 0}) {
    const Centred t = centred(3, n);
    Schedule s(t.program);
    const auto l = s.loops<2>(s.block(t.out));
    s.compute_at(s.block(t.total), l[0]);
    s.vectorize(s.split(l[1], {_, 4})[1]);
    s.parallel(l[0]);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("an accumulator contracts to a multiply-add, a difference does not") {
  // x*s - max(x*s) with one rounding is the rounding error of the product, times s.
  Tensor x = placeholder("x", {3}, f32);
  Axis r = reduce_axis(3, "r");
  Tensor top = compute("top", {}, [&] { return max(x(r) * 1e14f, {r}); });
  Tensor y = compute("y", {3}, [&](Var i) { return x(i) * 1e14f - top(); });
  Schedule s(program("p", {x}, {y}));
  const std::vector<interp::Array> in = {interp::Array(f32, {3}, {0.1, 0.2, 0.3})};
  CHECK(interp::run(lower::lower(s.program(), test::avx2()), in).outputs[0].get(2) == 0);
  const test::MatMul m = test::matmul(2, 2, 2);
  CHECK(to_string(lower::lower(m.program, test::avx2())).find("fma(") != std::string::npos);
}

TEST_CASE("a sum over a fused loop is initialised before it goes on") {
  // Split and reordered, the iterations of a row's sum would run from its middle: its init comes with its first element.
  for (std::int64_t factor : {2, 3, 7, 14}) {
    Tensor x = placeholder("x", {3, 7}, i64);
    Axis r = reduce_axis(7, "r");
    Tensor y = compute("y", {3}, [&](Var i) { return sum(x(i, r), {r}); });
    Schedule s(program("p", {x}, {y}));
    auto [i, k] = s.loops<2>(s.block(y));
    auto [outer, inner] = s.split(s.fuse(i, k), {_, factor});
    const bool can = s.can([&, outer = outer, inner = inner](Schedule& t) { t.reorder({inner, outer}); });
    CHECK(can == (factor == 7 || factor == 14));
    if (can) s.reorder({inner, outer});
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("lanes do not come to share what each had for itself") {
  // Iterations 2 and 3 both need y[3]. While only z reads it there, each has its own.
  Tensor x = placeholder("x", {4}, i32), w = placeholder("w", {4}, i32);
  Tensor y = compute("y", {4}, [&](Var i) { return x(i) * 3; });
  Tensor z = compute("z", {4}, [&](Var i) { return y(min(i * 2, 3)) + w(i); });
  Tensor out = compute("out", {4}, [&](Var i) { return z(3 - i) - 1; });
  const Program p = program("p", {x, w}, {out});
  for (int kind = 0; kind < 3; ++kind) {
    INFO(kind);
    Schedule s(p);
    const LoopRef loop = s.loops<1>(s.block(z))[0];
    const BlockRef Z = s.block(z), Out = s.block(out);
    s.compute_at(s.block(y), loop);
    if (kind == 0) s.vectorize(loop);
    if (kind == 1) s.parallel(loop);
    CHECK(s.can([&](Schedule& t) { t.compute_inline(Z); }) == (kind == 2));
    CHECK(s.can([&](Schedule& t) { t.compute_at(Z, t.loops<1>(Out)[0]); }) == (kind == 2));
    if (kind == 2) s.compute_inline(Z);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("a staged tile has no gaps that its store would write over") {
  for (int whole = 0; whole < 2; ++whole) {
    for (std::int64_t n : {8, 9, 6}) {
      INFO(whole << " of " << n);
      Tensor a = placeholder("a", {n, 3}, i32);
      Axis r = reduce_axis(3, "r");
      Tensor y = compute("y", {n}, [&](Var i) { return sum(a(i, r), {r}); });
      Schedule s(program("p", {a}, {y}));
      const BlockRef block = s.block(y);
      auto [i, k] = s.loops<2>(block);
      auto [outer, inner] = s.split(i, {_, 4});
      s.reorder({inner, k, outer});  // y[i_1], y[i_1 + 4], … in an iteration of i_1
      if (whole) {
        s.cache_write(block, Scope::Local);
      } else {
        CHECK_FALSE(s.can([&, k = k](Schedule& t) { t.cache_write(block, Scope::Local, k); }));
        s.reorder({outer, k, inner});
        s.cache_write(block, Scope::Local, k);
      }
      CHECK(disagreement(s) == "");
    }
  }
}

TEST_CASE("threads do not share a reduction whose sums are loaded and stored in passes") {
  Tensor a = placeholder("a", {5, 6}, f32);
  Axis r = reduce_axis(6, "r");
  Tensor y = compute("y", {5}, [&](Var i) { return sum(a(i, r), {r}); });
  Schedule s(program("p", {a}, {y}));
  const LoopRef k = s.loops<2>(s.block(y))[1];
  Schedule whole = s.fork();
  s.cache_write(s.block(y), Scope::Local, k);
  CHECK_FALSE(s.can([&](Schedule& t) { t.bind(k, ThreadAxis::ThreadX); }));
  whole.bind(k, ThreadAxis::ThreadX);
  CHECK_FALSE(whole.can([&](Schedule& t) { t.cache_write(t.block(y), Scope::Local, k); }));
}

TEST_CASE("sums live on from pass to pass though their only reader never reads them") {
  Tensor a = placeholder("a", {1}, u8);
  Axis r = reduce_axis(4, "r");
  Tensor y = compute("y", {1}, [&](Var i) { return sum(a(i) + cast(u8, r), {r}); });
  Tensor z = compute("z", {1}, [&](Var i) { return if_inside(y, {i + 1}, 7) + a(i); });
  Schedule s(program("p", {a}, {z}));
  s.cache_write(s.block(y), Scope::Global, s.loops<2>(s.block(y))[1]);
  CHECK(disagreement(s) == "");
}

TEST_CASE("partial results over a loop of one iteration need that loop round the block") {
  Tensor a = placeholder("a", {4, 5}, f32);
  Axis r = reduce_axis(5, "r"), one = reduce_axis(1, "one");
  Tensor b = compute("b", {4, 5, 1}, [&](Var i, Var j, Var) { return a(i, j) + 1.f; });
  Tensor y = compute("y", {4}, [&](Var i) { return sum(b(i, r, one), {r, one}); });
  Schedule s(program("p", {a}, {y}));
  const LoopRef other = s.loops<3>(s.block(b))[2], own = s.loops<3>(s.block(y))[2];
  const BlockRef block = s.block(y);
  CHECK_FALSE(s.can([&](Schedule& t) { t.rfactor(block, other); }));
  s.rfactor(block, own);
  CHECK(disagreement(s) == "");
}

TEST_CASE("virtual threads have local memory of their own") {
  Tensor a = placeholder("a", {3, 8}, f32);
  Tensor y = compute("y", {3, 8}, [&](Var i, Var j) { return a(i, j) * 2.f; });
  Schedule s(program("p", {a}, {y}));
  const BlockRef block = s.block(y), copy = s.cache_write(block, Scope::Local);
  const LoopRef outer = s.loops<2>(copy)[0];
  Schedule inside = s.fork();
  s.bind(outer, ThreadAxis::VThread);
  CHECK_THROWS_AS(verify(s, Target::parse("a100")), ScheduleError);
  inside.reverse_compute_at(copy, inside.loops<2>(block)[0]);
  inside.bind(inside.loops<2>(block)[0], ThreadAxis::VThread);
  verify(inside, Target::parse("a100"));
}

TEST_CASE("a padded dimension may have had a single element") {
  for (std::int64_t n : {1, 2, 0}) {
    INFO(n);
    Tensor a = placeholder("a", {n, 3}, f32);
    Tensor b = compute("b", {n, 3}, [&](Var i, Var j) { return a(i, j) + 1.f; });
    Tensor c = compute("c", {n, 3}, [&](Var i, Var j) { return b(i, j) * 2.f; });
    Schedule s(program("p", {a}, {c}));
    s.split(s.loops<2>(s.block(b))[0], {_, 4}, Tail::Pad);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("padding computes its surplus unconditionally only where all that it reads is written before") {
  for (std::int64_t n : {13, 16, 1}) {
    for (int way = 0; way < 3; ++way) {
      INFO(n << " way " << way);
      Tensor a = placeholder("a", {n}, f32);
      Tensor b = compute("b", {n}, [&](Var i) { return a(i) + 1.f; });
      Tensor c = compute("c", {n}, [&](Var i) { return b(i) * 2.f; });
      Tensor d = compute("d", {n}, [&](Var i) { return c(n - 1 - i); });
      Schedule s(program("p", {a}, {d}));
      if (way > 0) s.split(s.loops<1>(s.block(b))[0], {_, 8}, Tail::Pad);
      const LoopRef inner = s.split(s.loops<1>(s.block(c))[0], {_, 8}, Tail::Pad)[1];
      const bool select = to_string(s.get(s.block(c)).body).find("select") != std::string::npos;
      CHECK(select == (way == 0 && n % 8 != 0));
      if (way == 2) s.vectorize(inner);
      CHECK(disagreement(s) == "");
    }
  }
}

TEST_CASE("parallel loops and threads do not nest") {
  Tensor a = placeholder("a", {3, 4}, f32);
  Tensor b = compute("b", {3, 4}, [&](Var i, Var j) { return a(i, j) + 1.f; });
  Schedule s(program("p", {a}, {b}));
  const auto l = s.loops<2>(s.block(b));
  for (int outer : {0, 1}) {
    Schedule bound = s.fork(), parallel = s.fork();
    bound.bind(l[outer], ThreadAxis::ThreadX);
    CHECK_FALSE(bound.can([&](Schedule& t) { t.parallel(l[1 - outer]); }));
    parallel.parallel(l[outer]);
    CHECK_FALSE(parallel.can([&](Schedule& t) { t.bind(l[1 - outer], ThreadAxis::ThreadX); }));
  }
}

TEST_CASE("a condition that guards a load is not dropped for one that comes after the load") {
  Tensor a = placeholder("a", {3}, i32);
  Tensor y = compute(
      "y", {16}, [&](Var i) { return select(i < 5 && a(floordiv(i, 2)) >= 0 && i < 4, a(min(i, 2)), -1); });
  Schedule s(program("p", {a}, {y}));
  CHECK(disagreement(s) == "");
  s.split(s.loops<1>(s.block(y))[0], {_, 4});
  CHECK(disagreement(s) == "");
}

TEST_CASE("lanes of a fused loop's part are independent though the part does not divide") {
  for (auto [m, n, lanes] : {std::array<std::int64_t, 3>{3, 10, 4}, {4, 6, 8}, {5, 7, 7}, {1, 9, 4}}) {
    for (int way = 0; way < 3; ++way) {
      INFO(m << " x " << n << " by " << lanes << " way " << way);
      Tensor x = placeholder("x", {m, n}, i32);
      Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return x(i, j) * 3; });
      Schedule s(program("p", {x}, {y}));
      auto [i, j] = s.loops<2>(s.block(y));
      auto [outer, inner] = s.split(s.fuse(i, j), {_, lanes}, way == 2 ? Tail::Peel : Tail::Guard);
      s.parallel(outer);
      if (way > 0) s.vectorize(inner);
      CHECK(disagreement(s) == "");
    }
  }
}

TEST_CASE("blocks inside a block that never runs do not show in its regions") {
  Tensor x = placeholder("x", {8, 0}, f32);
  Axis r = reduce_axis(0, "r");
  Tensor y = compute("y", {0, 8}, [&](Var i, Var j) { return x(j, i); });
  Tensor z = compute("z", {8}, [&](Var i) { return sum(x(i, r), {r}); });
  for (const Tensor& t : {y, z}) {
    Schedule s(program("p", {x}, {t}));
    s.blockize(s.split(s.loops<2>(s.block(t))[1], {_, 2})[1]);
    CHECK(well_formed(s.program()).empty());
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("blocks are made of loops whose extents are known, round sums that somebody reads") {
  Var n = size("n");
  Tensor x = placeholder("x", {4, n}, f32), y = placeholder("y", {4, 6}, f32);
  Axis r = reduce_axis(n, "r"), q = reduce_axis(6, "q");
  Tensor total = compute("total", {4}, [&](Var i) { return sum(x(i, r), {r}); });
  auto [top, place] = compute("top", {4}, [&](Var i) { return argmax(y(i, q), {q}); });
  Schedule sized(program("p", {n, x}, {total})), pair(program("p", {y}, {place})),
      whole(program("p", {y}, {top, place}));
  CHECK_FALSE(sized.can([&](Schedule& t) { t.blockize(t.loops(t.block(total))[1]); }));
  CHECK_FALSE(pair.can([&](Schedule& t) { t.blockize(t.loops(t.blocks()[0])[1]); }));
  whole.blockize(whole.split(whole.loops(whole.blocks()[0])[1], {_, 3})[1]);
  CHECK(disagreement(whole) == "");
}

TEST_CASE("a larger copy does not disappear into the producer of what it copies") {
  const test::MatMul t = test::matmul(5, 6, 7);
  Tensor out = compute("out", {5, 6}, [&](Var i, Var j) { return t.c(i, j) + 1.f; });
  Schedule s(program("p", {t.a, t.b}, {out}));
  const BlockRef c = s.block(t.c);
  s.pad_einsum(c, {1, 4, 1});
  const std::vector<BlockRef> copies = s.pad_einsum(c, {8, 1, 4});
  for (BlockRef copy : copies) {
    if (s.can([&](Schedule& u) { u.reverse_compute_inline(copy); })) s.reverse_compute_inline(copy);
  }
  CHECK(disagreement(s) == "");
}

TEST_CASE("padding leaves alone what is stored in another layout") {
  Tensor a = placeholder("a", {5, 17}, f32), w = placeholder("w", {17, 4}, f32, Constant);
  Axis r = reduce_axis(17, "r");
  Tensor y = compute("y", {5, 4}, [&](Var i, Var j) { return sum(a(i, r) * w(r, j), {r}); });
  Schedule s(program("p", {a, w}, {y}));
  const BlockRef packed = s.transform_layout(s.block(y), w, [](const std::vector<Var>& v) {
    return std::vector<Expr>{v[1], floormod(v[0], 2), floordiv(v[0], 2)};
  });
  const auto l = s.loops<2>(packed);
  CHECK_FALSE(s.can([&](Schedule& t) { t.split(l[0], {_, 5}, Tail::Pad); }));
  s.split(l[1], {_, 3}, Tail::Pad);
  s.split(l[0], {_, 5});
  CHECK(disagreement(s) == "");
}

TEST_CASE("padding leaves alone what is stored where a dimension of one element was simplified away") {
  Tensor a = placeholder("a", {3, 1}, f32), w = placeholder("w", {7, 1}, f32, Constant);
  Axis r = reduce_axis(1, "r");
  Tensor y = compute("y", {3, 7}, [&](Var i, Var j) { return sum(a(i, r) * w(j, r), {r}); });
  Schedule s(program("p", {a, w}, {y}));
  const BlockRef packed = s.transform_layout(s.block(y), w, [](const std::vector<Var>& v) {
    return std::vector<Expr>{v[1], v[0]};
  });
  const auto l = s.loops<2>(packed);
  CHECK_FALSE(s.can([&](Schedule& t) { t.split(l[1], {8, _}, Tail::Pad); }));
  s.split(l[0], {_, 4}, Tail::Pad);
  CHECK(disagreement(s) == "");
}

TEST_CASE("domains are not padded where a dimension of one element was simplified away") {
  Tensor x = placeholder("x", {8, 15, 1}, f32);
  Axis q = reduce_axis(15, "q");
  Tensor total = compute("total", {8, 1}, [&](Var i, Var j) { return sum(x(i, q, j), {q}); });
  Tensor y = compute("y", {8, 1}, [&](Var i, Var j) { return total(i, j) + 1.f; });
  Schedule s(program("p", {x}, {y}));
  const BlockRef T = s.block(total);
  s.transform_layout(T, total, [](const std::vector<Var>& v) { return std::vector<Expr>{v[0], v[1]}; });
  CHECK_FALSE(s.can([&](Schedule& t) { t.pad_einsum(T, {1, 5, 1}); }));
  s.pad_einsum(T, {5, 1, 1});
  CHECK(disagreement(s) == "");
}

TEST_CASE("partial results of reductions whose lengths are known at run time") {
  for (auto [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 0}, {1, 1}, {7, 9}, {3, 31}}) {
    for (int way = 0; way < 4; ++way) {
      INFO(m << " x " << n << ", way " << way);
      Var rows = size("m"), columns = size("n");
      Tensor a = placeholder("a", {rows, 5, columns}, i32);
      Axis p = reduce_axis(5, "p"), r = reduce_axis(columns, "r");
      Tensor b = compute("b", {rows}, [&](Var i) { return sum(a(i, p, r), {p, r}); });
      Schedule s(program("p", {rows, columns, a}, {b}));
      const BlockRef B = s.block(b);
      const auto l = s.loops<3>(B);
      const auto q =
          way == 3 ? s.split(l[1], {_, 3})
                   : s.split(way == 2 ? s.fuse(l[1], l[2]) : l[2], {_, 4}, way ? Tail::Peel : Tail::Guard);
      const BlockRef part = s.rfactor(B, q[way == 1 ? 0 : 1], way % 2);
      if (way % 2 == 0) s.vectorize(s.loops(part).back());
      CHECK(disagreement(s, {m, n}) == "");
    }
  }
}

TEST_CASE("an empty reduction is initialised wherever the inferred factor of its split stands") {
  for (int open = 0; open < 3; ++open) {
    INFO(open);
    Tensor x = placeholder("x", {2, 0}, i32);
    Axis r = reduce_axis(0, "r");
    Tensor y = compute("y", {2}, [&](Var i) { return sum(x(i, r), {r}); });
    Schedule s(program("p", {x}, {y}));
    std::vector<SplitFactor> factors(3, 5);
    factors[open] = _;
    s.split(s.loops<2>(s.block(y))[1], factors);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("a nest of blocks is padded before it is one") {
  for (bool at_run_time : {false, true}) {
    Var n = size("n");
    const Expr rows = at_run_time ? Expr(n) : Expr(16);
    Tensor x = placeholder("x", {rows, 5}, i32);
    Tensor p = compute("p", {rows + 2, 5}, [&](Var i, Var j) { return if_inside(x, {i - 1, j}, 0); });
    Tensor y = compute("y", {rows, 5}, [&](Var i, Var j) { return p(i, j) + p(i + 2, j); });
    std::vector<ProgramInput> inputs{x};
    if (at_run_time) inputs.insert(inputs.begin(), n);
    Schedule s(program("p", inputs, {y}));
    const auto l = s.loops<2>(s.block(p));
    s.blockize(l[1]);
    CHECK_FALSE(s.can([&](Schedule& t) { t.split(l[0], {_, 7}, Tail::Pad); }));
    s.split(l[0], {_, 7});
    const std::vector<std::int64_t> sizes(at_run_time ? 1 : 0, 16);
    CHECK(disagreement(s, sizes) == "");
  }
}

TEST_CASE("a copy does not read what a block leaves out that compute_at cut down to every second element") {
  Tensor x = placeholder("x", {7}, f32);
  Tensor a = compute("a", {7}, [&](Var i) { return x(i) + 1; });
  Tensor b = compute("b", {4}, [&](Var i) { return a(i * 2) * 2; });
  Tensor c = compute("c", {3, 4}, [&](Var, Var j) { return b(j) + 1; });
  Schedule s(program("p", {x}, {c}));
  Schedule before = s.fork();
  s.compute_at(s.block(a), s.loops(s.block(b))[0]);
  s.compute_at(s.block(b), s.loops(s.block(c))[0]);
  const std::optional<ScheduleError> error =
      s.why_not([&](Schedule& t) { t.cache_read(t.block(b), 0, Scope::Local); });
  REQUIRE(error);
  CHECK(std::string(error->what()).find("with gaps between them") != std::string::npos);
  before.cache_read(before.block(b), 0, Scope::Local);
  CHECK(interp::run(before.program(), {interp::Array::full(f32, {7}, 1)})["c"].get(0) == 5);
}

TEST_CASE("a dimension of one element that is padded is declared as long as it is") {
  Tensor x = placeholder("x", {4, 1}, f32), y = placeholder("y", {1}, f32);
  Axis r = reduce_axis(1, "r");
  Tensor sums = compute("sums", {4}, [&](Var i) { return sum(x(i, r) * y(r), {r}); });
  Tensor out = compute("out", {4}, [&](Var i) { return sums(i) + 1; });
  Schedule s(program("p", {x, y}, {out}));
  const BlockRef padded = s.pad_einsum(s.block(sums), {3, 1})[0];
  s.split(s.loops(padded)[1], {_, 2}, Tail::Pad);
  CHECK(disagreement(s) == "");
  CHECK(structural_equal(program_from_json(to_json(s.program())), s.program()));
}
