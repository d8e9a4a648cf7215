// What programs of the language compute, against plain loops.

#include <cmath>
#include <limits>

#include "arith/block_check.h"
#include "lathe/interp.h"
#include "lathe/te.h"

using namespace lathe;
using interp::Array;

namespace {

interp::Outcome run(const Program& p, std::vector<Array> inputs, std::vector<std::int64_t> sizes = {}) {
  REQUIRE(well_formed(p) == std::vector<std::string>{});
  REQUIRE(arith::check_blocks(p) == std::vector<std::string>{});
  REQUIRE(structural_equal(program_from_json(to_json(p)), p));
  interp::Outcome out = interp::run(p, inputs, sizes);
  REQUIRE(out.report.text() == "");
  return out;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Best {
  double value;
  std::int64_t at;
};
/// argmax or argmin of one row by the rule that lathe/te.h states.
Best best_of(const std::vector<double>& row, bool max) {
  Best best{max ? -kInf : kInf, INT64_MAX};
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double x = row[i];
    const bool first = best.at == INT64_MAX;
    if (std::isnan(best.value)) continue;
    if (first || std::isnan(x) || (max ? x > best.value : x < best.value))
      best = {x, static_cast<std::int64_t>(i)};
  }
  return best;
}

}  // namespace

TEST_CASE("reductions of every size equal plain loops") {
  for (const int rows : {0, 1, 3}) {
    for (const int columns : {0, 1, 2, 7, 13}) {
      CAPTURE(rows, columns);
      Tensor x = placeholder("x", {rows, columns}, i32);
      Axis r = reduce_axis(columns, "r");
      Tensor s = compute("s", {rows}, [&](Var i) { return sum(x(i, r), {r}); });
      Tensor p = compute("p", {rows}, [&](Var i) { return prod(x(i, r), {r}); });
      Tensor lo = compute("lo", {rows}, [&](Var i) { return min(x(i, r), {r}); });
      Tensor hi = compute("hi", {rows}, [&](Var i) { return max(x(i, r), {r}); });
      const Array in = Array::random(i32, {rows, columns}, 5);
      const auto out = run(program("p", {x}, {s, p, lo, hi}), {in});
      for (int i = 0; i < rows; ++i) {
        std::uint32_t sum = 0, product = 1;
        std::int64_t least = INT32_MAX, most = INT32_MIN;
        for (int j = 0; j < columns; ++j) {
          const std::int64_t v = in.get_int({i, j});
          sum += static_cast<std::uint32_t>(v);
          product *= static_cast<std::uint32_t>(v);
          least = std::min(least, v);
          most = std::max(most, v);
        }
        CHECK(out["s"].get_int({i}) == static_cast<std::int32_t>(sum));
        CHECK(out["p"].get_int({i}) == static_cast<std::int32_t>(product));
        CHECK(out["lo"].get_int({i}) == least);
        CHECK(out["hi"].get_int({i}) == most);
      }
    }
  }
}

TEST_CASE("argmax and argmin: ties, NaN, infinities and zeros of both signs") {
  const std::vector<std::vector<double>> rows = {{1, 3, 3, 2},           {3, 1, 1, 3},
                                                 {-1, -1, -1, -1},       {kNaN, 5, kNaN, 9},
                                                 {5, kNaN, 9, kNaN},     {0.0, -0.0, 0.0, -0.0},
                                                 {-0.0, 0.0, -0.0, 0.0}, {-kInf, -kInf, -kInf, -kInf},
                                                 {kInf, kInf, 1, 2},     {kNaN, kNaN, kNaN, kNaN},
                                                 {-kInf, kNaN, kInf, 0}};
  const int n = static_cast<int>(rows.size());
  Tensor x = placeholder("x", {n, 4}, f32);
  Axis r = reduce_axis(4, "r");
  auto high = compute("high", {n}, [&](Var i) { return argmax(x(i, r), {r}); });
  auto low = compute("low", {n}, [&](Var i) { return argmin(x(i, r), {r}); });
  std::vector<double> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  const auto out = run(program("p", {x}, {high[0], high[1], low[0], low[1]}), {Array(f32, {n, 4}, flat)});
  for (int i = 0; i < n; ++i) {
    for (const bool max : {true, false}) {
      CAPTURE(i, max);
      const Best expected = best_of(rows[i], max);
      const double value = out[max ? "high_0" : "low_0"].get({i});
      CHECK((value == expected.value || (std::isnan(value) && std::isnan(expected.value))));
      CHECK(out[max ? "high_1" : "low_1"].get_int({i}) == expected.at);
    }
  }
}

