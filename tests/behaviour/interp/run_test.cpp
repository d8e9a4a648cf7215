// Values and counts of programs in block form.

#include <cstdio>
#include <ctime>

#include "behaviour/interp/programs.h"

namespace lathe::interp {
namespace {

TEST_CASE("a matmul in block form gives the sums of products, at every size", "[interp]") {
  Var m("m"), n("n"), k("k");
  const Program p = matmul(f32, m, n, k, {size(m), size(n), size(k)});
  for (std::int64_t rows : {0, 1, 3, 8}) {
    for (std::int64_t columns : {0, 1, 5}) {
      for (std::int64_t depth : {0, 1, 7}) {
        CAPTURE(rows, columns, depth);
        const Outcome o = run(p, integer_inputs(p, 3, {rows, columns, depth}), {rows, columns, depth});
        REQUIRE(o.report.text() == "");
        REQUIRE(o.report.completed);
        const Array &a = o["A"], &b = o["B"], &c = o["C"];
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < depth; ++l) sum += a.get({i, l}) * b.get({l, j});
            REQUIRE(c.get({i, j}) == sum);
          }
        }
        const std::uint64_t steps = rows * columns * depth;
        REQUIRE(o.report.ops(BinaryOp::Mul) == steps);
        REQUIRE(o.report.ops(BinaryOp::Add) == steps);
        REQUIRE(o.report.buffer("A").loads == steps);
        REQUIRE(o.report.buffer("C").loads == steps);
        REQUIRE(o.report.buffer("C").stores == steps + rows * columns);
        REQUIRE(o.report.iterations == static_cast<std::uint64_t>(rows + rows * columns) + steps);
      }
    }
  }
}

TEST_CASE("the fast options change no result", "[interp]") {
  const Program p = matmul(f32, 5, 6, 7);
  const auto inputs = random_inputs(p, 1);
  REQUIRE(run(p, inputs)["C"] == run(p, inputs, {}, Options::fast())["C"]);
}

TEST_CASE("speed of the interpreter", "[.benchmark]") {
  const int n = 128;
  const Program p = matmul(f32, n, n, n);
  const auto inputs = random_inputs(p, 1);
  Options plain = Options::fast(), checked;
  for (const Options& o : {plain, checked}) {
    const std::clock_t start = std::clock();  // of the processor: other work on the machine does not count
    const Outcome out = run(p, inputs, {}, o);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("matmul 128: %.1f ms, %.0f M data operations a second\n", seconds * 1e3,
                2.0 * n * n * n / seconds / 1e6);
    REQUIRE(out.report.ok());
  }
}

}  // namespace
}  // namespace lathe::interp
