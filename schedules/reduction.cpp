// Reductions over any axes.

#include "schedules/library.h"

namespace lathe {

using namespace library;

void link_reduction() {}

LATHE_WORKLOAD(row_sum, "y[m] = sum of row m of x[m,n]", {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  need_number(args);
  Tensor x = placeholder("x", {args["m"], args["n"]}, args.dtype());
  Axis r = reduce_axis(args["n"], "r");
  Tensor y = reduced("y", {args["m"]}, args.dtype(),
                     [&](const std::vector<Var>& at) { return sum(wide(x(at[0], r)), {r}); });
  return program("row_sum", {x}, {y});
}

namespace {
enum Operation : std::int64_t { Sum, Prod, Min, Max, Mean, ArgMin, ArgMax };
}

// The positions that argmin and argmax find are counted in row-major order over the reduced axes.
LATHE_WORKLOAD(reduce, "x reduced over some of its axes, which the result has no more",
               {{"shape", WorkloadValue::extents({64, 128, 256}), "of x"},
                {"axes", WorkloadValue::list({0, 2}), "reduced"},
                {"op",
                 Sum,
                 "how; argmin and argmax give values and positions",
                 {"sum", "prod", "min", "max", "mean", "argmin", "argmax"}}}) {
  const std::int64_t op = args["op"];
  const DataType t = args.dtype();
  if (op == Mean)
    need_float(args);
  else
    need_number(args);
  const std::vector<std::int64_t>& shape = args.list("shape");
  const std::vector<bool> gone = chosen_axes(args, "axes", shape.size());
  std::vector<Expr> kept;
  std::vector<Axis> axes;
  double count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!gone[d]) {
      kept.push_back(shape[d]);
      continue;
    }
    axes.push_back(reduce_axis(shape[d], "r" + std::to_string(d)));
    count *= static_cast<double>(shape[d]);
  }
  Tensor x = placeholder("x", to_shape(shape), t);
  auto element = [&](const std::vector<Var>& at) { return x(with_axes(at, gone, axes)); };

  if (op == ArgMin || op == ArgMax) {
    auto [value, position] = compute("y", kept, [&](const std::vector<Var>& at) {
      return op == ArgMin ? argmin(element(at), axes) : argmax(element(at), axes);
    });
    return program("reduce", {x}, {value, position});
  }
  if (op == Min || op == Max) {
    Tensor y = compute("y", kept, [&](const std::vector<Var>& at) {
      return op == Min ? min(element(at), axes) : max(element(at), axes);
    });
    return program("reduce", {x}, {y});
  }
  if (op == Mean) {
    Tensor total =
        compute("total", kept, [&](const std::vector<Var>& at) { return sum(wide(element(at)), axes); });
    Tensor y = compute("y", kept, [&](const std::vector<Var>& at) {
      return narrow(total(at) / make_float(wide_type(t), count), t);
    });
    return program("reduce", {x}, {y});
  }
  Tensor y = reduced("y", kept, t, [&](const std::vector<Var>& at) {
    return op == Prod ? prod(wide(element(at)), axes) : sum(wide(element(at)), axes);
  });
  return program("reduce", {x}, {y});
}

}  // namespace lathe
