// Permutations, and chains of blocks.
#include "support/unseen/shorthand.h"

namespace lathe::test {

void add_chains(std::vector<UnseenProgram>& all) {
  add(all, "transpose_0213", 0, "", [](Scale scale) {
    const I a = of(scale, 16, 3), b = of(scale, 128, 5), c_ = of(scale, 16, 4), d = of(scale, 64, 9);
    Tensor x = input("x", {a, b, c_, d});
    Tensor y = compute("y", {a, c_, b, d}, [&](Var i, Var k, Var j, Var l) { return x(i, j, k, l); });
    return program("transpose_0213", {x}, {y});
  });
  add(all, "transpose_0231", 0, "", [](Scale scale) {
    const I a = of(scale, 8, 2), b = of(scale, 64, 5), c_ = of(scale, 56, 4), d = of(scale, 56, 9);
    Tensor x = input("x", {a, b, c_, d});
    Tensor y = compute("y", {a, c_, d, b}, [&](Var i, Var k, Var l, Var j) { return x(i, j, k, l); });
    return program("transpose_0231", {x}, {y});
  });
  add(all, "transpose_3210", 0, "", [](Scale scale) {
    const I a = of(scale, 40, 3), b = of(scale, 32, 5), c_ = of(scale, 32, 4), d = of(scale, 48, 9);
    Tensor x = input("x", {a, b, c_, d});
    Tensor y = compute("y", {d, c_, b, a}, [&](Var l, Var k, Var j, Var i) { return x(i, j, k, l); });
    return program("transpose_3210", {x}, {y});
  });
  add(all, "symmetrise", 0, "", [](Scale scale) {
    const I n = of(scale, 1024, 21);
    Tensor x = input("x", {n, n});
    Tensor y = compute("y", {n, n}, [&](Var i, Var j) { return 0.5f * (x(i, j) + x(j, i)); });
    return program("symmetrise", {x}, {y});
  });
  add(all, "batched_outer", 0, "", [](Scale scale) {
    const I b = of(scale, 64, 3), m = of(scale, 256, 13), n = of(scale, 256, 17);
    Tensor x = input("x", {b, m}), y = input("y", {b, n});
    Tensor c = compute("C", {b, m, n}, [&](Var q, Var i, Var j) { return x(q, i) * y(q, j); });
    return program("batched_outer", {x, y}, {c});
  });
  add(all, "swiglu", 4.0 * 128 * 768 * 1024, "matmul(m=128,n=2048,k=768)", [](Scale scale) {
    const I m = of(scale, 128, 7), k_ = of(scale, 768, 11), n = of(scale, 1024, 17);
    Tensor x = input("x", {m, k_}), g = weights("Wg", {k_, n}), u = weights("Wu", {k_, n});
    Axis k = reduce_axis(k_);
    Tensor a = compute("a", {m, n}, [&](Var i, Var j) { return sum(x(i, k) * g(k, j), {k}); });
    Tensor b = compute("b", {m, n}, [&](Var i, Var j) { return sum(x(i, k) * u(k, j), {k}); });
    Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return a(i, j) * sigmoid(a(i, j)) * b(i, j); });
    return program("swiglu", {x, g, u}, {y});
  });
  add(all, "rmsnorm_matmul", 2.0 * 128 * 768 * 768, "matmul(m=128,n=768,k=768)", [](Scale scale) {
    const I m = of(scale, 128, 7), k_ = of(scale, 768, 11), n = of(scale, 768, 17);
    Tensor x = input("x", {m, k_}), g = input("g", {k_}), w = weights("W", {k_, n});
    Axis k = reduce_axis(k_), q = reduce_axis(k_);
    Tensor s = compute("s", {m}, [&](Var i) { return sum(x(i, q) * x(i, q), {q}); });
    Tensor h =
        compute("h", {m, k_}, [&](Var i, Var j) { return x(i, j) * rsqrt(s(i) / float(k_) + 1e-5f) * g(j); });
    Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return sum(h(i, k) * w(k, j), {k}); });
    return program("rmsnorm_matmul", {x, g, w}, {y});
  });
  add(all, "two_layers", 4.0 * 128 * 512 * 512, "matmul(m=128,n=512,k=1024)", [](Scale scale) {
    const I m = of(scale, 128, 7), h = of(scale, 512, 19);
    Tensor x = input("x", {m, h}), w = weights("W1", {h, h}), v = weights("W2", {h, h}), b = input("b", {h});
    Axis k = reduce_axis(h), q = reduce_axis(h);
    Tensor a = compute("a", {m, h}, [&](Var i, Var j) { return sum(x(i, k) * w(k, j), {k}); });
    Tensor r = compute("r", {m, h}, [&](Var i, Var j) { return relu(a(i, j) + b(j)); });
    Tensor y = compute("y", {m, h}, [&](Var i, Var j) { return sum(r(i, q) * v(q, j), {q}); });
    return program("two_layers", {x, w, v, b}, {y});
  });
  add(all, "depthwise_pointwise", 2.0 * 28 * 28 * 64 * (9 + 128), "", [](Scale scale) {
    const I h = of(scale, 28, 7), c_ = of(scale, 64, 9), co = of(scale, 128, 10);
    Tensor x = input("x", {h, h, c_}), d = weights("d", {3, 3, c_}), w = weights("w", {c_, co});
    Tensor p = pad(x, {1, 1, 0}, {1, 1, 0}, 0.f);
    Axis ry = reduce_axis(3), rx = reduce_axis(3), rc = reduce_axis(c_);
    Tensor dw = compute("dw", {h, h, c_}, [&](Var i, Var j, Var c) {
      return sum(p(i + ry, j + rx, c) * d(ry, rx, c), {ry, rx});
    });
    Tensor a = compute("a", {h, h, c_}, [&](Var i, Var j, Var c) { return relu(dw(i, j, c)); });
    Tensor y =
        compute("y", {h, h, co}, [&](Var i, Var j, Var o) { return sum(a(i, j, rc) * w(rc, o), {rc}); });
    return program("depthwise_pointwise", {x, d, w}, {y});
  });
  add(all, "matmul_row_max", 2.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I n = of(scale, 256, 13);
    Tensor a = input("A", {n, n}), b = weights("B", {n, n});
    Axis k = reduce_axis(n), q = reduce_axis(n);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), {k}); });
    Tensor m = compute("M", {n}, [&](Var i) { return max(c(i, q), {q}); });
    return program("matmul_row_max", {a, b}, {m});
  });
  add(all, "chain_of_30", 0, "", [](Scale scale) {
    const I n = of(scale, 1 << 20, 53);
    Tensor x = input("x", {n});
    Tensor t = x;
    for (int s = 0; s < 30; ++s)
      t = compute("t" + std::to_string(s), {n},
                  [&](Var i) { return s % 3 ? t(i) * 0.5f + x(i) : max(t(i), -x(i)); });
    return program("chain_of_30", {x}, {t});
  });
}

}  // namespace lathe::test
