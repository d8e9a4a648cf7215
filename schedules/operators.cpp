// The operators of the library, as tensor expressions. Layouts are row-major; images are NHWC unless the name says NCHW.

#include "lathe/workload.h"

namespace lathe {
namespace {

Expr zero(DataType t) { return make_const(t, 0); }
std::int64_t out_size(std::int64_t in, std::int64_t k, std::int64_t s, std::int64_t p, std::int64_t d = 1) {
  const std::int64_t span = d * (k - 1) + 1;
  return in + 2 * p < span ? 0 : (in + 2 * p - span) / s + 1;
}
/// sqrt(1/2), of the exact GELU (Hendrycks and Gimpel 2016).
constexpr double kSqrtHalf = 0.70710678118654752440;

struct ConvShape {
  std::int64_t n, h, w, ci, co, k, s, p, d, g;
  std::int64_t oh() const { return out_size(h, k, s, p, d); }
  std::int64_t ow() const { return out_size(w, k, s, p, d); }
};
ConvShape conv_shape(const WorkloadArgs& a, bool dilation_and_groups) {
  a.require(a["s"] >= 1, "the stride is at least 1");
  if (dilation_and_groups) a.require(a["d"] >= 1 && a["g"] >= 1, "dilation and groups are at least 1");
  return {a["n"],
          a["h"],
          a["w"],
          a["ci"],
          a["co"],
          a["k"],
          a["s"],
          a["p"],
          dilation_and_groups ? a["d"] : 1,
          dilation_and_groups ? a["g"] : 1};
}

Tensor padded(const Tensor& x, const ConvShape& c) {
  if (c.p == 0) return x;
  return compute("pad", {c.n, c.h + 2 * c.p, c.w + 2 * c.p, c.ci}, [&](Var i, Var y, Var z, Var q) {
    return if_inside(x, {i, y - c.p, z - c.p, q}, zero(x.dtype()));
  });
}

/// NHWC convolution of an input that is padded already.
Tensor convolve(const Tensor& pad, const Tensor& w, const ConvShape& c) {
  Axis ry = reduce_axis(c.k, "ry"), rx = reduce_axis(c.k, "rx"), rc = reduce_axis(c.ci / c.g, "rc");
  const std::int64_t per_group = c.co / c.g;
  return compute("conv", {c.n, c.oh(), c.ow(), c.co}, [&](Var i, Var y, Var z, Var o) {
    const Expr channel = c.g == 1 ? Expr(rc) : floordiv(o, per_group) * (c.ci / c.g) + rc;
    return sum(pad(i, y * c.s + ry * c.d, z * c.s + rx * c.d, channel) * w(ry, rx, rc, o), {ry, rx, rc});
  });
}

const std::vector<WorkloadParam> kConv = {{"n", 1, "images"},
                                          {"h", 56, "height"},
                                          {"w", 56, "width"},
                                          {"ci", 64, "input channels"},
                                          {"co", 64, "output channels"},
                                          {"k", 3, "kernel size"},
                                          {"s", 1, "stride"},
                                          {"p", 1, "padding"}};
std::vector<WorkloadParam> with_dilation_and_groups() {
  std::vector<WorkloadParam> out = kConv;
  out.push_back({"d", 1, "dilation"});
  out.push_back({"g", 1, "groups"});
  return out;
}

}  // namespace

void link_operators() {}

LATHE_WORKLOAD(matmul, "C[m,n] = A[m,k] B[k,n]; ta, tb: transposed operands",
               {{"m", 512, "rows of C"},
                {"n", 512, "columns of C"},
                {"k", 512, "summed"},
                {"ta", 0, "A is [k,m]"},
                {"tb", 0, "B is [n,k]"}}) {
  const std::int64_t m = args["m"], n = args["n"], k = args["k"];
  const bool ta = args["ta"] != 0, tb = args["tb"] != 0;
  Tensor a = placeholder("A", ta ? std::vector<Expr>{k, m} : std::vector<Expr>{m, k}, args.dtype());
  Tensor b = placeholder("B", tb ? std::vector<Expr>{n, k} : std::vector<Expr>{k, n}, args.dtype());
  Axis r = reduce_axis(k, "k");
  Tensor c = compute("C", {m, n}, [&](Var i, Var j) {
    return sum((ta ? a(r, i) : a(i, r)) * (tb ? b(j, r) : b(r, j)), {r});
  });
  return program("matmul", {a, b}, {c});
}

LATHE_WORKLOAD(batch_matmul, "C[b,m,n] = A[b,m,k] B[b,k,n]",
               {{"b", 12, "batch"}, {"m", 128, "rows"}, {"n", 128, "columns"}, {"k", 64, "summed"}}) {
  const std::int64_t batch = args["b"], m = args["m"], n = args["n"], k = args["k"];
  Tensor a = placeholder("A", {batch, m, k}, args.dtype()), b = placeholder("B", {batch, k, n}, args.dtype());
  Axis r = reduce_axis(k, "k");
  Tensor c =
      compute("C", {batch, m, n}, [&](Var q, Var i, Var j) { return sum(a(q, i, r) * b(q, r, j), {r}); });
  return program("batch_matmul", {a, b}, {c});
}

LATHE_WORKLOAD(gemv, "y[m] = A[m,k] x[k]", {{"m", 4096, "rows"}, {"k", 4096, "columns"}}) {
  const std::int64_t m = args["m"], k = args["k"];
  Tensor a = placeholder("A", {m, k}, args.dtype()), x = placeholder("x", {k}, args.dtype());
  Axis r = reduce_axis(k, "k");
  Tensor y = compute("y", {m}, [&](Var i) { return sum(a(i, r) * x(r), {r}); });
  return program("gemv", {a, x}, {y});
}

LATHE_WORKLOAD(dense, "out[m,n] = act(x[m,k] w[k,n] + bias[n]); act 0 none, 1 relu, 2 gelu",
               {{"m", 128, "rows"}, {"n", 768, "outputs"}, {"k", 768, "inputs"}, {"act", 0, "activation"}}) {
  const std::int64_t m = args["m"], n = args["n"], k = args["k"], act = args["act"];
  Tensor x = placeholder("x", {m, k}, args.dtype()), w = placeholder("w", {k, n}, args.dtype(), Constant),
         bias = placeholder("bias", {n}, args.dtype());
  Axis r = reduce_axis(k, "k");
  Tensor c = compute("dense", {m, n}, [&](Var i, Var j) { return sum(x(i, r) * w(r, j), {r}); });
  Tensor out = compute("out", {m, n}, [&](Var i, Var j) {
    const Expr v = c(i, j) + bias(j);
    if (act == 1) return max(v, zero(v.dtype()));
    if (act == 2) return v * (erf(v * make_float(v.dtype(), kSqrtHalf)) + 1.0) * 0.5;
    return v;
  });
  return program("dense", {x, w, bias}, {out});
}

LATHE_WORKLOAD(conv2d, "NHWC convolution, weights [k,k,ci/g,co]", with_dilation_and_groups()) {
  const ConvShape c = conv_shape(args, true);
  args.require(c.ci % c.g == 0 && c.co % c.g == 0, "groups must divide ci and co");
  Tensor x = placeholder("x", {c.n, c.h, c.w, c.ci}, args.dtype()),
         w = placeholder("k", {c.k, c.k, c.ci / c.g, c.co}, args.dtype(), Constant);
  return program("conv2d", {x, w}, {convolve(padded(x, c), w, c)});
}

LATHE_WORKLOAD(conv2d_bias_relu, "NHWC convolution + bias + ReLU (batch norm folded)", kConv) {
  const ConvShape c = conv_shape(args, false);
  Tensor x = placeholder("x", {c.n, c.h, c.w, c.ci}, args.dtype()),
         w = placeholder("k", {c.k, c.k, c.ci, c.co}, args.dtype(), Constant);
  Tensor bias = placeholder("bias", {c.co}, args.dtype());
  Tensor conv = convolve(padded(x, c), w, c);
  Tensor out = compute("out", conv.shape(), [&](Var i, Var y, Var z, Var o) {
    return max(conv(i, y, z, o) + bias(o), zero(args.dtype()));
  });
  return program("conv2d_bias_relu", {x, w, bias}, {out});
}

LATHE_WORKLOAD(conv2d_bias_residual_relu, "NHWC convolution + bias + residual + ReLU", kConv) {
  const ConvShape c = conv_shape(args, false);
  Tensor x = placeholder("x", {c.n, c.h, c.w, c.ci}, args.dtype()),
         w = placeholder("k", {c.k, c.k, c.ci, c.co}, args.dtype(), Constant);
  Tensor bias = placeholder("bias", {c.co}, args.dtype()),
         rest = placeholder("residual", {c.n, c.oh(), c.ow(), c.co}, args.dtype());
  Tensor conv = convolve(padded(x, c), w, c);
  Tensor out = compute("out", conv.shape(), [&](Var i, Var y, Var z, Var o) {
    return max(conv(i, y, z, o) + bias(o) + rest(i, y, z, o), zero(args.dtype()));
  });
  return program("conv2d_bias_residual_relu", {x, w, bias, rest}, {out});
}

LATHE_WORKLOAD(depthwise, "NHWC depthwise convolution, weights [k,k,c]",
               {{"n", 1, "images"},
                {"h", 112, "height"},
                {"w", 112, "width"},
                {"c", 32, "channels"},
                {"k", 3, "kernel size"},
                {"s", 1, "stride"},
                {"p", 1, "padding"}}) {
  args.require(args["s"] >= 1, "the stride is at least 1");
  const std::int64_t ch = args["c"];
  const ConvShape c{args["n"], args["h"], args["w"], ch, ch, args["k"], args["s"], args["p"], 1, 1};
  Tensor x = placeholder("x", {c.n, c.h, c.w, ch}, args.dtype()),
         w = placeholder("k", {c.k, c.k, ch}, args.dtype(), Constant);
  Tensor pad = padded(x, c);
  Axis ry = reduce_axis(c.k, "ry"), rx = reduce_axis(c.k, "rx");
  Tensor out = compute("out", {c.n, c.oh(), c.ow(), ch}, [&](Var i, Var y, Var z, Var q) {
    return sum(pad(i, y * c.s + ry, z * c.s + rx, q) * w(ry, rx, q), {ry, rx});
  });
  return program("depthwise", {x, w}, {out});
}

LATHE_WORKLOAD(conv1d, "NLC convolution, weights [k,ci,co]",
               {{"n", 1, "sequences"},
                {"l", 256, "length"},
                {"ci", 64, "input channels"},
                {"co", 128, "output channels"},
                {"k", 3, "kernel size"},
                {"s", 2, "stride"},
                {"p", 1, "padding"}}) {
  args.require(args["s"] >= 1, "the stride is at least 1");
  const std::int64_t n = args["n"], l = args["l"], ci = args["ci"], co = args["co"], k = args["k"],
                     s = args["s"], p = args["p"];
  Tensor x = placeholder("x", {n, l, ci}, args.dtype()),
         w = placeholder("k", {k, ci, co}, args.dtype(), Constant);
  Tensor pad = compute("pad", {n, l + 2 * p, ci}, [&](Var i, Var y, Var q) {
    return if_inside(x, {i, y - p, q}, zero(args.dtype()));
  });
  Axis r = reduce_axis(k, "r"), rc = reduce_axis(ci, "rc");
  Tensor out = compute("conv", {n, out_size(l, k, s, p), co}, [&](Var i, Var y, Var o) {
    return sum(pad(i, y * s + r, rc) * w(r, rc, o), {r, rc});
  });
  return program("conv1d", {x, w}, {out});
}

LATHE_WORKLOAD(softmax, "rows of x[m,n]", {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  const std::int64_t m = args["m"], n = args["n"];
  Tensor x = placeholder("x", {m, n}, args.dtype());
  Axis r = reduce_axis(n, "r"), q = reduce_axis(n, "q");
  Tensor top = compute("top", {m}, [&](Var i) { return max(x(i, r), {r}); });
  Tensor e = compute("e", {m, n}, [&](Var i, Var j) { return exp(x(i, j) - top(i)); });
  Tensor total = compute("total", {m}, [&](Var i) { return sum(e(i, q), {q}); });
  Tensor out = compute("out", {m, n}, [&](Var i, Var j) { return e(i, j) / total(i); });
  return program("softmax", {x}, {out});
}

LATHE_WORKLOAD(layer_norm, "rows of x[m,n], scale and shift [n]; two-pass variance",
               {{"m", 128, "rows"}, {"n", 768, "columns"}}) {
  const std::int64_t m = args["m"], n = args["n"];
  Tensor x = placeholder("x", {m, n}, args.dtype()), gamma = placeholder("gamma", {n}, args.dtype()),
         beta = placeholder("beta", {n}, args.dtype());
  Axis r = reduce_axis(n, "r"), q = reduce_axis(n, "q");
  const Expr scale = make_float(args.dtype(), n > 0 ? 1.0 / static_cast<double>(n) : 0);
  Tensor total = compute("total", {m}, [&](Var i) { return sum(x(i, r), {r}); });
  Tensor mean = compute("mean", {m}, [&](Var i) { return total(i) * scale; });
  Tensor squares =
      compute("squares", {m}, [&](Var i) { return sum((x(i, q) - mean(i)) * (x(i, q) - mean(i)), {q}); });
  Tensor factor = compute("factor", {m},
                          [&](Var i) { return rsqrt(squares(i) * scale + make_float(args.dtype(), 1e-5)); });
  Tensor out = compute("out", {m, n},
                       [&](Var i, Var j) { return (x(i, j) - mean(i)) * factor(i) * gamma(j) + beta(j); });
  return program("layer_norm", {x, gamma, beta}, {out});
}

LATHE_WORKLOAD(max_pool, "NHWC max pooling",
               {{"n", 1, "images"},
                {"h", 112, "height"},
                {"w", 112, "width"},
                {"c", 64, "channels"},
                {"k", 2, "window"},
                {"s", 2, "stride"}}) {
  args.require(args["s"] >= 1, "the stride is at least 1");
  const std::int64_t n = args["n"], h = args["h"], w = args["w"], c = args["c"], k = args["k"], s = args["s"];
  Tensor x = placeholder("x", {n, h, w, c}, args.dtype());
  Axis ry = reduce_axis(k, "ry"), rx = reduce_axis(k, "rx");
  Tensor out =
      compute("out", {n, out_size(h, k, s, 0), out_size(w, k, s, 0), c}, [&](Var i, Var y, Var z, Var q) {
        return max(x(i, y * s + ry, z * s + rx, q), {ry, rx});
      });
  return program("max_pool", {x}, {out});
}

LATHE_WORKLOAD(row_sum, "y[m] = sum of row m of x[m,n]", {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  Tensor x = placeholder("x", {args["m"], args["n"]}, args.dtype());
  Axis r = reduce_axis(args["n"], "r");
  Tensor y = compute("y", {args["m"]}, [&](Var i) { return sum(x(i, r), {r}); });
  return program("row_sum", {x}, {y});
}

LATHE_WORKLOAD(transpose, "y[n,m] = x[m,n]", {{"m", 1024, "rows"}, {"n", 1024, "columns"}}) {
  Tensor x = placeholder("x", {args["m"], args["n"]}, args.dtype());
  Tensor y = compute("y", {args["n"], args["m"]}, [&](Var i, Var j) { return x(j, i); });
  return program("transpose", {x}, {y});
}

LATHE_WORKLOAD(add_relu_sigmoid, "sigmoid(relu(a + b)) over n elements, one pass",
               {{"n", 16777216, "elements"}}) {
  Tensor a = placeholder("a", {args["n"]}, args.dtype()), b = placeholder("b", {args["n"]}, args.dtype());
  Tensor c = compute("c", a.shape(), [&](Var i) { return a(i) + b(i); });
  Tensor d = compute("d", a.shape(), [&](Var i) { return max(c(i), zero(args.dtype())); });
  Tensor out = compute("out", a.shape(), [&](Var i) { return sigmoid(d(i)); });
  return program("add_relu_sigmoid", {a, b}, {out});
}

}  // namespace lathe
