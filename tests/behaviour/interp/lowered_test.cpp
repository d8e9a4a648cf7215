// Lowered form: vectors, masks, lazy selects, narrow indices, allocation, counts.

#include <cmath>

#include "behaviour/interp/programs.h"

namespace lathe::interp {
namespace {

Stmt vector_store(const Buffer& b, Expr at, Expr value, Expr mask = {}) {
  return make_stmt<Store>(b, std::move(value), std::vector<Expr>{std::move(at)}, std::move(mask));
}
Expr vector_load(const Buffer& b, Expr at, Expr mask = {}) {
  return Expr(new Load(b, {std::move(at)}, std::move(mask)));
}

TEST_CASE("a vector loop with a masked tail touches each element once", "[interp]") {
  for (int n : {0, 1, 7, 8, 9, 17}) {
    CAPTURE(n);
    Buffer a("a", f32, {n}), c("c", f32, {n});
    Var i("i");
    Expr at = ramp(i * 8, 1, 8);
    Expr mask = at < broadcast(n, 8);
    const Program p("p", {in(a), out(c)}, {},
                    loop(i, (n + 7) / 8, vector_store(c, at, vector_load(a, at, mask) * 2.f, mask)));
    const Outcome o = run(p, random_inputs(p, 3));
    REQUIRE(o.report.text() == "");
    for (int k = 0; k < n; ++k) REQUIRE(o["c"].get(k) == 2 * o["a"].get(k));
    REQUIRE(o.report.loads == static_cast<std::uint64_t>(n));
    REQUIRE(o.report.stores == static_cast<std::uint64_t>(n));
    REQUIRE(o.report.ops(BinaryOp::Mul) == static_cast<std::uint64_t>((n + 7) / 8 * 8));
  }
}

TEST_CASE("strided, reversed and gathered lanes address the right elements", "[interp]") {
  Buffer a("a", i32, {32}), at("at", i64, {8}), c("c", i32, {24});
  Stmt strided = vector_store(c, ramp(0, 1, 8), vector_load(a, ramp(1, 4, 8)));
  Stmt reversed = vector_store(c, ramp(8, 1, 8), vector_load(a, ramp(31, -1, 8)));
  Stmt gathered =
      vector_store(c, ramp(16, 1, 8), vector_load(a, cast(index_type, vector_load(at, ramp(0, 1, 8)))));
  const Program p("p", {in(a), in(at), out(c)}, {}, seq({strided, reversed, gathered}));
  const Array where(i64, {8}, {3, 1, 4, 1, 5, 9, 2, 6});
  const Outcome o = run(p, {Array::iota(i32, {32}), where});
  REQUIRE(o.report.text() == "");
  for (int l = 0; l < 8; ++l) {
    REQUIRE(o["c"].get_int(l) == 1 + 4 * l);
    REQUIRE(o["c"].get_int(8 + l) == 31 - l);
    REQUIRE(o["c"].get_int(16 + l) == where.get_int(l));
  }
}

TEST_CASE("a lane that is off reads nothing and gives 0", "[interp]") {
  Buffer a("a", f32, {4}), c("c", f32, {8});
  Expr at = ramp(0, 1, 8);
  const Program p("p", {in(a), out(c)}, {}, vector_store(c, at, vector_load(a, at, at < broadcast(4, 8))));
  const Outcome o = run(p, {Array::full(f32, {4}, 3)});
  REQUIRE(o.report.text() == "");
  for (int l = 0; l < 8; ++l) REQUIRE(o["c"].get(l) == (l < 4 ? 3 : 0));
}

TEST_CASE("select evaluates only the side taken, lane by lane", "[interp]") {
  Buffer a("a", f32, {4}), c("c", f32, {8});
  Expr at = ramp(0, 1, 8), inside = at < broadcast(4, 8);
  // No mask on the load: out of bounds in the lanes whose side is not taken.
  const Program lanes(
      "p", {in(a), out(c)}, {},
      vector_store(c, at, select(inside, vector_load(a, at), make_const(f32.with_lanes(8), 7))));
  const Outcome o = run(lanes, {Array::full(f32, {4}, 3)});
  REQUIRE(o.report.text() == "");
  for (int l = 0; l < 8; ++l) REQUIRE(o["c"].get(l) == (l < 4 ? 3 : 7));
  REQUIRE(o.report.buffer("a").loads == 4);

  Var i("i");
  const Program scalar("p", {in(a), out(c)}, {}, loop(i, 8, store(c, {i}, select(i < 4, load(a, {i}), 7.f))));
  const Outcome s = run(scalar, {Array::full(f32, {4}, 3)});
  REQUIRE(s.report.text() == "");
  REQUIRE(s["c"] == o["c"]);
  REQUIRE(s.report.buffer("a").loads == 4);
}

TEST_CASE("a scalar under a vector select is read only when a lane takes its side", "[interp]") {
  Buffer a("a", f32, {4}), c("c", f32, {8});
  Var i("i");
  Expr never = broadcast(i > 0, 8);
  const Program p(
      "p", {in(a), out(c)}, {},
      loop(i, 1,
           vector_store(c, ramp(0, 1, 8),
                        select(never, broadcast(load(a, {i + 100}), 8), make_const(f32.with_lanes(8), 1)))));
  REQUIRE(run(p, {Array(f32, {4})}).report.text() == "");
}

TEST_CASE("the right side of && and || is evaluated only when it decides", "[interp]") {
  Buffer a("a", i32, {4}), c("c", i32, {8}), d("d", i32, {8});
  Var i("i");
  Expr both = select(i < 4 && load(a, {i}) > 1, make_int(i32, 1), make_int(i32, 0));
  Expr either = select(i >= 4 || load(a, {i}) > 1, make_int(i32, 1), make_int(i32, 0));
  const Program scalar("p", {in(a), out(c), out(d)}, {},
                       loop(i, 8, seq({store(c, {i}, both), store(d, {i}, either)})));
  Expr at = ramp(0, 1, 8), in_range = at < broadcast(4, 8);
  Expr big = vector_load(a, at) > make_const(i32.with_lanes(8), 1);
  Expr one = make_const(i32.with_lanes(8), 1), zero = make_const(i32.with_lanes(8), 0);
  const Program vector("p", {in(a), out(c), out(d)}, {},
                       seq({vector_store(c, at, select(in_range && big, one, zero)),
                            vector_store(d, at, select(!in_range || big, one, zero))}));
  for (const Program& p : {scalar, vector}) {
    const Outcome o = run(p, {Array::iota(i32, {4})});
    REQUIRE(o.report.text() == "");
    for (int k = 0; k < 8; ++k) {
      REQUIRE(o["c"].get_int(k) == (k == 2 || k == 3));
      REQUIRE(o["d"].get_int(k) == (k >= 2));
    }
    REQUIRE(o.report.buffer("a").loads == 8);
  }
}

TEST_CASE("index arithmetic that leaves its width is reported where it happens", "[interp]") {
  const DataType narrow{TypeCode::Index, 32};
  Buffer c("c", i64, {4});
  Var i("i");
  const Program wide("p", {out(c)}, {},
                     loop(i, 4, store(c, {i}, cast(i64, (i + (INT64_MAX - 2)) - INT64_MAX))));
  const Report w = run(wide, {}).report;
  REQUIRE(w.violation_count == 1);
  REQUIRE(w.violations[0].kind == ViolationKind::IndexOverflow);
  REQUIRE(w.violations[0].loops[0].second == 3);
  auto in_32_bits = [&](std::int64_t from) {
    Expr value = cast(narrow, i) + make_int(narrow, from);
    return run(Program("p", {out(c)}, {}, loop(i, 4, store(c, {i}, cast(i64, value)))), {})
        .report.violation_count;
  };
  REQUIRE(in_32_bits(INT32_MAX - 3) == 0);
  REQUIRE(in_32_bits(INT32_MAX - 2) == 1);
  // The conversion itself.
  const Program cut("p", {out(c)}, {},
                    loop(i, 4, store(c, {i}, cast(i64, cast(narrow, i * (std::int64_t{1} << 30))))));
  REQUIRE(run(cut, {}).report.violation_count == 2);
}

TEST_CASE("lanes switched off compute no index and report no overflow", "[interp]") {
  Buffer a("a", f32, {4}), c("c", f32, {4});
  Expr at = ramp(0, 1, 4);
  Expr far = at * broadcast(std::int64_t{1} << 62, 4);  // leaves 64 bits from lane 2 on
  const Program p(
      "p", {in(a), out(c)}, {},
      vector_store(c, at,
                   select(at < broadcast(1, 4), vector_load(a, far), make_const(f32.with_lanes(4), 5))));
  REQUIRE(run(p, {Array(f32, {4})}).report.text() == "");
}

TEST_CASE("vector reductions combine halves, or lanes in order when their number is odd", "[interp]") {
  Buffer a("a", f32, {8}), c("c", f32, {4}), d("d", f32, {1});
  Expr v = vector_load(a, ramp(0, 1, 8)), v3 = vector_load(a, ramp(0, 1, 3));
  const Program p(
      "p", {in(a), out(c), out(d)}, {},
      seq({store(c, {0}, call(Intrinsic::VectorSum, {v})), store(c, {1}, call(Intrinsic::VectorProd, {v})),
           store(c, {2}, call(Intrinsic::VectorMin, {v})), store(c, {3}, call(Intrinsic::VectorMax, {v})),
           store(d, {0}, call(Intrinsic::VectorSum, {v3}))}));
  const Outcome o = run(p, {Array::random(f32, {8}, 6)});
  REQUIRE(o.report.text() == "");
  const auto x = o["a"].as<float>();
  REQUIRE(o["c"].as<float>()[0] == ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])));
  REQUIRE(o["c"].as<float>()[1] == ((x[0] * x[4]) * (x[2] * x[6])) * ((x[1] * x[5]) * (x[3] * x[7])));
  REQUIRE(o["c"].as<float>()[2] == *std::min_element(x.begin(), x.end()));
  REQUIRE(o["c"].as<float>()[3] == *std::max_element(x.begin(), x.end()));
  REQUIRE(o["d"].as<float>()[0] == (x[0] + x[1]) + x[2]);
}