TEST_CASE("argmax over two axes gives the row-major position") {
  Tensor x = placeholder("x", {3, 5}, i8);
  Axis r = reduce_axis(3, "r"), s = reduce_axis(5, "s");
  auto by_row = compute("a", {}, [&] { return argmax(x(r, s), {r, s}); });
  auto by_column = compute("b", {}, [&] { return argmax(x(r, s), {s, r}); });
  Array in(i8, {3, 5});
  in.set_int(1 * 5 + 4, 9);
  in.set_int(2 * 5 + 0, 9);
  const auto out = run(program("p", {x}, {by_row[1], by_column[1]}), {in});
  CHECK(out["a_1"].get_int(0) == 1 * 5 + 4);
  CHECK(out["b_1"].get_int(0) == 0 * 3 + 2);
}

TEST_CASE("min and max propagate NaN") {
  Tensor x = placeholder("x", {3}, f32);
  Axis r = reduce_axis(3, "r");
  Tensor hi = compute("hi", {}, [&] { return max(x(r), {r}); });
  Tensor lo = compute("lo", {}, [&] { return min(x(r), {r}); });
  const auto out = run(program("p", {x}, {hi, lo}), {Array(f32, {3}, {1, kNaN, 2})});
  CHECK(std::isnan(out["hi"].get(0)));
  CHECK(std::isnan(out["lo"].get(0)));
}

TEST_CASE("conditions leave elements out and do not read them; initial values come first") {
  Tensor x = placeholder("x", {5}, i32);
  Axis r = reduce_axis(9, "r");
  Tensor odd = compute("odd", {}, [&] { return sum(x(r), {r}, where(r < 5 && r % 2 == 1)); });
  Tensor from = compute("from", {}, [&] { return max(x(r % 5), {r}, initial(100)); });
  Tensor both = compute(
      "both", {2}, [&](Var i) { return prod(x(r), {r}, {.where = r < 2, .initial = {cast(i32, i) + 10}}); });
  const auto out = run(program("p", {x}, {odd, from, both}), {Array(i32, {5}, {1, 20, 3, 40, 5})});
  CHECK(out["odd"].get_int(0) == 60);
  CHECK(out["from"].get_int(0) == 100);
  CHECK(out["both"].get_int(0) == 200);
  CHECK(out["both"].get_int(1) == 220);
}

TEST_CASE("padding and borders read nothing outside, at run-time sizes") {
  Var n = size("n");
  Tensor x = placeholder("x", {n, 3}, i32);
  Tensor y = pad(x, {1, 0}, {2, 1}, -7);
  Tensor z = compute("z", {n + 1, 3}, [&](Var i, Var j) { return if_inside(x, {i - 1, j + 1}, -9); });
  const Program p = program("p", {n, x}, {y, z});
  for (const std::int64_t rows : {0, 1, 2, 5}) {
    const Array in = Array::random(i32, {rows, 3}, 2);
    const auto out = run(p, {in}, {rows});
    for (std::int64_t i = 0; i < rows + 3; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) {
        const bool inside = i >= 1 && i - 1 < rows && j < 3;
        CHECK(out["padded"].get_int({i, j}) == (inside ? in.get_int({i - 1, j}) : -7));
      }
    }
    for (std::int64_t i = 0; i < rows + 1; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        const bool inside = i >= 1 && j + 1 < 3;
        CHECK(out["z"].get_int({i, j}) == (inside ? in.get_int({i - 1, j + 1}) : -9));
      }
    }
  }
}

