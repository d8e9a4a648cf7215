// oneDNN's convolutions: plain, grouped, depthwise, dilated, transposed, with the fused forms.
//
// The problem's layout is channels-last. Three peers of a prepared case: "nhwc" computes in that layout with
// weights as oneDNN likes them, "any" in blocked layouts throughout (the bar for a whole network), "nchw" in
// the other common one. In a case that is not prepared, the weights are used as they are, or rearranged in
// each call.
#include "../harness/operators.h"
#include "onednn.h"

namespace lathe::bench {

namespace {

using dnnl::memory;

// Extents and layouts of one problem, in oneDNN's order: batch, channels, spatial; weights (group,) out, in,
// spatial.
struct Layouts {
  Dims x, y, w, bias;
  memory::desc x_last, y_last, w_last;  // channels last: the problem's own
  memory::desc x_first, y_first;        // channels first
  Dims strides, dilates, pads, pads_end;
};

Dims spatial_dims(std::int64_t batch, std::int64_t channels, const Shape& spatial) {
  Dims dims = {batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// Strides of a channels-last array whose extents are given channels-first.
Dims channels_last(const Dims& dims) {
  Dims strides(dims.size(), 1);
  std::int64_t step = dims[1];
  for (std::size_t d = dims.size(); d-- > 2;) {
    strides[d] = step;
    step *= dims[d];
  }
  strides[0] = step;
  return strides;
}

Layouts layouts_of(const Convolution& c) {
  Layouts l;
  l.x = spatial_dims(c.batch, c.channels_in, c.in);
  l.y = spatial_dims(c.batch, c.channels_out, c.out);
  const std::int64_t ci = c.channels_in / c.groups, co = c.channels_out / c.groups;
  // The problem's weights are [k..., ci, groups * co]: strides say so, whatever the order of the extents.
  Dims w_strides;
  if (c.groups > 1) {
    l.w = {c.groups, co, ci};
    w_strides = {co, 1, c.channels_out};
  } else {
    l.w = {co, ci};
    w_strides = {1, c.channels_out};
  }
  for (int d = 0; d < c.rank(); ++d) {
    std::int64_t step = ci * c.channels_out;
    for (int inner = d + 1; inner < c.rank(); ++inner) step *= c.kernel;
    l.w.push_back(c.kernel);
    w_strides.push_back(step);
    l.strides.push_back(c.stride);
    l.dilates.push_back(c.dilation - 1);
    l.pads.push_back(c.pad);
    l.pads_end.push_back(c.pad);
  }
  l.bias = {c.channels_out};
  l.x_last = strided(l.x, channels_last(l.x));
  l.y_last = strided(l.y, channels_last(l.y));
  l.w_last = strided(l.w, w_strides);
  l.x_first = dense(l.x);
  l.y_first = dense(l.y);
  return l;
}

// The operands a convolution is computed from; what is folded ahead is folded in here.
struct Weights {
  memory w;
  std::optional<memory> bias;
};

// CBR: scale and shift of the batch norm go into the weights and the bias, which only makes the peer faster.
Weights fold(const Problem& p, const Layouts& l) {
  Weights weights{wrap(l.w_last, p.data("w")), std::nullopt};
  const std::string& key = p.what.key;
  if (key == "R50" || key == "RES") weights.bias = wrap(dense(l.bias), p.data("bias"));
  if (key != "CBR") return weights;
  const std::int64_t channels = l.bias[0], taps = p.operand("w").buffer.size() / channels;
  memory w(l.w_last, dnnl_engine()), bias(dense(l.bias), dnnl_engine());
  auto* to = static_cast<float*>(w.get_data_handle());
  auto* shifted = static_cast<float*>(bias.get_data_handle());
  const float *from = p.data("w"), *scale = p.data("scale");
  for (std::int64_t t = 0; t < taps; ++t) {
    for (std::int64_t o = 0; o < channels; ++o) to[t * channels + o] = from[t * channels + o] * scale[o];
  }
  for (std::int64_t o = 0; o < channels; ++o) shifted[o] = p.data("bias")[o] * scale[o] + p.data("shift")[o];
  return {w, bias};
}

struct Chosen {
  dnnl::primitive primitive;
  memory::desc x, w, y;
  bool reference;
};

template <class Kind>
Chosen choose(const Layouts& l, const memory::desc& x, const memory::desc& w, bool bias,
              const memory::desc& y, const dnnl::primitive_attr& attr, dnnl::algorithm algorithm) {
  const auto inference = dnnl::prop_kind::forward_inference;
  const auto desc =
      bias ? typename Kind::desc(inference, algorithm, x, w, dense(l.bias), y, l.strides, l.dilates, l.pads,
                                 l.pads_end)
           : typename Kind::desc(inference, algorithm, x, w, y, l.strides, l.dilates, l.pads, l.pads_end);
  const typename Kind::primitive_desc chosen(desc, attr, dnnl_engine());
  return {Kind(chosen), chosen.src_desc(), chosen.weights_desc(), chosen.dst_desc(), is_reference(chosen)};
}

// The operation after the product: relu, or residual and relu. oneDNN's form of the residual adds to what the
// output holds; other forms want the residual's layout before it chooses the output's, and are slower.
dnnl::primitive_attr epilogue(const Problem& p) {
  dnnl::primitive_attr attr;
  dnnl::post_ops ops;
  if (p.what.key == "RES") ops.append_sum(1.0f);
  if (p.what.key == "R50" || p.what.key == "CBR" || p.what.key == "RES") {
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  }
  attr.set_post_ops(ops);
  return attr;
}

// Each timed call of RES adds to the output of the call before; its result is that of one call on the
// residual.
Callable with_residual(Callable callable, const memory& residual, const memory& y) {
  callable.result = [residual, y, sample = callable.sample, inner = callable.result] {
    memory from = residual, to = y;
    dnnl::reorder(from, to).execute(dnnl_stream(), from, to);
    sample(1);
    return inner();
  };
  return callable;
}

enum class WeightUse { Prepared, AsTheyAre, RearrangedInEachCall };

struct Variant {
  std::string name;
  memory::desc x, y;
  WeightUse use;
};

std::optional<Callable> convolution(const Problem& p, const Layouts& l, const Weights& weights,
                                    const Variant& variant) {
  return if_supported([&]() -> std::optional<Callable> {
           const bool transposed = p.what.key == "T2D";
           const auto attr = epilogue(p);
           const memory::desc w = variant.use == WeightUse::AsTheyAre ? l.w_last : any_layout(l.w);
           const bool bias = weights.bias.has_value();
           const Chosen chosen =
               transposed ? choose<dnnl::deconvolution_forward>(l, variant.x, w, bias, variant.y, attr,
                                                                dnnl::algorithm::deconvolution_direct)
                          : choose<dnnl::convolution_forward>(l, variant.x, w, bias, variant.y, attr,
                                                              dnnl::algorithm::convolution_direct);
           if (chosen.reference) return std::nullopt;

           std::vector<Step> steps;
           memory used = weights.w, y(chosen.y, dnnl_engine());
           if (variant.use == WeightUse::RearrangedInEachCall) {
             used = memory(chosen.w, dnnl_engine());
             steps.push_back(copy_step(weights.w, used));
           } else {
             used = arranged(weights.w, chosen.w);
           }
           Arguments arguments = {{DNNL_ARG_SRC, arranged(wrap(l.x_last, p.data("x")), chosen.x)},
                                  {DNNL_ARG_WEIGHTS, used},
                                  {DNNL_ARG_DST, y}};
           if (bias) arguments[DNNL_ARG_BIAS] = *weights.bias;
           steps.push_back({chosen.primitive, arguments});
           Callable made = dnnl_callable("onednn-" + variant.name, p.threads, steps, y, l.y_last);
           if (p.what.key == "RES")
             made = with_residual(std::move(made), wrap(l.y_last, p.data("residual")), y);
           return made;
         })
      .value_or(std::nullopt);
}

std::vector<Callable> convolutions(const Problem& p) {
  const Layouts l = layouts_of(convolution_of(p.what));
  const Weights weights = fold(p, l);
  std::vector<Variant> variants;
  if (p.what.prepared) {
    variants = {{"nhwc", l.x_last, l.y_last, WeightUse::Prepared},
                {"any", any_layout(l.x), any_layout(l.y), WeightUse::Prepared},
                {"nchw", l.x_first, l.y_first, WeightUse::Prepared}};
  } else {
    variants = {{"nhwc", l.x_last, l.y_last, WeightUse::AsTheyAre},
                {"nhwc-rearranging", l.x_last, l.y_last, WeightUse::RearrangedInEachCall}};
  }
  std::vector<Callable> all;
  for (const Variant& variant : variants) {
    if (auto callable = convolution(p, l, weights, variant)) all.push_back(std::move(*callable));
  }
  return all;
}

// CMP: a convolution and a pooling, the intermediate in the layout that the convolution chose.
std::vector<Callable> convolution_and_pooling(const Problem& p) {
  const Layouts l = layouts_of(convolution_of(p.what));
  const Weights weights = fold(p, l);
  std::vector<Callable> all;
  for (bool blocked : {false, true}) {
    if (blocked && !p.what.prepared) continue;
    auto made = if_supported([&] {
      const Chosen conv = choose<dnnl::convolution_forward>(
          l, blocked ? any_layout(l.x) : l.x_last, p.what.prepared ? any_layout(l.w) : l.w_last, false,
          blocked ? any_layout(l.y) : l.y_last, {}, dnnl::algorithm::convolution_direct);
      const Dims out = {l.y[0], l.y[1], l.y[2] / 2, l.y[3] / 2};
      const memory::desc pooled_last = strided(out, channels_last(out));
      const dnnl::pooling_forward::desc pool_desc(
          dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, conv.y,
          blocked ? any_layout(out) : pooled_last, {2, 2}, {2, 2}, {0, 0}, {0, 0});
      const dnnl::pooling_forward::primitive_desc pool(pool_desc, dnnl_engine());
      memory y(conv.y, dnnl_engine()), pooled(pool.dst_desc(), dnnl_engine());
      const std::vector<Step> steps = {
          {conv.primitive,
           {{DNNL_ARG_SRC, arranged(wrap(l.x_last, p.data("x")), conv.x)},
            {DNNL_ARG_WEIGHTS, arranged(weights.w, conv.w)},
            {DNNL_ARG_DST, y}}},
          {dnnl::pooling_forward(pool), {{DNNL_ARG_SRC, y}, {DNNL_ARG_DST, pooled}}}};
      return dnnl_callable(blocked ? "onednn-any" : "onednn-nhwc", p.threads, steps, pooled, pooled_last);
    });
    if (made) all.push_back(std::move(*made));
  }
  return all;
}

const bool joined =
    register_peer({"C1D", "C2D", "C3D", "GRP", "DIL", "DEP", "T2D", "R50", "CBR", "RES"}, convolutions) &&
    register_peer({"CMP"}, convolution_and_pooling);

}  // namespace

}  // namespace lathe::bench
