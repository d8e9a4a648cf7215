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
