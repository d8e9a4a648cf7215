// Normalisation: of rows, of channels with known statistics, and the length of a matrix.

#include "schedules/convolution.h"

namespace lathe {

using namespace library;

void link_normalisation() {}

namespace {

/// Added to variances, so that a constant row is no division by zero.
constexpr double kEpsilon = 1e-5;

/// 1/n, for means.
Expr reciprocal(DataType t, std::int64_t n) {
  return make_float(t, n > 0 ? 1.0 / static_cast<double>(n) : 0);
}

}  // namespace

LATHE_WORKLOAD(layer_norm,
               "rows of x[m,n] to mean 0 and variance 1, then scale and shift [n]; two-pass variance",
               {{"m", 128, "rows"}, {"n", 768, "columns"}}) {
  need_float(args);
  const std::int64_t m = args["m"], n = args["n"];
  const DataType t = args.dtype(), w = wide_type(t);
  Tensor x = placeholder("x", {m, n}, t), gamma = placeholder("gamma", {n}, t),
         beta = placeholder("beta", {n}, t);
  Axis r = reduce_axis(n, "r"), q = reduce_axis(n, "q");
  const Expr scale = reciprocal(w, n);
  Tensor total = compute("total", {m}, [&](Var i) { return sum(wide(x(i, r)), {r}); });
  Tensor mean = compute("mean", {m}, [&](Var i) { return total(i) * scale; });
  Tensor squares = compute(
      "squares", {m}, [&](Var i) { return sum((wide(x(i, q)) - mean(i)) * (wide(x(i, q)) - mean(i)), {q}); });
  Tensor factor =
      compute("factor", {m}, [&](Var i) { return rsqrt(squares(i) * scale + make_float(w, kEpsilon)); });
  Tensor out = compute("out", {m, n}, [&](Var i, Var j) {
    return narrow((wide(x(i, j)) - mean(i)) * factor(i) * wide(gamma(j)) + wide(beta(j)), t);
  });
  return program("layer_norm", {x, gamma, beta}, {out});
}

LATHE_WORKLOAD(rms_norm, "rows of x[m,n] divided by their root mean square, then scaled by [n]",
               {{"m", 128, "rows"}, {"n", 768, "columns"}}) {
  need_float(args);
  const std::int64_t m = args["m"], n = args["n"];
  const DataType t = args.dtype(), w = wide_type(t);
  Tensor x = placeholder("x", {m, n}, t), gamma = placeholder("gamma", {n}, t);
  Axis r = reduce_axis(n, "r");
  Tensor squares = compute("squares", {m}, [&](Var i) { return sum(wide(x(i, r)) * wide(x(i, r)), {r}); });
  Tensor factor = compute(
      "factor", {m}, [&](Var i) { return rsqrt(squares(i) * reciprocal(w, n) + make_float(w, kEpsilon)); });
  Tensor out = compute("out", {m, n},
                       [&](Var i, Var j) { return narrow(wide(x(i, j)) * factor(i) * wide(gamma(j)), t); });
  return program("rms_norm", {x, gamma}, {out});
}

LATHE_WORKLOAD(batch_norm, "inference: (x - mean) / sqrt(variance + 1e-5) * gamma + beta, each [c]",
               image_params() + std::vector<WorkloadParam>{{"c", 64, "channels"}, layout_param()}) {
  need_float(args);
  const std::int64_t n = args["n"], h = args["h"], w = args["w"], c = args["c"];
  const bool nchw = args["layout"] == 1;
  const DataType t = args.dtype();
  Tensor x = placeholder("x", nchw ? std::vector<Expr>{n, c, h, w} : std::vector<Expr>{n, h, w, c}, t);
  Tensor mean = placeholder("mean", {c}, t), variance = placeholder("variance", {c}, t),
         gamma = placeholder("gamma", {c}, t), beta = placeholder("beta", {c}, t);
  Tensor scale = compute("scale", {c}, [&](Var q) {
    return wide(gamma(q)) * rsqrt(wide(variance(q)) + make_float(wide_type(t), kEpsilon));
  });
  Tensor out = compute("out", x.shape(), [&](const std::vector<Var>& at) {
    const Var q = at[nchw ? 1 : 3];
    return narrow((wide(x(at)) - wide(mean(q))) * scale(q) + wide(beta(q)), t);
  });
  return program("batch_norm", {x, mean, variance, gamma, beta}, {out});
}

LATHE_WORKLOAD(norm, "Euclidean length of each matrix of x[b,m,n]",
               {{"b", 1, "matrices"}, {"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  need_float(args);
  const DataType t = args.dtype();
  Tensor x = placeholder("x", {args["b"], args["m"], args["n"]}, t);
  Axis r = reduce_axis(args["m"], "r"), q = reduce_axis(args["n"], "q");
  Tensor squares = compute("squares", {args["b"]}, [&](Var i) {
    return sum(wide(x(i, r, q)) * wide(x(i, r, q)), {r, q});
  });
  Tensor out = compute("out", {args["b"]}, [&](Var i) { return narrow(sqrt(squares(i)), t); });
  return program("norm", {x}, {out});
}

}  // namespace lathe