TEST_CASE("a gather reads where its data says") {
  Tensor table = placeholder("table", {6, 2}, f32), ids = placeholder("ids", {4}, i32);
  Tensor y = compute("y", {4, 2}, [&](Var i, Var j) { return table(ids(i), j); });
  const Array t = Array::random(f32, {6, 2}, 1);
  const auto out = run(program("p", {table, ids}, {y}), {t, Array(i32, {4}, {5, 0, 5, 3})});
  const int rows[] = {5, 0, 5, 3};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) CHECK(out["y"].get({i, j}) == t.get({rows[i], j}));
  }
}

TEST_CASE("a reducer of three values merges means and variances") {
  const int rows = 3, columns = 11;
  Tensor x = placeholder("x", {rows, columns}, f64);
  Axis r = reduce_axis(columns, "r");
  Reducer welford = reducer(
      "welford", {f64, f64, f64},
      [](const Values& a, const Values& b) {
        Expr n = a[0] + b[0], safe = max(n, 1.0), delta = b[1] - a[1];
        return Values{n, a[1] + delta * b[0] / safe, a[2] + b[2] + delta * delta * a[0] * b[0] / safe};
      },
      {0.0, 0.0, 0.0}, {.associative = true, .commutative = true});
  auto [count, mean, m2] = compute("stats", {rows}, [&](Var i) {
    return reduce(welford, {1.0, x(i, r), 0.0}, {r});
  });
  const Array in = Array::random(f64, {rows, columns}, 3);
  const auto out = run(program("p", {x}, {count, mean, m2}), {in});
  for (int i = 0; i < rows; ++i) {
    double total = 0, squares = 0;
    for (int j = 0; j < columns; ++j) total += in.get({i, j});
    for (int j = 0; j < columns; ++j) squares += std::pow(in.get({i, j}) - total / columns, 2);
    CHECK(out["stats_0"].get({i}) == columns);
    CHECK(out["stats_1"].get({i}) == Approx(total / columns).margin(1e-12));
    CHECK(out["stats_2"].get({i}) == Approx(squares).margin(1e-12));
  }
}

TEST_CASE("several outputs of one compute, one of them unused") {
  Tensor x = placeholder("x", {4}, f32);
  auto [up, down] = compute("step", {4}, [&](Var i) { return std::pair(x(i) + 1, x(i) - 1); });
  Tensor y = compute("y", {4}, [&](Var i) { return down(i) * 2; });
  const auto out = run(program("p", {x}, {y}), {Array(f32, {4}, {1, 2, 3, 4})});
  for (int i = 0; i < 4; ++i) CHECK(out["y"].get({i}) == 2 * i);
}

TEST_CASE("the example of docs/language.md") {
  const int m = 4, k = 3, n = 5;
  Tensor a = placeholder("a", {m, k}, f32);
  Tensor b = placeholder("b", {k, n}, f32, Constant);
  Axis r = reduce_axis(k, "r");
  Tensor c = compute("c", {m, n}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
  Tensor d = compute("d", c.shape(), [&](Var i, Var j) { return max(c(i, j), 0.f); });
  Program p = program("matmul_relu", {a, b}, {d});
  CHECK(to_string(p) ==
        "program matmul_relu(a: input f32[4, 3], b: constant f32[3, 5], d: output f32[4, 5])\n"
        "  temp c: f32[4, 5]\n"
        "  for i in 0..4:\n"
        "    for j in 0..5:\n"
        "      for r in 0..3:\n"
        "        block c(vi: i, vj: j, vr: reduce r)\n"
        "          init:\n"
        "            c[vi, vj] = 0.f\n"
        "          c[vi, vj] = c[vi, vj] + a[vi, vr] * b[vr, vj]\n"
        "  for i_1 in 0..4:\n"
        "    for j_1 in 0..5:\n"
        "      block d(vi_1: i_1, vj_1: j_1)\n"
        "        d[vi_1, vj_1] = max(c[vi_1, vj_1], 0.f)\n");
  const Array x = Array::small_integers(f32, {m, k}, 1), y = Array::small_integers(f32, {k, n}, 2);
  const auto out = run(p, {x, y});
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += x.get({i, l}) * y.get({l, j});
      CHECK(out["d"].get({i, j}) == std::max(sum, 0.0));
    }
  }
}
