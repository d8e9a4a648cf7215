// Softmax and its logarithm over an axis of any tensor.

#include "schedules/library.h"

namespace lathe {

using namespace library;

void link_softmax() {}

namespace {

/// Over dimension `axis` of x. Subtracting the greatest value first keeps exp from overflowing and changes nothing else.
Program softmax_over(const std::string& name, const Tensor& x, std::size_t axis, bool logarithm) {
  const DataType t = x.dtype();
  std::vector<Expr> kept = x.shape();
  const Expr extent = kept[axis];
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<bool> reduced(x.shape().size(), false);
  reduced[axis] = true;
  auto without = [&](const std::vector<Var>& at) {
    std::vector<Expr> out(at.begin(), at.end());
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
    return out;
  };

  Axis r = reduce_axis(extent, "r"), q = reduce_axis(extent, "q");
  Tensor top = compute("top", kept, [&](const std::vector<Var>& at) {
    return max(wide(x(with_axes(at, reduced, {r}))), {r});
  });
  if (logarithm) {
    Tensor total = compute("total", kept, [&](const std::vector<Var>& at) {
      return sum(exp(wide(x(with_axes(at, reduced, {q}))) - top(at)), {q});
    });
    Tensor shift =
        compute("shift", kept, [&](const std::vector<Var>& at) { return top(at) + log(total(at)); });
    Tensor out = compute("out", x.shape(), [&](const std::vector<Var>& at) {
      return narrow(wide(x(at)) - shift(without(at)), t);
    });
    return program(name, {x}, {out});
  }
  Tensor e = compute("e", x.shape(),
                     [&](const std::vector<Var>& at) { return exp(wide(x(at)) - top(without(at))); });
  Tensor total = compute(
      "total", kept, [&](const std::vector<Var>& at) { return sum(e(with_axes(at, reduced, {q})), {q}); });
  Tensor out = compute("out", x.shape(), [&](const std::vector<Var>& at) {
    return narrow(e(at) * (1.0 / total(without(at))), t);
  });
  return program(name, {x}, {out});
}

Program over_axis(const std::string& name, const WorkloadArgs& args, bool logarithm) {
  need_float(args);
  const std::vector<std::int64_t>& shape = args.list("shape");
  const std::size_t axis = axis_of(args, "axis", shape.size());
  return softmax_over(name, placeholder("x", to_shape(shape), args.dtype()), axis, logarithm);
}

const std::vector<WorkloadParam> kOverAxis = {{"shape", WorkloadValue::extents({8, 1024, 16}), "of x"},
                                              {"axis", 1, "the axis whose values sum to 1"}};

}  // namespace

LATHE_WORKLOAD(softmax, "rows of x[m,n]", {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  need_float(args);
  return softmax_over("softmax", placeholder("x", {args["m"], args["n"]}, args.dtype()), 1, false);
}

LATHE_WORKLOAD(log_softmax, "logarithm of softmax, rows of x[m,n]",
               {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  need_float(args);
  return softmax_over("log_softmax", placeholder("x", {args["m"], args["n"]}, args.dtype()), 1, true);
}

LATHE_WORKLOAD(softmax_over, "softmax over any axis", kOverAxis) {
  return over_axis("softmax_over", args, false);
}

LATHE_WORKLOAD(log_softmax_over, "logarithm of softmax, over any axis", kOverAxis) {
  return over_axis("log_softmax_over", args, true);
}

}  // namespace lathe
