#include "ir/printer.h"

#include <cmath>

#include "behaviour/ir/sample_programs.h"

using namespace lathe;
using lathe::test::RowSum;

TEST_CASE("a program prints as a short loop nest") {
  CHECK(to_string(RowSum().program()) ==
        "program rowsum(A: input f32[8, 5], C: output f32[8])\n"
        "  for i in 0..8:\n"
        "    for k in 0..5:\n"
        "      block C(vi: i, vk: reduce k)\n"
        "        init:\n"
        "          C[vi] = 0.f\n"
        "        C[vi] = C[vi] + A[vi, vk] * 2.f\n");
}

TEST_CASE("details of blocks print when asked for") {
  PrintOptions options;
  options.regions = true;
  CHECK(to_string(RowSum().program(), options) ==
        "program rowsum(A: input f32[8, 5], C: output f32[8])\n"
        "  for i in 0..8:\n"
        "    for k in 0..5:\n"
        "      block C(vi: 0..8 = i, vk: reduce 0..5 = k)\n"
        "        reads A[vi, vk]\n"
        "        writes C[vi]\n"
        "        reducer sum: (x; y) -> (x + y) from (0.f) associative commutative\n"
        "        init:\n"
        "          C[vi] = 0.f\n"
        "        C[vi] = C[vi] + A[vi, vk] * 2.f\n");
}

TEST_CASE("parentheses stand only where precedence needs them") {
  Var i("i"), j("j"), k("k");
  CHECK(to_string(i * 4 + j) == "i*4 + j");
  CHECK(to_string((i + 4) * j) == "(i + 4)*j");
  CHECK(to_string(i - (j - k)) == "i - (j - k)");
  CHECK(to_string(i - j - k) == "i - j - k");
  CHECK(to_string(i + (j + k)) == "i + (j + k)");
  CHECK(to_string(i / 4 % 3) == "i/4%3");
  CHECK(to_string(i / (j * 2)) == "i/(j*2)");
  CHECK(to_string(i + -1) == "i - 1");
  CHECK(to_string(i * -1) == "i*-1");
  CHECK(to_string(-i) == "0 - i");
  CHECK(to_string(min(i + 1, j * 2)) == "min(i + 1, j*2)");
  CHECK(to_string(i < j && (j < k || !(i == k))) == "i < j && (j < k || !(i == k))");
  CHECK(to_string((i < j) == (j < k)) == "(i < j) == (j < k)");
  CHECK(to_string(select(i < j, i, j) + 1) == "select(i < j, i, j) + 1");
  CHECK(to_string(i + INT64_MIN) == "i + -9223372036854775808");
}

TEST_CASE("division prints as the C++ expression that makes it") {
  Var i("i"), d("d", i32), x("x", f32);
  CHECK(to_string(i / 2) == "i/2");
  CHECK(to_string(i % 2) == "i%2");
  CHECK(to_string(d / 2) == "d / 2");
  CHECK(to_string(floordiv(d, 2)) == "floordiv(d, 2)");
  CHECK(to_string(floormod(d, 2)) == "floormod(d, 2)");
  CHECK(to_string(x / 2) == "x / 2.f");
}

TEST_CASE("literals print shortest and keep their type apart") {
  CHECK(to_string(Expr(0.1f)) == "0.1f");
  CHECK(to_string(Expr(0.1)) == "0.1");
  CHECK(to_string(Expr(3.f)) == "3.f");
  CHECK(to_string(Expr(1e30f)) == "1e+30f");
  CHECK(to_string(Expr(-0.0)) == "-0.0");
  CHECK(to_string(Expr(std::nan(""))) == "nan");
  CHECK(to_string(Expr(-INFINITY)) == "-inf");
  CHECK(to_string(Expr(true)) == "true");
  CHECK(to_string(make_int(u64, -1)) == "18446744073709551615");
  CHECK(to_string(make_int(i8, 200)) == "-56");
}

