// Contractions that are no plain product of two matrices: one operand twice, three operands, several dimensions, other reducers.
#include "support/unseen/shorthand.h"

namespace lathe::test {

void add_operands(std::vector<UnseenProgram>& all) {
  add(all, "gram", 2.0 * 512 * 512 * 1024, "matmul(m=512,n=512,k=1024,ta=1)", [](Scale scale) {
    const I n = of(scale, 512, 19), k = of(scale, 1024, 23);
    Tensor x = input("X", {k, n});
    Axis r = reduce_axis(k);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(x(r, i) * x(r, j), {r}); });
    return program("gram", {x}, {c});
  });
  add(all, "syrk", 2.0 * 512 * 512 * 512, "matmul(m=512,n=512,k=512,tb=1)", [](Scale scale) {
    const I n = of(scale, 512, 19), k = of(scale, 512, 23);
    Tensor x = input("X", {n, k});
    Axis r = reduce_axis(k);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(x(i, r) * x(j, r), {r}); });
    return program("syrk", {x}, {c});
  });
  add(all, "square", 2.0 * 384 * 384 * 384, "matmul(m=384,n=384,k=384)", [](Scale scale) {
    const I n = of(scale, 384, 21);
    Tensor x = input("A", {n, n});
    Axis r = reduce_axis(n);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(x(i, r) * x(r, j), {r}); });
    return program("square", {x}, {c});
  });
  add(all, "self_attention_scores", 2.0 * 8 * 128 * 128 * 64, "batch_matmul(b=8,m=128,n=128,k=64,tb=1)",
      [](Scale scale) {
        const I b = of(scale, 8, 2), t = of(scale, 128, 11), d = of(scale, 64, 9);
        Tensor x = input("X", {b, t, d});
        Axis r = reduce_axis(d);
        Tensor c =
            compute("S", {b, t, t}, [&](Var q, Var i, Var j) { return sum(x(q, i, r) * x(q, j, r), {r}); });
        return program("self_attention_scores", {x}, {c});
      });
  add(all, "bilinear", 2.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I b = of(scale, 256, 5), m = of(scale, 256, 13), n = of(scale, 256, 17);
    Tensor x = input("x", {b, m}), y = input("y", {b, n}), w = input("W", {m, n});
    Axis i = reduce_axis(m, "i"), j = reduce_axis(n, "j");
    Tensor c = compute("C", {b}, [&](Var q) { return sum(x(q, i) * w(i, j) * y(q, j), {i, j}); });
    return program("bilinear", {x, w, y}, {c});
  });
  add(all, "ijk_jkl_il", 2.0 * 256 * 512 * 256, "matmul(m=256,n=256,k=512)", [](Scale scale) {
    const I i_ = of(scale, 256, 13), j_ = of(scale, 16, 3), k_ = of(scale, 32, 5), l_ = of(scale, 256, 17);
    Tensor a = input("A", {i_, j_, k_}), b = input("B", {j_, k_, l_});
    Axis j = reduce_axis(j_, "j"), k = reduce_axis(k_, "k");
    Tensor c = compute("C", {i_, l_}, [&](Var i, Var l) { return sum(a(i, j, k) * b(j, k, l), {j, k}); });
    return program("ijk_jkl_il", {a, b}, {c});
  });
  add(all, "bchw_bcd", 2.0 * 4 * 64 * 128 * 28 * 28, "batch_matmul(b=4,m=128,n=784,k=64)", [](Scale scale) {
    const I b = of(scale, 4, 2), ch = of(scale, 64, 6), h = of(scale, 28, 5), d = of(scale, 128, 7);
    Tensor x = input("x", {b, ch, h, h}), w = input("w", {b, ch, d});
    Axis c = reduce_axis(ch, "c");
    Tensor y = compute("y", {b, d, h, h},
                       [&](Var q, Var o, Var i, Var j) { return sum(x(q, c, i, j) * w(q, c, o), {c}); });
    return program("bchw_bcd", {x, w}, {y});
  });
  add(all, "aebf_dfce_abcd", 2.0 * 24 * 24 * 24 * 24 * 24 * 24, "matmul(m=576,n=576,k=576)", [](Scale scale) {
    const I n = of(scale, 24, 5);
    Tensor a = input("A", {n, n, n, n}), b = input("B", {n, n, n, n});
    Axis e = reduce_axis(n, "e"), f = reduce_axis(n, "f");
    Tensor c = compute("C", {n, n, n, n}, [&](Var p, Var q, Var r, Var s) {
      return sum(a(p, e, q, f) * b(s, f, r, e), {e, f});
    });
    return program("aebf_dfce_abcd", {a, b}, {c});
  });
  add(all, "mttkrp", 3.0 * 128 * 64 * 64 * 32, "matmul(m=128,n=32,k=4096)", [](Scale scale) {
    const I i_ = of(scale, 128, 7), j_ = of(scale, 64, 5), k_ = of(scale, 64, 6), r_ = of(scale, 32, 9);
    Tensor x = input("X", {i_, j_, k_}), a = input("A", {j_, r_}), b = input("B", {k_, r_});
    Axis j = reduce_axis(j_, "j"), k = reduce_axis(k_, "k");
    Tensor m = compute("M", {i_, r_}, [&](Var i, Var r) {
      return sum(x(i, j, k) * a(j, r) * b(k, r), {j, k});
    });
    return program("mttkrp", {x, a, b}, {m});
  });
  add(all, "complex_matmul", 8.0 * 192 * 192 * 192, "matmul(m=192,n=384,k=384)", [](Scale scale) {
    const I n = of(scale, 192, 13);
    Tensor ar = input("Ar", {n, n}), ai = input("Ai", {n, n}), br = input("Br", {n, n}),
           bi = input("Bi", {n, n});
    Axis k = reduce_axis(n), q = reduce_axis(n);
    Tensor re = compute("re", {n, n},
                        [&](Var i, Var j) { return sum(ar(i, k) * br(k, j) - ai(i, k) * bi(k, j), {k}); });
    Tensor im = compute("im", {n, n},
                        [&](Var i, Var j) { return sum(ar(i, q) * bi(q, j) + ai(i, q) * br(q, j), {q}); });
    return program("complex_matmul", {ar, ai, br, bi}, {re, im});
  });
  add(all, "pairwise_self", 3.0 * 256 * 256 * 128, "matmul(m=256,n=256,k=128,tb=1)", [](Scale scale) {
    const I n = of(scale, 256, 19), d = of(scale, 128, 9);
    Tensor x = input("x", {n, d});
    Axis k = reduce_axis(d);
    Tensor c = compute("D", {n, n},
                       [&](Var i, Var j) { return sum((x(i, k) - x(j, k)) * (x(i, k) - x(j, k)), {k}); });
    return program("pairwise_self", {x}, {c});
  });
  add(all, "l1_distance", 3.0 * 256 * 256 * 128, "matmul(m=256,n=256,k=128,tb=1)", [](Scale scale) {
    const I m = of(scale, 256, 7), n = of(scale, 256, 19), d = of(scale, 128, 9);
    Tensor x = input("x", {m, d}), y = input("y", {n, d});
    Axis k = reduce_axis(d);
    Tensor c = compute("D", {m, n}, [&](Var i, Var j) { return sum(abs(x(i, k) - y(j, k)), {k}); });
    return program("l1_distance", {x, y}, {c});
  });
  add(all, "min_plus", 2.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I n = of(scale, 256, 19);
    Tensor a = input("A", {n, n}), b = input("B", {n, n});
    Axis k = reduce_axis(n);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return min(a(i, k) + b(k, j), {k}); });
    return program("min_plus", {a, b}, {c});
  });
  add(all, "boolean_matmul", 2.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I n = of(scale, 256, 19);
    Tensor a = placeholder("A", {n, n}, u8), b = placeholder("B", {n, n}, u8);
    Axis k = reduce_axis(n);
    auto any = reducer("any", i32, [](Expr x, Expr y) { return max(x, y); }, make_int(i32, 0), {true, true});
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) {
      return reduce(any, {select(a(i, k) != 0 && b(k, j) != 0, make_int(i32, 1), make_int(i32, 0))}, {k});
    });
    return program("boolean_matmul", {a, b}, {c});
  });
  add(all, "masked_matmul", 2.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I n = of(scale, 256, 19);
    Tensor a = input("L", {n, n}), b = input("B", {n, n});
    Axis k = reduce_axis(n);
    Tensor c =
        compute("C", {n, n}, [&](Var i, Var j) { return sum(select(k <= i, a(i, k), 0.f) * b(k, j), {k}); });
    return program("masked_matmul", {a, b}, {c});
  });
  add(all, "triangular_matmul", 1.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I n = of(scale, 256, 19);
    Tensor a = input("L", {n, n}), b = input("B", {n, n});
    Axis k = reduce_axis(n);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), {k}, where(k <= i)); });
    return program("triangular_matmul", {a, b}, {c});
  });
  add(all, "dequantised_matmul", 2.0 * 64 * 512 * 512, "matmul(m=64,n=512,k=512)", [](Scale scale) {
    const I m = of(scale, 64, 7), k_ = of(scale, 512, 11), n = of(scale, 512, 17);
    Tensor x = input("x", {m, k_}), w = placeholder("W", {k_, n}, i8), s = input("s", {n});
    Axis k = reduce_axis(k_);
    Tensor d = compute("d", {k_, n}, [&](Var i, Var j) { return cast(f32, w(i, j)) * s(j); });
    Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return sum(x(i, k) * d(k, j), {k}); });
    return program("dequantised_matmul", {x, w, s}, {y});
  });
  add(all, "scaled_matmul", 2.0 * 256 * 256 * 256, "matmul(m=256,n=256,k=256)", [](Scale scale) {
    const I n = of(scale, 256, 19);
    Tensor a = input("A", {n, n}), b = input("B", {n, n}), s = input("s", {n});
    Axis k = reduce_axis(n);
    Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(a(i, k) * s(k) * b(k, j), {k}); });
    return program("scaled_matmul", {a, b, s}, {c});
  });
  for (const auto& [in, sums] :
       {std::pair(i8, i32), {u8, i32}, {i64, i64}, {f64, f64}, {bf16, f32}, {f32, f64}}) {
    const std::string name = std::string("product_") + in.str() + "_" + sums.str();
    add(all, name, 2.0 * 256 * 256 * 256, "", [=, in = in, sums = sums](Scale scale) {
      const I n = of(scale, 256, 21);
      Tensor a = placeholder("A", {n, n}, in), b = placeholder("B", {n, n}, in);
      Axis k = reduce_axis(n, "k");
      Tensor c = compute("C", {n, n},
                         [&](Var i, Var j) { return sum(cast(sums, a(i, k)) * cast(sums, b(k, j)), {k}); });
      return program(name, {a, b}, {c});
    });
  }
}

}  // namespace lathe::test