TEST_CASE("allocated memory is poisoned each time and counted", "[interp]") {
  Buffer a("a", f32, {4}), t("t", f32, {100}), c("c", f32, {4});
  Var i("i");
  Stmt body = make_stmt<Allocate>(
      t, seq({make_stmt<If>(i < 1, store(t, {0}, load(a, {i}))), store(c, {i}, load(t, {0}))}));
  const Program p("p", {in(a), out(c)}, {}, loop(i, 4, body));
  const Outcome o = run(p, {Array::full(f32, {4}, 2)});
  REQUIRE(o.report.violation_count == 3);
  REQUIRE(o["c"].get(0) == 2);
  for (int k = 1; k < 4; ++k) REQUIRE(std::isnan(o["c"].get(k)));
  REQUIRE(o.report.buffer("t").instances == 4);
  REQUIRE(o.report.buffer("t").peak_bytes == 400);
}

TEST_CASE("an allocation may depend on sizes and loops", "[interp]") {
  Var n("n"), i("i"), j("j"), k("k");
  Buffer t("t", i32, {(i + 1) * n}), c("c", i32, {4});
  Stmt fill = loop(j, (i + 1) * n, store(t, {j}, cast(i32, j)));
  const Program p("p", {out(c), size(n)}, {},
                  loop(i, 4, make_stmt<Allocate>(t, seq({fill, store(c, {i}, load(t, {(i + 1) * n - 1}))}))));
  const Outcome o = run(p, {}, {3});
  REQUIRE(o.report.text() == "");
  for (int r = 0; r < 4; ++r) REQUIRE(o["c"].get_int(r) == (r + 1) * 3 - 1);
  REQUIRE(o.report.peak_bytes == 48);
}

