// Moving data.

#include "schedules/library.h"

namespace lathe {

using namespace library;

void link_transpose() {}

LATHE_WORKLOAD(transpose, "y[n,m] = x[m,n]", {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  Tensor x = placeholder("x", {args["m"], args["n"]}, args.dtype());
  Tensor y = compute("y", {args["n"], args["m"]}, [&](Var i, Var j) { return x(j, i); });
  return program("transpose", {x}, {y});
}

LATHE_WORKLOAD(permute, "the axes of x in another order: axis d of y is axis perm[d] of x",
               {{"shape", WorkloadValue::extents({8, 128, 12, 64}), "of x"},
                {"perm", WorkloadValue::list({0, 2, 1, 3}), "where each axis comes from"}}) {
  const std::vector<std::int64_t>&shape = args.list("shape"), &perm = args.list("perm");
  args.require(perm.size() == shape.size(),
               "perm has " + std::to_string(perm.size()) + " axes, shape " + std::to_string(shape.size()));
  chosen_axes(args, "perm", shape.size());  // each at most once, so each once
  std::vector<Expr> moved;
  for (std::int64_t from : perm) moved.push_back(shape[static_cast<std::size_t>(from)]);
  Tensor x = placeholder("x", to_shape(shape), args.dtype());
  Tensor y = compute("y", moved, [&](const std::vector<Var>& at) {
    std::vector<Expr> from(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) from[static_cast<std::size_t>(perm[d])] = at[d];
    return x(from);
  });
  return program("permute", {x}, {y});
}

}  // namespace lathe