TEST_CASE("different variables never share a printed name") {
  Var a("i"), b("i"), c("i_1"), nameless("");
  CHECK(to_string(a + b * c) == "i + i_1*i_1_1");
  CHECK(to_string(a + a + nameless) == "i + i + v");
}

TEST_CASE("a variable and a buffer never share a printed name") {
  Buffer buffer("i", f32, {4});
  Var i("i");
  CHECK(to_string(load(buffer, {i})) == "i[i_1]");
}

TEST_CASE("loop kinds, annotations and statements print in words") {
  Buffer out("out", f32, {16}), tmp("tmp", f32, {4}, Scope::Local);
  Var i("i"), t("t"), x("x", f32);
  Stmt store = make_stmt<Store>(out, x, std::vector<Expr>{i}, Expr(), true);
  Stmt body =
      make_stmt<Let>(x, load(tmp, {0}), make_stmt<If>(i < 3, store, make_stmt<Seq>(std::vector<Stmt>{})));
  Annotations notes{{"factor", std::int64_t(3)}, {"kind", std::string("a\"b")}};
  Stmt loop = make_stmt<For>(i, t * 2, ForKind::Vectorized, body, ThreadAxis::None, notes);
  Stmt bound = make_stmt<For>(t, 8, ForKind::ThreadBound, loop, ThreadAxis::ThreadX);
  CHECK(to_string(make_stmt<Allocate>(tmp, bound)) ==
        "allocate tmp: f32[4] local\n"
        "for t in 0..8 bound to threadIdx.x:\n"
        "  for i in 0..(t*2) vectorized {factor = 3, kind = \"a\\\"b\"}:\n"
        "    let x = tmp[0]\n"
        "    if i < 3:\n"
        "      out[i] = x streaming\n"
        "    else:\n"
        "      pass\n");
}

TEST_CASE("a marked statement carries its note") {
  RowSum r;
  PrintOptions options;
  options.mark = [](const Stmt& s) -> std::optional<std::string> {
    if (s.kind() == StmtKind::Block) return "here";
    return std::nullopt;
  };
  CHECK(to_string(r.program(), options).find("block C(vi: i, vk: reduce k)    <-- here\n") !=
        std::string::npos);
}

TEST_CASE("an excerpt keeps marked lines and what encloses them") {
  Buffer out("out", f32, {64});
  std::vector<Stmt> stmts;
  for (int n = 0; n < 20; ++n) stmts.push_back(make_stmt<Store>(out, Expr(float(n)), std::vector<Expr>{n}));
  const Stmt marked = stmts[10];
  Var i("i");
  const Stmt loop = make_stmt<For>(i, 2, ForKind::Serial, make_seq(stmts));
  PrintOptions options;
  options.max_lines = 4;
  options.mark = [&](const Stmt& s) -> std::optional<std::string> {
    if (s.same_as(marked)) return "here";
    return std::nullopt;
  };
  CHECK(to_string(loop, options) ==
        "for i in 0..2:\n"
        "  ...\n"
        "  out[9] = 9.f\n"
        "  out[10] = 10.f    <-- here\n"
        "  out[11] = 11.f\n"
        "  ...\n");
}

TEST_CASE("a mark on a sequence shows on its first line") {
  Buffer out("out", f32, {64});
  Stmt one = make_stmt<Store>(out, 1.f, std::vector<Expr>{1});
  Stmt two = make_stmt<Store>(out, 2.f, std::vector<Expr>{2});
  Stmt both = make_seq({one, two});
  PrintOptions options;
  options.mark = [&](const Stmt& s) -> std::optional<std::string> {
    if (s.same_as(both)) return "here";
    return std::nullopt;
  };
  CHECK(to_string(both, options) == "out[1] = 1.f    <-- here\nout[2] = 2.f\n");
}

TEST_CASE("regions print as ranges") {
  Buffer a("A", f32, {8, 8, 8, 8});
  Var i("i");
  BufferRegion region{a, {{i, 1}, {0, 8}, {i * 2, 4}, {0, i + 1}}};
  Names names;
  CHECK(to_string(region, names) == "A[i, 0..8, i*2 .. +4, 0..(i + 1)]");
}
