// Reductions over all kinds of axes, of several values, and with what precedes and follows them.
#include "support/unseen/shorthand.h"

namespace lathe::test {

void add_reductions(std::vector<UnseenProgram>& all) {
  add(all, "sum_outer", 0, "", [](Scale scale) {
    const I a = of(scale, 64, 7), b = of(scale, 256, 5), c_ = of(scale, 256, 11);
    Tensor x = input("x", {a, b, c_});
    Axis r = reduce_axis(a);
    Tensor y = compute("y", {b, c_}, [&](Var i, Var j) { return sum(x(r, i, j), {r}); });
    return program("sum_outer", {x}, {y});
  });
  add(all, "sum_middle", 0, "", [](Scale scale) {
    const I a = of(scale, 64, 7), b = of(scale, 256, 5), c_ = of(scale, 256, 11);
    Tensor x = input("x", {a, b, c_});
    Axis r = reduce_axis(b);
    Tensor y = compute("y", {a, c_}, [&](Var i, Var j) { return sum(x(i, r, j), {r}); });
    return program("sum_middle", {x}, {y});
  });
  add(all, "sum_outer_and_inner", 0, "", [](Scale scale) {
    const I a = of(scale, 64, 7), b = of(scale, 256, 5), c_ = of(scale, 256, 11);
    Tensor x = input("x", {a, b, c_});
    Axis r = reduce_axis(a), s = reduce_axis(c_);
    Tensor y = compute("y", {b}, [&](Var i) { return sum(x(r, i, s), {r, s}); });
    return program("sum_outer_and_inner", {x}, {y});
  });
  add(all, "sum_inner_of_3", 0, "", [](Scale scale) {
    const I a = of(scale, 1000000, 37);
    Tensor x = input("x", {a, 3});
    Axis r = reduce_axis(3);
    Tensor y = compute("y", {a}, [&](Var i) { return sum(x(i, r), {r}); });
    return program("sum_inner_of_3", {x}, {y});
  });
  add(all, "sum_outer_of_3_columns", 0, "", [](Scale scale) {
    const I a = of(scale, 1000000, 37);
    Tensor x = input("x", {a, 3});
    Axis r = reduce_axis(a);
    Tensor y = compute("y", {3}, [&](Var i) { return sum(x(r, i), {r}); });
    return program("sum_outer_of_3_columns", {x}, {y});
  });
  add(all, "argmax_rows", 0, "", [](Scale scale) {
    const I m = of(scale, 1024, 7), n = of(scale, 1024, 21);
    Tensor x = input("x", {m, n});
    Axis k = reduce_axis(n);
    auto [v, p] = compute("y", {m}, [&](Var i) { return argmax(x(i, k), {k}); });
    return program("argmax_rows", {x}, {v, p});
  });
  add(all, "argmax_columns", 0, "", [](Scale scale) {
    const I m = of(scale, 1024, 7), n = of(scale, 1024, 21);
    Tensor x = input("x", {m, n});
    Axis k = reduce_axis(m);
    auto [v, p] = compute("y", {n}, [&](Var i) { return argmax(x(k, i), {k}); });
    return program("argmax_columns", {x}, {v, p});
  });
  add(all, "sum_and_squares", 0, "", [](Scale scale) {
    const I a = of(scale, 1024, 7), b = of(scale, 1024, 21);
    Tensor x = input("x", {a, b});
    Axis r = reduce_axis(b);
    auto mv = reducer("mv", {f32, f32},
                      [](const Values& p, const Values& q) {
                        return Values{p[0] + q[0], p[1] + q[1]};
                      },
                      {0.f, 0.f}, {true, true});
    auto y = compute("y", {a}, [&](Var i) { return reduce(mv, {x(i, r), x(i, r) * x(i, r)}, {r}); });
    return program("sum_and_squares", {x}, {y[0], y[1]});
  });
  add(all, "logsumexp", 0, "softmax(m=1536,n=128)", [](Scale scale) {
    const I m = of(scale, 1536, 7), n = of(scale, 128, 21);
    Tensor x = input("x", {m, n});
    Axis k = reduce_axis(n), q = reduce_axis(n);
    Tensor t = compute("t", {m}, [&](Var i) { return max(x(i, k), {k}); });
    Tensor s = compute("s", {m}, [&](Var i) { return sum(exp(x(i, q) - t(i)), {q}); });
    Tensor y = compute("y", {m}, [&](Var i) { return log(s(i)) + t(i); });
    return program("logsumexp", {x}, {y});
  });
  add(all, "masked_softmax", 0, "softmax(m=1536,n=128)", [](Scale scale) {
    const I m = of(scale, 1536, 7), n = of(scale, 128, 21);
    Tensor x = input("x", {m, n});
    Axis k = reduce_axis(n), q = reduce_axis(n);
    Tensor z =
        compute("z", {m, n}, [&](Var i, Var j) { return select(j <= i % n, x(i, j) * 0.125f, -1e30f); });
    Tensor t = compute("t", {m}, [&](Var i) { return max(z(i, k), {k}); });
    Tensor e = compute("e", {m, n}, [&](Var i, Var j) { return exp(z(i, j) - t(i)); });
    Tensor s = compute("s", {m}, [&](Var i) { return sum(e(i, q), {q}); });
    Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return e(i, j) / s(i); });
    return program("masked_softmax", {x}, {y});
  });
  add(all, "global_pool_nhwc", 0, "", [](Scale scale) {
    const I h = of(scale, 28, 5), c_ = of(scale, 512, 3);
    Tensor x = input("x", {1, h, h, c_});
    Axis r = reduce_axis(h), q = reduce_axis(h);
    Tensor s = compute("s", {1, c_}, [&](Var n, Var c) { return sum(x(n, r, q, c), {r, q}); });
    return program("global_pool_nhwc", {x}, {s});
  });
  add(all, "cumulative_sum", 2.0 * 256 * 256 * 256 / 2, "", [](Scale scale) {
    const I m = of(scale, 256, 7), n = of(scale, 256, 21);
    Tensor x = input("x", {m, n});
    Axis k = reduce_axis(n);
    Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return sum(x(i, k), {k}, where(k <= j)); });
    return program("cumulative_sum", {x}, {y});
  });
  add(all, "embedding_bag", 0, "", [](Scale scale) {
    const I v = of(scale, 4096, 17), d = of(scale, 128, 9), b = of(scale, 256, 5), l = of(scale, 32, 4);
    Tensor t = input("t", {v, d});
    Tensor id = placeholder("id", {b, l}, i32);
    Axis r = reduce_axis(l);
    Tensor y = compute("y", {b, d}, [&](Var i, Var j) {
      return sum(t(clamp(cast(index_type, id(i, r)), make_index(0), make_index(v - 1)), j), {r});
    });
    return program("embedding_bag", {t, id}, {y});
  });
}

}  // namespace lathe::test
