// Parallel loops and threads: orders, races, barriers, both meanings of thread-bound loops.

#include "behaviour/interp/programs.h"

namespace lathe::interp {
namespace {

const std::vector<Order> kOrders{Order::Forward, Order::Backward, Order::Random};

Outcome run_in(const Program& p, std::vector<Array> inputs, Order order, std::uint64_t seed = 0,
               Threads threads = Threads::Automatic) {
  Options o;
  o.order = order;
  o.seed = seed;
  o.threads = threads;
  return run(p, std::move(inputs), {}, o);
}

TEST_CASE("independent parallel iterations give the same in every order, without a race", "[interp]") {
  Buffer a("a", f32, {13, 5}), c("c", f32, {13});
  Var i("i"), j("j"), vi("vi"), vj("vj");
  Stmt b = block("c", {{vi, 13, i}, {vj, 5, j, IterKind::Reduce}},
                 store(c, {vi}, load(c, {vi}) + load(a, {vi, vj})), store(c, {vi}, 0.f));
  const Program p("p", {in(a), out(c)}, {}, parallel(i, 13, loop(j, 5, b)));
  const auto inputs = random_inputs(p, 1);
  const Outcome forward = run_in(p, inputs, Order::Forward);
  REQUIRE(forward.report.text() == "");
  for (Order order : kOrders) {
    for (std::uint64_t seed : {0, 1, 2}) {
      const Outcome o = run_in(p, inputs, order, seed);
      REQUIRE(o.report.text() == "");
      REQUIRE(o["c"] == forward["c"]);
    }
  }
}

TEST_CASE("every iteration of a parallel loop runs once in every order", "[interp]") {
  for (int n : {1, 2, 7, 12}) {
    Buffer c("c", i32, {n}), d("d", i32, {1});
    Var i("i");
    const Program p(
        "p", {out(c), inout(d)}, {},
        parallel(i, n, seq({store(c, {i}, cast(i32, i)), store(d, {0}, load(d, {0}) + make_int(i32, 1))})));
    for (Order order : kOrders) {
      const Outcome o = run_in(p, {Array(i32, {1})}, order, 5);
      REQUIRE(o["d"].get_int(0) == n);
      for (int k = 0; k < n; ++k) REQUIRE(o["c"].get_int(k) == k);
    }
  }
}

TEST_CASE("parallel iterations that touch one element race when one of them writes", "[interp]") {
  Buffer a("a", i32, {8}), c("c", i32, {8});
  Var i("i"), j("j");
  auto report = [&](Expr write, Expr read) {
    const Program p("p", {inout(a)}, {}, parallel(i, 7, store(a, {write}, load(a, {read}) + cast(i32, i))));
    return run(p, {Array::iota(i32, {8})}).report;
  };
  REQUIRE(report(i, i).ok());
  REQUIRE(report(i, i + 1).has(ViolationKind::Race));  // read, then written by the next
  REQUIRE(report(i + 1, i).has(ViolationKind::Race));  // written, then read by the next
  REQUIRE(report(0, i + 1).has(ViolationKind::Race));  // both write
  REQUIRE(report(floordiv(i, 2), 7).has(ViolationKind::Race));
  // Two loops one after the other are ordered.
  const Program p(
      "p", {inout(a), out(c)}, {},
      seq({parallel(i, 8, store(a, {i}, cast(i32, i))), parallel(j, 8, store(c, {j}, load(a, {7 - j})))}));
  REQUIRE(run(p, {Array(i32, {8})}).report.text() == "");
}

TEST_CASE("many readers and one writer race whoever the writer is", "[interp]") {
  // Iterations i < n read element 0; iteration `writer` writes it.
  for (int writer = 0; writer < 5; ++writer) {
    for (Order order : kOrders) {
      Buffer a("a", i32, {1}), c("c", i32, {5});
      Var i("i");
      const Program p("p", {inout(a), out(c)}, {},
                      parallel(i, 5,
                               seq({store(c, {i}, load(a, {0})),
                                    make_stmt<If>(i == writer, store(a, {0}, cast(i32, i)))})));
      REQUIRE(run_in(p, {Array(i32, {1})}, order, 3).report.has(ViolationKind::Race));
    }
  }
}

TEST_CASE("a parallel loop inside a parallel loop races too", "[interp]") {
  Buffer c("c", i32, {4});
  Var i("i"), j("j");
  auto report = [&](Expr at) {
    return run(Program("p", {inout(c)}, {},
                       parallel(i, 4, parallel(j, 3, store(c, {at}, cast(i32, i * 8 + j))))),
               {Array(i32, {4})})
        .report;
  };
  REQUIRE(report(i).has(ViolationKind::Race));
  REQUIRE(report(j).has(ViolationKind::Race));
  Buffer d("d", i32, {4, 3});
  const Program apart("p", {out(d)}, {}, parallel(i, 4, parallel(j, 3, store(d, {i, j}, cast(i32, i)))));
  REQUIRE(run(apart, {}).report.text() == "");
}

/// c[t] = a[n - 1 - t] by way of memory that the threads of a block share.
Program reverse(int blocks, int n, bool with_barrier) {
  Buffer a("a", i32, {blocks * n}), s("s", i32, {n}, Scope::Shared), c("c", i32, {blocks * n});
  Var b("b"), t("t");
  Stmt body = seq({store(s, {t}, load(a, {b * n + t})), with_barrier ? barrier() : seq({}),
                   store(c, {b * n + t}, load(s, {n - 1 - t}))});
  return Program(
      "reverse", {in(a), out(c)}, {},
      bound(b, blocks, ThreadAxis::BlockX, make_stmt<Allocate>(s, bound(t, n, ThreadAxis::ThreadX, body))));
}

TEST_CASE("threads of a block see each other's shared memory behind a barrier", "[interp]") {
  for (int n : {1, 2, 33}) {
    const Program p = reverse(3, n, true);
    for (Order order : kOrders) {
      const Outcome o = run_in(p, {Array::iota(i32, {3 * n})}, order, 1);
      REQUIRE(o.report.text() == "");
      REQUIRE(o.report.barriers == 3);
      REQUIRE(o.report.buffer("s").instances == 3);
      for (int b = 0; b < 3; ++b) {
        for (int t = 0; t < n; ++t) REQUIRE(o["c"].get_int(b * n + t) == b * n + n - 1 - t);
      }
    }
  }
}

TEST_CASE("without the barrier it is a race, in every order", "[interp]") {
  for (Order order : kOrders) {
    const Outcome o = run_in(reverse(1, 8, false), {Array::iota(i32, {8})}, order, 1);
    REQUIRE((o.report.has(ViolationKind::Race) || o.report.has(ViolationKind::Uninitialized)));
  }
  // When no element is poison any more, only the race tells.
  const Outcome forward = run_in(reverse(1, 8, false), {Array::iota(i32, {8})}, Order::Backward);
  REQUIRE(forward.report.has(ViolationKind::Race));
}

TEST_CASE("blocks are not ordered by a barrier", "[interp]") {
  Buffer c("c", i32, {1});
  Var b("b"), t("t");
  Stmt body = seq({barrier(), make_stmt<If>(t == 0, store(c, {0}, cast(i32, b))), barrier()});
  const Program p("p", {inout(c)}, {},
                  bound(b, 2, ThreadAxis::BlockX, bound(t, 4, ThreadAxis::ThreadX, body)));
  REQUIRE(run(p, {Array(i32, {1})}).report.has(ViolationKind::Race));
}

TEST_CASE("a loop-carried use of shared memory needs two barriers", "[interp]") {
  auto program = [](bool second) {
    Buffer a("a", i32, {4, 8}), s("s", i32, {8}, Scope::Shared), c("c", i32, {4, 8});
    Var k("k"), t("t");
    Stmt body = seq({store(s, {t}, load(a, {k, t})), barrier(), store(c, {k, t}, load(s, {7 - t})),
                     second ? barrier() : seq({})});
    return Program("p", {in(a), out(c)}, {},
                   make_stmt<Allocate>(s, bound(t, 8, ThreadAxis::ThreadX, loop(k, 4, body))));
  };
  for (Order order : kOrders) {
    const Outcome good = run_in(program(true), {Array::iota(i32, {4, 8})}, order, 2);
    REQUIRE(good.report.text() == "");
    REQUIRE(good.report.barriers == 8);
    for (int k = 0; k < 4; ++k) REQUIRE(good["c"].get_int({k, 0}) == k * 8 + 7);
    REQUIRE(run_in(program(false), {Array::iota(i32, {4, 8})}, order, 2).report.has(ViolationKind::Race));
  }
}

TEST_CASE("a barrier that some threads do not reach is reported", "[interp]") {
  Var t("t"), k("k");
  Buffer c("c", i32, {8});
  Stmt fill = store(c, {t}, make_int(i32, 1));
  const Program some("p", {out(c)}, {},
                     bound(t, 8, ThreadAxis::ThreadX, seq({make_stmt<If>(t < 4, barrier()), fill})));
  REQUIRE(run(some, {}).report.has(ViolationKind::BarrierDivergence));
  const Program different(
      "p", {out(c)}, {},
      bound(t, 8, ThreadAxis::ThreadX, seq({make_stmt<If>(t < 4, barrier(), barrier()), fill})));
  REQUIRE(run(different, {}).report.has(ViolationKind::BarrierDivergence));
  const Program all("p", {out(c)}, {}, bound(t, 8, ThreadAxis::ThreadX, seq({loop(k, 3, barrier()), fill})));
  const Report r = run(all, {}).report;
  REQUIRE(r.text() == "");
  REQUIRE(r.barriers == 3);
}

TEST_CASE("a warp barrier orders the threads of a warp only", "[interp]") {
  auto program = [](int distance) {
    Buffer s("s", i32, {64}, Scope::Shared), c("c", i32, {64});
    Var t("t");
    Stmt body = seq({store(s, {t}, cast(i32, t)), make_stmt<Evaluate>(call(Intrinsic::BarrierWarp, {})),
                     store(c, {t}, load(s, {floormod(t + distance, 64)}))});
    return Program("p", {out(c)}, {}, make_stmt<Allocate>(s, bound(t, 64, ThreadAxis::ThreadX, body)));
  };
  // Within a warp: t + 1 of thread 31 is in the other warp, so exchange pairs instead.
  Buffer s("s", i32, {64}, Scope::Shared), c("c", i32, {64});
  Var t("t");
  Stmt pairs = seq({store(s, {t}, cast(i32, t)), make_stmt<Evaluate>(call(Intrinsic::BarrierWarp, {})),
                    store(c, {t}, load(s, {t + 1 - floormod(t, 2) * 2}))});
  const Program inside("p", {out(c)}, {}, make_stmt<Allocate>(s, bound(t, 64, ThreadAxis::ThreadX, pairs)));
  for (Order order : kOrders) {
    const Outcome o = run_in(inside, {}, order, 4);
    REQUIRE(o.report.text() == "");
    REQUIRE(o["c"].get_int(5) == 4);
    REQUIRE_FALSE(run_in(program(32), {}, order, 4).report.ok());
  }
}

TEST_CASE("local memory made outside of the thread loop is each thread's own", "[interp]") {
  Buffer l("l", i32, {1}, Scope::Local), c("c", i32, {8});
  Var t("t"), u("u");
  Stmt first = bound(t, 8, ThreadAxis::ThreadX, store(l, {0}, cast(i32, t)));
  Stmt second = bound(u, 8, ThreadAxis::ThreadX, store(c, {u}, load(l, {0}) * make_int(i32, 3)));
  const Program p("p", {out(c)}, {}, make_stmt<Allocate>(l, seq({first, second})));
  for (Order order : kOrders) {
    const Outcome o = run_in(p, {}, order);
    REQUIRE(o.report.text() == "");
    for (int k = 0; k < 8; ++k) REQUIRE(o["c"].get_int(k) == 3 * k);
  }
}

TEST_CASE("threads on two axes are numbered x first", "[interp]") {
  Buffer c("c", i32, {2, 32});
  Buffer s("s", i32, {2, 32}, Scope::Shared);
  Var y("y"), x("x");
  // A warp is a row: warp barriers suffice to exchange within it.
  Stmt body =
      seq({store(s, {y, x}, cast(i32, y * 32 + x)), make_stmt<Evaluate>(call(Intrinsic::BarrierWarp, {})),
           store(c, {y, x}, load(s, {y, 31 - x}))});
  const Program p(
      "p", {out(c)}, {},
      make_stmt<Allocate>(s, bound(y, 2, ThreadAxis::ThreadY, bound(x, 32, ThreadAxis::ThreadX, body))));
  const Outcome o = run(p, {});
  REQUIRE(o.report.text() == "");
  REQUIRE(o["c"].get_int({1, 0}) == 63);
}

// ---- before synchronisation: block form ----------------------------------------------------------------

/// reverse() in block form: no barrier is written down, each statement at the level of the loop has one.
TEST_CASE("before synchronisation each statement of a thread-bound loop is followed by a barrier",
          "[interp]") {
  Buffer a("a", i32, {16}), s("s", i32, {16}, Scope::Shared), c("c", i32, {16});
  Var b("b"), t("t"), v("v"), w("w");
  Stmt load_it = block("s", {{v, 16, b * 8 + t}}, store(s, {v}, load(a, {v})));
  Stmt use_it =
      block("c", {{w, 16, b * 8 + t}}, store(c, {w}, load(s, {floordiv(w, 8) * 8 + 7 - floormod(w, 8)})));
  const Program p("p", {in(a), out(c)}, {s},
                  bound(b, 2, ThreadAxis::BlockX, bound(t, 8, ThreadAxis::ThreadX, seq({load_it, use_it}))));
  for (Order order : kOrders) {
    const Outcome o = run_in(p, {Array::iota(i32, {16})}, order, 1);
    REQUIRE(o.report.text() == "");
    for (int k = 0; k < 16; ++k) REQUIRE(o["c"].get_int(k) == k / 8 * 8 + 7 - k % 8);
    REQUIRE(o.report.buffer("s").instances == 2);
  }
  // With the other meaning there is no barrier.
  REQUIRE_FALSE(run_in(p, {Array::iota(i32, {16})}, Order::Forward, 0, Threads::Synchronized).report.ok());
}

TEST_CASE("a cooperative load inside a serial loop of the threads is shared by them", "[interp]") {
  // for t: for k: { for t': s[t'] = a[k, t'];  c[t] += s[7 - t] }, the inner loop bound to the same axis
  Buffer a("a", i32, {3, 8}), s("s", i32, {8}, Scope::Shared), c("c", i32, {8});
  Var t("t"), u("u"), k("k"), vt("vt"), vu("vu"), vk("vk"), vl("vl");
  Stmt load_it = block("s", {{vk, 3, k}, {vu, 8, u}}, store(s, {vu}, load(a, {vk, vu})));
  Stmt use_it = block("c", {{vt, 8, t}, {vl, 3, k, IterKind::Reduce}},
                      store(c, {vt}, load(c, {vt}) + load(s, {7 - vt})), store(c, {vt}, make_int(i32, 0)));
  const Program p(
      "p", {in(a), out(c)}, {s},
      bound(t, 8, ThreadAxis::ThreadX, loop(k, 3, seq({bound(u, 8, ThreadAxis::ThreadX, load_it), use_it}))));
  for (Order order : kOrders) {
    const Outcome o = run_in(p, {Array::iota(i32, {3, 8})}, order, 7);
    REQUIRE(o.report.text() == "");
    for (int x = 0; x < 8; ++x) REQUIRE(o["c"].get_int(x) == 3 * (7 - x) + 8 + 16);
    REQUIRE(o.report.buffer("s").instances == 3);
    REQUIRE(o.report.buffer("s").stores == 24);
  }
}

TEST_CASE("a thread-bound reduce loop is the serial reduction", "[interp]") {
  Buffer a("a", f32, {4, 32}), r("r", f32, {4}, Scope::Local), c("c", f32, {4, 32});
  Var i("i"), t("t"), j("j"), vi("vi"), vk("vk"), vm("vm"), vn("vn");
  // The sum over a row goes over the threads; then each thread uses it.
  Stmt sum = block("r", {{vi, 4, i}, {vk, 32, t, IterKind::Reduce}},
                   store(r, {vi}, load(r, {vi}) + load(a, {vi, vk})), store(r, {vi}, 0.f));
  Stmt use = block("c", {{vm, 4, i}, {vn, 32, j}}, store(c, {vm, vn}, load(a, {vm, vn}) - load(r, {vm})));
  const Program p(
      "p", {in(a), out(c)}, {r},
      bound(i, 4, ThreadAxis::BlockX,
            seq({bound(t, 32, ThreadAxis::ThreadX, sum), bound(j, 32, ThreadAxis::ThreadX, use)})));
  const auto inputs = random_inputs(p, 8);
  for (Order order : kOrders) {
    const Outcome o = run_in(p, inputs, order, 3);
    REQUIRE(o.report.text() == "");
    for (int row = 0; row < 4; ++row) {
      float total = 0;
      for (int k = 0; k < 32; ++k) total += o["a"].as<float>()[row * 32 + k];
      for (int k = 0; k < 32; ++k)
        REQUIRE(o["c"].as<float>()[row * 32 + k] == o["a"].as<float>()[row * 32 + k] - total);
    }
  }
}

TEST_CASE("threads that write different values to one element race, equal values do not", "[interp]") {
  Buffer a("a", i32, {8}), c("c", i32, {1});
  Var t("t"), vt("vt");
  auto report = [&](Expr value) {
    Stmt b = block("c", {{vt, 8, t}}, store(c, {0}, value));
    Options o;
    o.check_rewrites = false;
    return run(Program("p", {in(a), out(c)}, {}, bound(t, 8, ThreadAxis::ThreadX, b)),
               {Array::iota(i32, {8})}, {}, o)
        .report;
  };
  REQUIRE(report(load(a, {3})).text() == "");
  REQUIRE(report(load(a, {vt})).has(ViolationKind::Race));
}

TEST_CASE("virtual threads are threads before synchronisation", "[interp]") {
  Buffer a("a", i32, {2, 4}), l("l", i32, {2}, Scope::Local), c("c", i32, {2, 4});
  Var v("v"), t("t"), vv("vv"), vt("vt"), vv2("vv2"), vt2("vt2");
  Stmt first = block("l", {{vv, 2, v}, {vt, 4, t}}, store(l, {vv}, load(a, {vv, vt})));
  Stmt second =
      block("c", {{vv2, 2, v}, {vt2, 4, t}}, store(c, {vv2, vt2}, load(l, {vv2}) + make_int(i32, 1)));
  const Program p("p", {in(a), out(c)}, {l},
                  bound(v, 2, ThreadAxis::VThread, bound(t, 4, ThreadAxis::ThreadX, seq({first, second}))));
  for (Order order : kOrders) {
    const Outcome o = run_in(p, {Array::iota(i32, {2, 4})}, order, 1);
    REQUIRE(o.report.text() == "");
    for (int k = 0; k < 8; ++k) REQUIRE(o["c"].get_int(k) == k + 1);
  }
}

TEST_CASE("the lanes of a vectorised loop may not depend on one another", "[interp]") {
  Buffer a("a", i32, {9}), c("c", i32, {1});
  Var i("i"), vi("vi");
  auto report = [&](Expr write, Expr read) {
    Stmt b = block("b", {{vi, 8, i}}, store(a, {write}, load(a, {read}) + make_int(i32, 1)));
    return run(Program("p", {inout(a)}, {}, loop(i, 8, b, ForKind::Vectorized)), {Array::iota(i32, {9})})
        .report;
  };
  REQUIRE(report(vi, vi).ok());
  REQUIRE(report(vi + 1, vi).has(ViolationKind::Race));
  REQUIRE(report(vi, vi + 1).has(ViolationKind::Race));
  // A reduction takes turns, whatever runs it.
  Stmt sum = block("sum", {{vi, 9, i, IterKind::Reduce}}, store(c, {0}, load(c, {0}) + load(a, {vi})),
                   store(c, {0}, make_int(i32, 0)));
  const Outcome o =
      run(Program("p", {in(a), out(c)}, {}, loop(i, 9, sum, ForKind::Vectorized)), {Array::iota(i32, {9})});
  REQUIRE(o.report.text() == "");
  REQUIRE(o["c"].get_int(0) == 36);
}

TEST_CASE("vectorised loops one after the other, or inside a parallel loop, are ordered", "[interp]") {
  Buffer a("a", i32, {4, 8}), t("t", i32, {4, 8}), c("c", i32, {4, 8});
  Var i("i"), j("j"), k("k"), vi("vi"), vj("vj"), wi("wi"), wj("wj");
  Stmt first = loop(j, 8, block("t", {{vi, 4, i}, {vj, 8, j}}, store(t, {vi, vj}, load(a, {vi, vj}))),
                    ForKind::Vectorized);
  Stmt second = loop(k, 8, block("c", {{wi, 4, i}, {wj, 8, k}}, store(c, {wi, wj}, load(t, {wi, 7 - wj}))),
                     ForKind::Vectorized);
  for (ForKind kind : {ForKind::Serial, ForKind::Parallel}) {
    const Outcome o = run(Program("p", {in(a), out(c)}, {t}, loop(i, 4, seq({first, second}), kind)),
                          {Array::iota(i32, {4, 8})});
    REQUIRE(o.report.text() == "");
    REQUIRE(o["c"].get_int({3, 0}) == 31);
  }
}

TEST_CASE("shared memory made outside of the blocks is each block's own", "[interp]") {
  Buffer s("s", i32, {1}, Scope::Shared), c("c", i32, {4});
  Var b("b"), d("d"), t("t");
  Stmt body = seq({make_stmt<If>(t == 0, store(s, {0}, cast(i32, b))), barrier(),
                   make_stmt<If>(t == 1, store(c, {b}, load(s, {0})))});
  const Program good(
      "p", {out(c)}, {},
      make_stmt<Allocate>(s, bound(b, 4, ThreadAxis::BlockX, bound(t, 2, ThreadAxis::ThreadX, body))));
  for (Order order : kOrders) {
    const Outcome o = run_in(good, {}, order);
    REQUIRE(o.report.text() == "");
    for (int k = 0; k < 4; ++k) REQUIRE(o["c"].get_int(k) == k);
  }
  // What a kernel leaves there is gone in the next.
  const Program lost(
      "p", {out(c)}, {},
      make_stmt<Allocate>(s, seq({bound(b, 4, ThreadAxis::BlockX, store(s, {0}, cast(i32, b))),
                                  bound(d, 4, ThreadAxis::BlockX, store(c, {d}, load(s, {0})))})));
  REQUIRE(run(lost, {}).report.has(ViolationKind::Uninitialized));
}

}  // namespace
}  // namespace lathe::interp
