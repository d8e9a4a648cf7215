// oneDNN's matrix products: alone, with bias and gelu fused, and as a part of attention.
#include <cmath>

#include "onednn.h"

namespace lathe::bench {

namespace {

using dnnl::matmul;
using dnnl::memory;

struct Product {
  memory a, b, c;
  std::optional<memory> bias;
  dnnl::primitive_attr attr;
};

// The product's steps. `weights`: "plain" takes b as it is, "any" takes it in the layout that oneDNN prefers.
std::optional<std::vector<Step>> product_steps(const Product& p, bool prepared) {
  return if_supported([&] {
    const memory::desc b = p.b.get_desc();
    const memory::desc weights = prepared ? any_layout(b.dims()) : b;
    const auto desc = p.bias ? matmul::desc(p.a.get_desc(), weights, p.bias->get_desc(), p.c.get_desc())
                             : matmul::desc(p.a.get_desc(), weights, p.c.get_desc());
    const matmul::primitive_desc chosen(desc, p.attr, dnnl_engine());
    Arguments arguments = {
        {DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, arranged(p.b, chosen.weights_desc())}, {DNNL_ARG_DST, p.c}};
    if (p.bias) arguments[DNNL_ARG_BIAS] = *p.bias;
    return std::vector<Step>{{matmul(chosen), arguments}};
  });
}

memory fresh(const Dims& dims) { return memory(dense(dims), dnnl_engine()); }

std::vector<Callable> plain_products(const Problem& p) {
  const Shape& v = p.what.params;
  Product product;
  // Two dimensions where there is one product: some implementations have no batched form.
  auto dims = [&](std::int64_t rows, std::int64_t cols) {
    return v[0] == 1 ? Dims{rows, cols} : Dims{v[0], rows, cols};
  };
  product.a = wrap(dense(dims(v[1], v[3])), p.data("a"));
  product.b = wrap(dense(dims(v[3], v[2])), p.data("b"));
  product.c = fresh(dims(v[1], v[2]));
  std::vector<Callable> all;
  if (auto steps = product_steps(product, p.what.prepared)) {
    all.push_back(dnnl_callable("onednn", p.threads, *steps, product.c, product.c.get_desc()));
  }
  if (v[0] == 1) {
    Buffer c(v[1] * v[2]);
    all.push_back(make_callable(
        "onednn-sgemm",
        [=] {
          dnnl_sgemm('N', 'N', v[1], v[2], v[3], 1.0f, p.data("a"), v[3], p.data("b"), v[2], 0.0f, c.data(),
                     v[2]);
        },
        c));
  }
  return all;
}

std::vector<Callable> matrix_vector(const Problem& p) {
  const Shape& v = p.what.params;
  Product product;
  product.a = wrap(dense({v[0], v[1]}), p.data("a"));
  product.b = wrap(dense({v[1], 1}), p.data("x"));
  product.c = fresh({v[0], 1});
  auto steps = product_steps(product, false);
  if (!steps) return {};
  return {dnnl_callable("onednn", p.threads, *steps, product.c, product.c.get_desc())};
}

std::vector<Callable> bias_gelu(const Problem& p) {
  const Shape& v = p.what.params;
  Product product;
  product.a = wrap(dense({v[0], v[1]}), p.data("x"));
  product.b = wrap(dense({v[1], v[2]}), p.data("w"));
  product.bias = wrap(dense({1, v[2]}), p.data("bias"));
  product.c = fresh({v[0], v[2]});
  dnnl::post_ops gelu;
  gelu.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
  product.attr.set_post_ops(gelu);
  auto steps = product_steps(product, p.what.prepared);
  if (!steps) return {};
  return {dnnl_callable("onednn", p.threads, *steps, product.c, product.c.get_desc())};
}

// Three products of one input: as a batch, or one wide product of weights joined ahead.
std::vector<Callable> projections(const Problem& p) {
  const Shape& v = p.what.params;
  const std::int64_t m = v[0], k = v[1], n = v[2];
  std::vector<Callable> all;
  std::vector<Step> three;
  memory c = fresh({3, m, n});
  for (std::int64_t i = 0; i < 3; ++i) {
    Product product;
    product.a = wrap(dense({m, k}), p.data("x"));
    product.b = wrap(dense({k, n}), p.data("w") + i * k * n);
    product.c = wrap(dense({m, n}), static_cast<float*>(c.get_data_handle()) + i * m * n);
    if (auto steps = product_steps(product, p.what.prepared))
      three.insert(three.end(), steps->begin(), steps->end());
  }
  if (three.size() == 3) all.push_back(dnnl_callable("onednn-three", p.threads, three, c, c.get_desc()));
  if (p.what.prepared) {
    memory weights = fresh({k, 3 * n});
    memory from = wrap(strided({k, 3, n}, {n, k * n, 1}), p.data("w"));
    memory to = wrap(dense({k, 3, n}), static_cast<float*>(weights.get_data_handle()));
    dnnl::reorder(from, to).execute(dnnl_stream(), from, to);
    dnnl_stream().wait();
    Product product;
    product.a = wrap(dense({m, k}), p.data("x"));
    product.b = weights;
    product.c = fresh({m, 3 * n});
    if (auto steps = product_steps(product, true)) {
      memory view = wrap(strided({3, m, n}, {n, 3 * n, 1}), static_cast<float*>(product.c.get_data_handle()));
      all.push_back(dnnl_callable("onednn-joined", p.threads, *steps, view, dense({3, m, n})));
    }
  }
  return all;
}

Step softmax_step(const memory& x) {
  const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, x.get_desc(),
                                         static_cast<int>(x.get_desc().dims().size()) - 1);
  const dnnl::softmax_forward::primitive_desc chosen(desc, dnnl_engine());
  return {dnnl::softmax_forward(chosen), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, x}}};
}

