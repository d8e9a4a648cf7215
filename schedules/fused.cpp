// Groups of operators that run as one kernel: what reads the result of a contraction is computed while it is in registers.

#include "schedules/convolution.h"

namespace lathe {

using namespace library;

void link_fused() {}

namespace {

/// A convolution, its parameters, and a last step for each of its elements.
struct ConvolutionGroup {
  Convolution conv;
  Tensor x, k, result;  ///< result: in the wide type
  explicit ConvolutionGroup(const WorkloadArgs& args)
      : conv(convolution(args, {"h", "w"})),
        x(placeholder("x", conv.input_shape(), args.dtype())),
        k(placeholder("k", conv.weights_shape(), args.dtype(), Constant)),
        result(conv.apply(x, k)) {}
  Tensor channels(const std::string& name) const { return placeholder(name, {conv.co}, x.dtype()); }
  /// out = relu(f(convolved value, position, channel)), rounded.
  template <class F>
  Tensor relu_of(F&& f) const {
    return compute("out", conv.output_shape(), [&](const std::vector<Var>& at) {
      return narrow(relu(f(result(at), at, at[conv.channel_dimension()])), x.dtype());
    });
  }
};

const std::vector<WorkloadParam> kConvolution = convolution_params(image_params(), 3, 1, 1);

}  // namespace

LATHE_WORKLOAD(conv2d_bias_relu,
               "relu(convolution + bias[co]); a batch norm may be folded into weights and bias",
               kConvolution) {
  const ConvolutionGroup group(args);
  Tensor bias = group.channels("bias");
  Tensor out = group.relu_of([&](const Expr& v, const auto&, Var o) { return v + wide(bias(o)); });
  return program("conv2d_bias_relu", {group.x, group.k, bias}, {out});
}

LATHE_WORKLOAD(conv2d_bias_bn_relu,
               "relu((convolution + bias) * scale + shift), each [co]: bias and batch norm", kConvolution) {
  const ConvolutionGroup group(args);
  Tensor bias = group.channels("bias"), scale = group.channels("scale"), shift = group.channels("shift");
  Tensor out = group.relu_of([&](const Expr& v, const auto&, Var o) {
    return (v + wide(bias(o))) * wide(scale(o)) + wide(shift(o));
  });
  return program("conv2d_bias_bn_relu", {group.x, group.k, bias, scale, shift}, {out});
}

LATHE_WORKLOAD(conv2d_bias_residual_relu, "relu(convolution + bias[co] + residual)", kConvolution) {
  const ConvolutionGroup group(args);
  Tensor bias = group.channels("bias"),
         residual = placeholder("residual", group.conv.output_shape(), args.dtype());
  Tensor out = group.relu_of([&](const Expr& v, const std::vector<Var>& at, Var o) {
    return v + wide(bias(o)) + wide(residual(at));
  });
  return program("conv2d_bias_residual_relu", {group.x, group.k, bias, residual}, {out});
}

LATHE_WORKLOAD(dense, "act(x[m,k] w[k,n] + bias[n])",
               {{"m", 128, "rows"},
                {"n", 768, "outputs"},
                {"k", 768, "inputs"},
                {"act", 0, "activation; gelu by erf or by tanh", {"none", "relu", "gelu", "gelu_tanh"}}}) {
  const std::int64_t m = args["m"], n = args["n"], k = args["k"], act = args["act"];
  const DataType t = args.dtype();
  if (act >= 2)
    need_float(args);
  else
    need_number(args);
  Tensor x = placeholder("x", {m, k}, t), w = placeholder("w", {k, n}, t, Constant),
         bias = placeholder("bias", {n}, t);
  Axis r = reduce_axis(k, "k");
  Tensor c = compute("dense", {m, n}, [&](Var i, Var j) { return sum(wide(x(i, r)) * wide(w(r, j)), {r}); });
  Tensor out = compute("out", {m, n}, [&](Var i, Var j) {
    const Expr v = c(i, j) + wide(bias(j));
    return narrow(act == 1 ? relu(v) : act == 2 ? gelu(v) : act == 3 ? gelu_tanh(v) : v, t);
  });
  return program("dense", {x, w, bias}, {out});
}

LATHE_WORKLOAD(qkv, "three projections of one input: x[m,k] times wq, wk, wv [k,n]",
               {{"m", 128, "rows"}, {"k", 768, "inputs"}, {"n", 768, "outputs of each"}}) {
  need_number(args);
  const std::int64_t m = args["m"], k = args["k"], n = args["n"];
  const DataType t = args.dtype();
  Tensor x = placeholder("x", {m, k}, t);
  Axis r = reduce_axis(k, "k");
  std::vector<ProgramInput> inputs = {x};
  std::vector<Tensor> outputs;
  for (const char* name : {"q", "k", "v"}) {
    Tensor w = placeholder(std::string("w") + name, {k, n}, t, Constant);
    inputs.push_back(w);
    outputs.push_back(reduced(name, {m, n}, t, [&](const std::vector<Var>& at) {
      return sum(wide(x(at[0], r)) * wide(w(r, at[1])), {r});
    }));
  }
  return program("qkv", inputs, outputs);
}

LATHE_WORKLOAD(transpose_batch_matmul,
               "scores of heads: q, k [b,seq,heads,dim] to q k^T [b,heads,seq,seq]; softmax of rows",
               {{"b", 1, "batch"},
                {"seq", 128, "positions"},
                {"heads", 12, "heads"},
                {"dim", 64, "summed"},
                {"softmax", 0, "1: of each row"}}) {
  need_float(args);
  const std::int64_t b = args["b"], seq = args["seq"], heads = args["heads"], dim = args["dim"];
  const DataType t = args.dtype();
  Tensor q = placeholder("q", {b, seq, heads, dim}, t), k = placeholder("k", {b, seq, heads, dim}, t);
  Axis r = reduce_axis(dim, "r"), s = reduce_axis(seq, "s"), u = reduce_axis(seq, "u");
  auto score = [&](const std::vector<Var>& at) {
    return sum(wide(q(at[0], at[2], at[1], r)) * wide(k(at[0], at[3], at[1], r)), {r});
  };
  if (args["softmax"] == 0)
    return program("transpose_batch_matmul", {q, k}, {reduced("scores", {b, heads, seq, seq}, t, score)});
  Tensor scores = compute("scores", {b, heads, seq, seq}, score);
  Tensor top =
      compute("top", {b, heads, seq}, [&](Var n, Var h, Var i) { return max(scores(n, h, i, s), {s}); });
  Tensor e = compute("e", {b, heads, seq, seq},
                     [&](Var n, Var h, Var i, Var j) { return exp(scores(n, h, i, j) - top(n, h, i)); });
  Tensor total =
      compute("total", {b, heads, seq}, [&](Var n, Var h, Var i) { return sum(e(n, h, i, u), {u}); });
  Tensor out = compute("out", {b, heads, seq, seq}, [&](Var n, Var h, Var i, Var j) {
    return narrow(e(n, h, i, j) * (1.0 / total(n, h, i)), t);
  });
  return program("transpose_batch_matmul", {q, k}, {out});
}

}  // namespace lathe
