// oneDNN's softmax, layer normalisation, norms, transposition and elementwise operators.
#include "onednn.h"

namespace lathe::bench {

namespace {

using dnnl::memory;

memory fresh(const memory::desc& desc) { return memory(desc, dnnl_engine()); }

std::vector<Callable> softmax(const Problem& p) {
  const memory::desc rows = dense({p.what.params[0], p.what.params[1]});
  const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, rows, 1);
  const dnnl::softmax_forward::primitive_desc chosen(desc, dnnl_engine());
  memory y = fresh(rows);
  return {dnnl_callable(
      "onednn", p.threads,
      {{dnnl::softmax_forward(chosen), {{DNNL_ARG_SRC, wrap(rows, p.data("x"))}, {DNNL_ARG_DST, y}}}}, y,
      rows)};
}

std::vector<Callable> layer_norm(const Problem& p) {
  const std::int64_t rows = p.what.params[0], cols = p.what.params[1];
  const memory::desc x = dense({rows, cols});
  const dnnl::layer_normalization_forward::desc desc(
      dnnl::prop_kind::forward_inference, x, 1e-5f,
      dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
  const dnnl::layer_normalization_forward::primitive_desc chosen(desc, dnnl_engine());
  memory y = fresh(x);
  const Arguments arguments = {{DNNL_ARG_SRC, wrap(x, p.data("x"))},
                               {DNNL_ARG_SCALE, wrap(dense({cols}), p.data("gamma"))},
                               {DNNL_ARG_SHIFT, wrap(dense({cols}), p.data("beta"))},
                               {DNNL_ARG_DST, y}};
  return {dnnl_callable("onednn", p.threads, {{dnnl::layer_normalization_forward(chosen), arguments}}, y, x)};
}

std::vector<Callable> norm(const Problem& p) {
  const Shape& v = p.what.params;
  const memory::desc x = dense({v[0], v[1] * v[2]}), y = dense({v[0], 1});
  auto made = if_supported([&] {
    const dnnl::reduction::desc desc(dnnl::algorithm::reduction_norm_lp_sum, x, y, 2.0f, 0.0f);
    const dnnl::reduction::primitive_desc chosen(desc, dnnl_engine());
    memory out = fresh(y);
    return dnnl_callable(
        "onednn", p.threads,
        {{dnnl::reduction(chosen), {{DNNL_ARG_SRC, wrap(x, p.data("x"))}, {DNNL_ARG_DST, out}}}}, out, y);
  });
  return made ? std::vector<Callable>{std::move(*made)} : std::vector<Callable>{};
}

std::vector<Callable> transpose(const Problem& p) {
  const std::int64_t m = p.what.params[0], n = p.what.params[1];
  const memory x = wrap(strided({n, m}, {1, n}), p.data("x"));
  memory y = fresh(dense({n, m}));
  return {dnnl_callable("onednn", p.threads, {copy_step(x, y)}, y, y.get_desc())};
}

dnnl::eltwise_forward::primitive_desc eltwise(dnnl::algorithm algorithm, const memory::desc& x) {
  return {dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_inference, algorithm, x, 0.0f, 0.0f),
          dnnl_engine()};
}

// Once fused into the addition, once as three primitives.
std::vector<Callable> add_relu_sigmoid(const Problem& p) {
  const memory::desc x = dense({p.what.params[0]});
  const memory a = wrap(x, p.data("a")), b = wrap(x, p.data("b"));
  const dnnl::binary::desc add(dnnl::algorithm::binary_add, x, x, x);
  std::vector<Callable> all;
  dnnl::post_ops ops;
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_logistic, 0.0f, 0.0f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  memory fused = fresh(x), separate = fresh(x), sum = fresh(x), positive = fresh(x);
  const dnnl::binary::primitive_desc with_epilogue(add, attr, dnnl_engine()), alone(add, dnnl_engine());
  all.push_back(dnnl_callable(
      "onednn", p.threads,
      {{dnnl::binary(with_epilogue), {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, fused}}}},
      fused, x));
  const std::vector<Step> three = {
      {dnnl::binary(alone), {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, sum}}},
      {dnnl::eltwise_forward(eltwise(dnnl::algorithm::eltwise_relu, x)),
       {{DNNL_ARG_SRC, sum}, {DNNL_ARG_DST, positive}}},
      {dnnl::eltwise_forward(eltwise(dnnl::algorithm::eltwise_logistic, x)),
       {{DNNL_ARG_SRC, positive}, {DNNL_ARG_DST, separate}}}};
  all.push_back(dnnl_callable("onednn-three", p.threads, three, separate, x));
  return all;
}

std::vector<Callable> functions(const Problem& p) {
  const auto algorithm = p.what.key == "exp"    ? dnnl::algorithm::eltwise_exp
                         : p.what.key == "tanh" ? dnnl::algorithm::eltwise_tanh
                                                : dnnl::algorithm::eltwise_logistic;
  const memory::desc x = dense({p.what.params[0]});
  memory y = fresh(x);
  return {dnnl_callable("onednn", p.threads,
                        {{dnnl::eltwise_forward(eltwise(algorithm, x)),
                          {{DNNL_ARG_SRC, wrap(x, p.data("x"))}, {DNNL_ARG_DST, y}}}},
                        y, x)};
}

const bool joined = register_peer({"SFM"}, softmax) && register_peer({"LN"}, layer_norm) &&
                    register_peer({"NRM"}, norm) && register_peer({"TRN"}, transpose) &&
                    register_peer({"EW"}, add_relu_sigmoid) &&
                    register_peer({"exp", "tanh", "sigmoid"}, functions);

}  // namespace

}  // namespace lathe::bench
