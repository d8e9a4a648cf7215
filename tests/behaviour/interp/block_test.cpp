// Blocks: bindings, predicates, inits, intermediates and their instances.

#include "behaviour/interp/programs.h"

namespace lathe::interp {
namespace {

/// row[i] = sum over k < depth of a[i, k], with the loop nest that `nest` puts round the block. `nest` gets a
/// function from (binding of i, binding of k, predicate) to the block.
using Nest = std::function<Stmt(const std::function<Stmt(Expr, Expr, Expr)>&)>;
Program row_sum(int rows, int depth, const Nest& nest) {
  Buffer a("a", i32, {rows, depth}), c("c", i32, {rows});
  Var vi("vi"), vk("vk");
  auto make = [&](Expr bind_i, Expr bind_k, Expr predicate) {
    return block("c", {{vi, rows, bind_i}, {vk, depth, bind_k, IterKind::Reduce}},
                 store(c, {vi}, load(c, {vi}) + load(a, {vi, vk})), store(c, {vi}, make_int(i32, 0)),
                 predicate);
  };
  return Program("row_sum", {in(a), out(c)}, {}, nest(make));
}

void check_row_sum(const Program& p, int rows, int depth) {
  const Outcome o = run(p, random_inputs(p, 4));
  REQUIRE(o.report.text() == "");
  for (int i = 0; i < rows; ++i) {
    std::int64_t sum = 0;
    for (int k = 0; k < depth; ++k) sum += o["a"].get_int({i, k});
    REQUIRE(o["c"].get_int(i) == static_cast<std::int32_t>(sum));
  }
}

TEST_CASE("a reduction split with a guard sums each element once, for extents round the factor and 0",
          "[interp]") {
  for (int rows : {0, 1, 3, 4, 5}) {
    for (int depth : {0, 1, 3, 4, 5, 8}) {
      CAPTURE(rows, depth);
      Var io("io"), ii("ii"), ko("ko"), ki("ki");
      const int factor = 4;
      auto ceil = [&](int n) { return (n + factor - 1) / factor; };
      Expr i = io * factor + ii, k = ko * factor + ki;
      const Program p = row_sum(rows, depth, [&](auto make) {
        return loop(
            io, ceil(rows),
            loop(ko, ceil(depth), loop(ii, factor, loop(ki, factor, make(i, k, i < rows && k < depth)))));
      });
      check_row_sum(p, rows, depth);
      // The inner loop is the one that comes out as 0 or depth / factor.
      Expr outer = ko * ceil(depth) + ki;
      const Program q = row_sum(rows, depth, [&](auto make) {
        return loop(io, ceil(rows),
                    loop(ii, factor,
                         loop(ko, factor, loop(ki, ceil(depth), make(i, outer, i < rows && outer < depth)))));
      });
      check_row_sum(q, rows, depth);
    }
  }
}

TEST_CASE("a reduction whose loops were fused begins at every row, empty rows included", "[interp]") {
  for (int rows : {0, 1, 3}) {
    for (int depth : {0, 1, 5}) {
      CAPTURE(rows, depth);
      Var f("f");
      const Program p = row_sum(rows, depth, [&](auto make) {
        return loop(f, rows * depth, make(floordiv(f, depth), floormod(f, depth), true_expr()));
      });
      check_row_sum(p, rows, depth);
      // Fused and split again.
      Var fo("fo"), fi("fi");
      Expr both = fo * 4 + fi;
      const Program q = row_sum(rows, depth, [&](auto make) {
        return loop(fo, (rows * depth + 3) / 4,
                    loop(fi, 4, make(floordiv(both, depth), floormod(both, depth), both < rows * depth)));
      });
      check_row_sum(q, rows, depth);
    }
  }
}

TEST_CASE("an empty reduction begins where its spatial predicate holds, and nowhere else", "[interp]") {
  Var i("i"), k("k");
  const Program p = row_sum(4, 0, [&](auto make) { return loop(i, 4, loop(k, 0, make(i, k, i < 2))); });
  const Outcome o = run(p, random_inputs(p, 1));
  REQUIRE(o["c"].get_int(1) == 0);
  REQUIRE(o["c"].get_int(2) == -1);  // poison
  REQUIRE(o.report.has(ViolationKind::NotWritten));
  REQUIRE(o.report.buffer("c").stores == 2);
}

TEST_CASE("an empty reduction under a loop over sizes, parallel or bound, begins too", "[interp]") {
  Var n("n"), i("i"), k("k"), vi("vi"), vk("vk");
  Buffer a("a", f32, {5, n}), c("c", f32, {5});
  for (int kind = 0; kind < 3; ++kind) {
    Stmt b = block("c", {{vi, 5, i}, {vk, n, k, IterKind::Reduce}},
                   store(c, {vi}, load(c, {vi}) + load(a, {vi, vk})), store(c, {vi}, 0.f));
    Stmt inner = loop(k, n, b);
    Stmt body = kind == 0   ? parallel(i, 5, inner)
                : kind == 1 ? bound(i, 5, ThreadAxis::ThreadX, inner)
                            : loop(k, n, loop(i, 5, b));
    const Program p("p", {in(a), out(c), size(n)}, {}, body);
    for (std::int64_t depth : {0, 2}) {
      const Outcome o = run(p, integer_inputs(p, 2, {depth}), {depth});
      REQUIRE(o.report.text() == "");
      for (int r = 0; r < 5; ++r) {
        double sum = 0;
        for (int d = 0; d < depth; ++d) sum += o["a"].get({r, d});
        REQUIRE(o["c"].get(r) == sum);
      }
    }
  }
}

TEST_CASE("the init runs under the spatial predicate alone, once for each element", "[interp]") {
  Var i("i"), k("k");
  const Program p =
      row_sum(3, 5, [&](auto make) { return loop(i, 4, loop(k, 8, make(i, k, i < 3 && k < 5))); });
  const Outcome o = run(p, random_inputs(p, 1));
  REQUIRE(o.report.text() == "");
  REQUIRE(o.report.buffer("c").stores == 3 * 5 + 3);
}

/// b[i] = a[i] + 1 kept in `mid`, then c[i] = mid[i] * 2 + mid[i + shift].
struct TwoSteps {
  Buffer a{"a", i32, {8}}, mid{"mid", i32, {8}}, c{"c", i32, {8}};
  Var i{"i"}, j{"j"}, vi{"vi"}, vj{"vj"};
  Stmt first(Expr at) { return block("mid", {{vi, 8, at}}, store(mid, {vi}, load(a, {vi}) + 1)); }
  Stmt second(Expr at) { return block("c", {{vj, 8, at}}, store(c, {vj}, load(mid, {vj}) * 2)); }
  Program program(Stmt body) { return Program("two", {in(a), out(c)}, {mid}, body); }
};

TEST_CASE("an intermediate of the whole program has one instance", "[interp]") {
  TwoSteps t;
  const Program p = t.program(seq({loop(t.i, 8, t.first(t.i)), loop(t.j, 8, t.second(t.j))}));
  const Outcome o = run(p, random_inputs(p, 1));
  REQUIRE(o.report.text() == "");
  REQUIRE(o.report.buffer("mid").instances == 1);
  REQUIRE(o.report.peak_bytes == 32);
  for (int k = 0; k < 8; ++k) {
    REQUIRE(o["c"].get_int(k) ==
            static_cast<std::int32_t>(2 * (static_cast<std::uint32_t>(o["a"].get_int(k)) + 1)));
  }
}

TEST_CASE("an intermediate used inside a loop has an instance an iteration", "[interp]") {
  TwoSteps t;
  const Program p = t.program(loop(t.i, 8, seq({t.first(t.i), t.second(t.i)})));
  const Outcome o = run(p, random_inputs(p, 1));
  REQUIRE(o.report.text() == "");
  REQUIRE(o.report.buffer("mid").instances == 8);
  REQUIRE(o.report.buffer("mid").peak_bytes == 32);
}

TEST_CASE("nothing outlives the iteration that an instance belongs to", "[interp]") {
  TwoSteps t;
  // The consumer reads one element behind the producer: that was made in the last iteration, and is gone.
  const Program p = t.program(loop(t.i, 8, seq({t.first(t.i), t.second(max(t.i - 1, 0))})));
  const Outcome o = run(p, random_inputs(p, 1));
  REQUIRE(o.report.has(ViolationKind::Uninitialized));
  REQUIRE(o.report.violations[0].buffer == "mid");
  REQUIRE(o.report.violations[0].indices == std::vector<std::int64_t>{0});
  REQUIRE(o.report.violations[0].loops[0] == std::pair<std::string, std::int64_t>{"i", 1});
}

TEST_CASE("a reduction that nothing reads keeps its instance over its reduce loops", "[interp]") {
  Buffer a("a", i32, {4, 5}), t("t", i32, {4}), c("c", i32, {4});
  Var i("i"), k("k"), vi("vi"), vk("vk");
  Stmt dead = block("t", {{vi, 4, i}, {vk, 5, k, IterKind::Reduce}},
                    store(t, {vi}, load(t, {vi}) + load(a, {vi, vk})), store(t, {vi}, make_int(i32, 0)));
  Var j("j"), vj("vj");
  Stmt rest = block("c", {{vj, 4, j}}, store(c, {vj}, load(a, {vj, 0})));
  const Program p("p", {in(a), out(c)}, {t}, seq({loop(i, 4, loop(k, 5, dead)), loop(j, 4, rest)}));
  const Outcome o = run(p, random_inputs(p, 1));
  REQUIRE(o.report.text() == "");
  REQUIRE(o.report.buffer("t").instances == 4);
}

TEST_CASE("computing an element again is legal with the same value only", "[interp]") {
  Buffer a("a", i32, {8}), c("c", i32, {4});
  Var i("i"), vi("vi");
  const Program same("p", {in(a), out(c)}, {},
                     loop(i, 8, block("c", {{vi, 4, floormod(i, 4)}}, store(c, {vi}, load(a, {vi})))));
  REQUIRE(run(same, {Array::iota(i32, {8})}).report.text() == "");
  Var j("j"), vj("vj");
  const Program other("p", {in(a), out(c)}, {},
                      loop(j, 8, block("c", {{vj, 8, j}}, store(c, {floormod(vj, 4)}, load(a, {vj})))));
  const Outcome o = run(other, {Array::iota(i32, {8})});
  REQUIRE(o.report.violation_count == 4);
  REQUIRE(o.report.has(ViolationKind::Rewritten));
  Options lenient;
  lenient.check_rewrites = false;
  REQUIRE(run(other, {Array::iota(i32, {8})}, {}, lenient).report.ok());
}

TEST_CASE("a NaN written again as a NaN is the same value", "[interp]") {
  Buffer a("a", f32, {1}), c("c", f32, {1});
  Var i("i"), vi("vi");
  const Program p("p", {in(a), out(c)}, {},
                  loop(i, 2, block("c", {{vi, 1, floordiv(i, 2)}}, store(c, {vi}, load(a, {vi}) / 0.f))));
  REQUIRE(run(p, {Array::full(f32, {1}, 0)}).report.text() == "");
}

TEST_CASE("a block variable outside its domain is reported, unless the predicate is false", "[interp]") {
  Buffer a("a", i32, {9}), c("c", i32, {8});
  Var i("i"), vi("vi");
  auto program = [&](Expr predicate) {
    return Program(
        "p", {in(a), out(c)}, {},
        loop(i, 9, block("c", {{vi, 8, i}}, store(c, {min(vi, 7)}, load(a, {min(vi, 7)})), {}, predicate)));
  };
  const Array x = Array::iota(i32, {9});
  REQUIRE(run(program(i < 8), {x}).report.text() == "");
  const Report r = run(program(true_expr()), {x}).report;
  REQUIRE(r.violation_count == 1);
  REQUIRE(r.has(ViolationKind::OutsideDomain));
}

TEST_CASE("an inner block sees the variables of the block round it", "[interp]") {
  Buffer a("a", i32, {8, 6}), c("c", i32, {8});
  Var io("io"), ii("ii"), k("k"), vo("vo"), vi("vi"), vk("vk"), vko("vko"), ko("ko");
  for (int depth : {0, 6}) {
    Buffer x("a", i32, {8, depth}), y("c", i32, {8});
    Stmt inner = block("inner", {{vi, 8, vo * 4 + ii}, {vk, depth, vko * 3 + k, IterKind::Reduce}},
                       store(y, {vi}, load(y, {vi}) + load(x, {vi, vk})), store(y, {vi}, make_int(i32, 0)));
    Stmt outer =
        block("outer", {{vo, 2, io}, {vko, depth / 3, ko, IterKind::Reduce}}, loop(ii, 4, loop(k, 3, inner)));
    const Program p("p", {in(x), out(y)}, {}, loop(io, 2, loop(ko, depth / 3, outer)));
    const Outcome o = run(p, integer_inputs(p, 1));
    REQUIRE(o.report.text() == "");
    for (int r = 0; r < 8; ++r) {
      std::int64_t sum = 0;
      for (int d = 0; d < depth; ++d) sum += o["a"].get_int({r, d});
      REQUIRE(o["c"].get_int(r) == sum);
    }
  }
}

TEST_CASE("a tuple reduction computes all new values before it stores any", "[interp]") {
  // Fibonacci by pairs: (x, y) <- (y, x + y).
  Buffer c("c", i32, {1}), d("d", i32, {1});
  Var k("k"), vk("vk"), x("x", i32), y("y", i32);
  Stmt step = make_stmt<Let>(
      x, load(d, {0}),
      make_stmt<Let>(y, load(c, {0}) + load(d, {0}), seq({store(c, {0}, x), store(d, {0}, y)})));
  Stmt b = block("pair", {{vk, 10, k, IterKind::Reduce}}, step,
                 seq({store(c, {0}, make_int(i32, 0)), store(d, {0}, make_int(i32, 1))}));
  const Outcome o = run(Program("fib", {out(c), out(d)}, {}, loop(k, 10, b)), {});
  REQUIRE(o.report.text() == "");
  REQUIRE(o["c"].get_int(0) == 55);
  REQUIRE(o["d"].get_int(0) == 89);
}

TEST_CASE("buffers with strides hold their elements apart, parameters too", "[interp]") {
  auto strided = [](const char* name, std::vector<Expr> strides) {
    auto* node = new BufferNode;
    node->name = name;
    node->dtype = i32;
    node->shape = {3, 4};
    node->strides = std::move(strides);
    return Buffer(node);
  };
  Buffer a("a", i32, {3, 4}), mid = strided("mid", {5, 1}), c = strided("c", {1, 3});
  Var i("i"), j("j"), k("k"), l("l");
  Stmt copy = loop(i, 3, loop(j, 4, store(mid, {i, j}, load(a, {i, j}))));
  Stmt back = loop(k, 3, loop(l, 4, store(c, {k, l}, load(mid, {k, l}) * 3)));
  const Program p("p", {in(a), out(c)}, {mid}, seq({copy, back}));
  const Outcome o = run(p, {Array::iota(i32, {3, 4})});
  REQUIRE(o.report.text() == "");
  for (int e = 0; e < 12; ++e) REQUIRE(o["c"].get_int(e) == 3 * e);
  REQUIRE(o.report.buffer("mid").peak_bytes == 4 * (2 * 5 + 3 + 1));
}

}  // namespace
}  // namespace lathe::interp
