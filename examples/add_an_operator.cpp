// Adds an operator of one's own to the library, and runs it under a schedule made by rules.
//
//     add_an_operator ['unit_rows(rows=64,columns=1000):f32']
//
// A workload is a program with a name and arguments. Defined in a source file that is linked in, it can be asked for by its
// specification, as those of the library; without a schedule of its own it is scheduled by `apply_rules`.

#include <cmath>
#include <cstdio>

#include "lathe/compile.h"
#include "lathe/runtime/fill.h"
#include "lathe/workload.h"

using namespace lathe;

LATHE_WORKLOAD(unit_rows, "every row of x divided by its Euclidean length",
               {{"rows", 100, "rows"}, {"columns", 300, "elements in a row"}}) {
  Tensor x = placeholder("x", {args["rows"], args["columns"]}, args.dtype());
  Axis r = reduce_axis(args["columns"], "r");
  Tensor squares = compute("squares", {args["rows"]}, [&](Var i) { return sum(x(i, r) * x(i, r), {r}); });
  Tensor y = compute("y", x.shape(), [&](Var i, Var j) { return x(i, j) / sqrt(squares(i)); });
  return program("unit_rows", {x}, {y});
}

int main(int argc, char** argv) try {
  const Workload w = Workload::parse(argc > 1 ? argv[1] : "unit_rows(columns=250)");
  const Schedule s = w.default_schedule(Target::host());
  std::printf("%s\n\nThe rules took these steps:\n\n%s\nand made of it:\n\n%s\n", w.spec.c_str(),
              s.trace().to_cpp().c_str(), to_string(s.program()).c_str());

  std::vector<runtime::Tensor> tensors;
  std::vector<runtime::Tensor*> arguments;
  for (const Param& p : s.program()->params) {
    std::vector<std::int64_t> shape;
    for (const Expr& e : p.buffer->shape) shape.push_back(*as_int(e));
    tensors.emplace_back(p.buffer->dtype, shape);
    runtime::fill_random(tensors.back(), {.seed = 7, .edges = 0});
  }
  for (runtime::Tensor& t : tensors) arguments.push_back(&t);
  compile(s, Target::host())(arguments);
  if (w.program->name != "unit_rows") return 0;  // any workload runs; only ours is checked here

  const runtime::Tensor &x = tensors[0], &y = tensors[1];
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
  double worst = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (std::int64_t j = 0; j < columns; ++j) squares += x.value(i * columns + j) * x.value(i * columns + j);
    for (std::int64_t j = 0; j < columns; ++j)
      worst =
          std::max(worst, std::abs(y.value(i * columns + j) - x.value(i * columns + j) / std::sqrt(squares)));
  }
  std::printf("Largest error: %.2g\n", worst);
  return worst < 1e-5 ? 0 : 1;
} catch (const UserError& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