// q k^T of each head; q and k are read where they stand, with the strides of [seq, heads, dim].
std::vector<Callable> heads(const Problem& p) {
  const Shape& v = p.what.params;
  const std::int64_t batch = v[0], seq = v[1], heads = v[2], dim = v[3], row = heads * dim;
  Product product;
  product.a = wrap(strided({batch, heads, seq, dim}, {seq * row, dim, row, 1}), p.data("q"));
  product.b = wrap(strided({batch, heads, dim, seq}, {seq * row, dim, 1, row}), p.data("k"));
  product.c = fresh({batch, heads, seq, seq});
  auto steps = product_steps(product, false);
  if (!steps) return {};
  if (p.what.key == "TBS") steps->push_back(softmax_step(product.c));
  return {dnnl_callable("onednn", p.threads, *steps, product.c, product.c.get_desc())};
}

std::vector<Callable> attention(const Problem& p) {
  const Shape& v = p.what.params;
  const std::int64_t batch = v[0], heads = v[1], seq = v[2], dim = v[3], head = seq * dim;
  Product scores, mix;
  scores.a = wrap(dense({batch, heads, seq, dim}), p.data("q"));
  scores.b = wrap(strided({batch, heads, dim, seq}, {heads * head, head, 1, dim}), p.data("k"));
  scores.c = fresh({batch, heads, seq, seq});
  dnnl::post_ops scale;
  scale.append_eltwise(1.0f, dnnl::algorithm::eltwise_linear, 1.0f / std::sqrt(static_cast<float>(dim)),
                       0.0f);
  scores.attr.set_post_ops(scale);
  mix.a = scores.c;
  mix.b = wrap(dense({batch, heads, seq, dim}), p.data("v"));
  mix.c = fresh({batch, heads, seq, dim});
  auto steps = product_steps(scores, false), last = product_steps(mix, false);
  if (!steps || !last) return {};
  steps->push_back(softmax_step(scores.c));
  steps->push_back(last->front());
  return {dnnl_callable("onednn", p.threads, *steps, mix.c, mix.c.get_desc())};
}

const bool joined = register_peer({"GMM"}, plain_products) && register_peer({"GMV"}, matrix_vector) &&
                    register_peer({"MBG"}, bias_gelu) && register_peer({"QKV"}, projections) &&
                    register_peer({"TBG", "TBS"}, heads) && register_peer({"ATT"}, attention);

}  // namespace

}  // namespace lathe::bench