TEST_CASE("a flat program takes the arrays of the one that it was made from", "[interp]") {
  Buffer a("a", f32, {12}), c("c", f32, {12});
  Var i("i");
  const Program p("p", {in(a), out(c)}, {}, loop(i, 12, store(c, {i}, load(a, {i}) + 1.f)));
  Array x = Array::iota(f32, {3, 4}), y(f32, {3, 4});
  REQUIRE(execute(p, {x.view(), y.view()}).ok());
  REQUIRE(y.get({2, 3}) == 12);
  // One subscript for a parameter of two dimensions.
  Buffer b("b", f32, {3, 4});
  const Program q("q", {in(b), out(c)}, {}, loop(i, 12, store(c, {i}, Expr(new Load(b, {i})))));
  REQUIRE(run(q, {x})["c"].get(11) == 11);
}

TEST_CASE("host functions are called for external calls", "[interp]") {
  Buffer a("a", f32, {4}), c("c", f32, {4});
  Var i("i");
  Expr e(new Call(f32, Intrinsic::Extern, {load(a, {i}), cast(i32, i)}, "scale"));
  const Program p("p", {in(a), out(c)}, {}, loop(i, 4, store(c, {i}, e)));
  Options o;
  o.functions["scale"] = [](std::span<const Scalar> args) {
    return Scalar{f32, 0, args[0].f * static_cast<double>(args[1].i)};
  };
  const Outcome out = run(p, {Array::full(f32, {4}, 2)}, {}, o);
  for (int k = 0; k < 4; ++k) REQUIRE(out["c"].get(k) == 2 * k);
}

TEST_CASE("counts cover what ran and nothing else", "[interp]") {
  Buffer a("a", f32, {10}), c("c", f32, {10});
  Var i("i");
  Stmt body = make_stmt<If>(i < 3, store(c, {i}, fma(load(a, {i}), load(a, {i}), 1.f)),
                            store(c, {i}, exp(cast(f32, cast(i32, i)))));
  const Program p("p", {in(a), out(c)}, {}, loop(i, 10, body));
  const Report r = run(p, random_inputs(p, 1)).report;
  REQUIRE(r.calls(Intrinsic::Fma) == 3);
  REQUIRE(r.calls(Intrinsic::Exp) == 7);
  REQUIRE(r.casts == 14);
  REQUIRE(r.loads == 6);
  REQUIRE(r.stores == 10);
  REQUIRE(r.iterations == 10);
  REQUIRE(r.flops() == 6);
}

TEST_CASE("a prefetch reads nothing, wherever it points", "[interp]") {
  Buffer a("a", f32, {4}), c("c", f32, {1});
  const Program p(
      "p", {in(a), out(c)}, {},
      seq({make_stmt<Evaluate>(call(Intrinsic::Prefetch, {load(a, {1000})})), store(c, {0}, 1.f)}));
  const Report r = run(p, {Array(f32, {4})}).report;
  REQUIRE(r.text() == "");
  REQUIRE(r.loads == 0);
}

}  // namespace
}  // namespace lathe::interp
