// Windows: convolutions in other layouts than the library's, filters, pooling, stencils.
#include "support/unseen/shorthand.h"

namespace lathe::test {

void add_windows(std::vector<UnseenProgram>& all) {
  add(all, "conv_nchw", 2.0 * 28 * 28 * 64 * 64 * 9, "conv2d(h=28,w=28,ci=64,co=64,k=3,p=1)",
      [](Scale scale) {
        const I h = of(scale, 28, 7), ci = of(scale, 64, 5), co = of(scale, 64, 9);
        Tensor x = input("x", {1, ci, h, h}), k = weights("k", {co, ci, 3, 3});
        Tensor p = pad(x, {0, 0, 1, 1}, {0, 0, 1, 1}, 0.f);
        Axis ry = reduce_axis(3), rx = reduce_axis(3), rc = reduce_axis(ci);
        Tensor c = compute("c", {1, co, h, h}, [&](Var n, Var o, Var i, Var j) {
          return sum(p(n, rc, i + ry, j + rx) * k(o, rc, ry, rx), {rc, ry, rx});
        });
        return program("conv_nchw", {x, k}, {c});
      });
  add(all, "conv_nchw_bn_relu", 2.0 * 28 * 28 * 64 * 64 * 9, "conv2d(h=28,w=28,ci=64,co=64,k=3,p=1)",
      [](Scale scale) {
        const I h = of(scale, 28, 7), ci = of(scale, 64, 5), co = of(scale, 64, 9);
        Tensor x = input("x", {1, ci, h, h}), k = input("k", {co, ci, 3, 3}), s = input("s", {co}),
               b = input("b", {co});
        Axis ry = reduce_axis(3), rx = reduce_axis(3), rc = reduce_axis(ci);
        Tensor c = compute("c", {1, co, h, h}, [&](Var n, Var o, Var i, Var j) {
          return sum(if_inside(x, {n, rc, i + ry - 1, j + rx - 1}, 0.f) * k(o, rc, ry, rx), {rc, ry, rx});
        });
        Tensor y = compute("y", {1, co, h, h},
                           [&](Var n, Var o, Var i, Var j) { return relu(c(n, o, i, j) * s(o) + b(o)); });
        return program("conv_nchw_bn_relu", {x, k, s, b}, {y});
      });
  add(all, "depthwise_nchw", 2.0 * 64 * 56 * 56 * 9, "depthwise(h=56,w=56,c=64,k=3,p=1)", [](Scale scale) {
    const I h = of(scale, 56, 9), c_ = of(scale, 64, 3);
    Tensor x = input("x", {1, c_, h, h}), f = weights("f", {c_, 3, 3});
    Axis r = reduce_axis(3), q = reduce_axis(3);
    Tensor y = compute("y", {1, c_, h, h}, [&](Var n, Var c, Var i, Var j) {
      return sum(if_inside(x, {n, c, i + r - 1, j + q - 1}, 0.f) * f(c, r, q), {r, q});
    });
    return program("depthwise_nchw", {x, f}, {y});
  });
  add(all, "conv_odd_groups", 2.0 * 28 * 28 * 3 * 21 * 37 * 9, "conv2d(h=28,w=28,ci=63,co=111,k=3,p=1,g=3)",
      [](Scale scale) {
        const I h = of(scale, 28, 7), g = 3, ci = of(scale, 21, 5), co = of(scale, 37, 7);
        Tensor x = input("x", {h, h, g, ci}), k = weights("k", {g, 3, 3, ci, co});
        Tensor p = pad(x, {1, 1, 0, 0}, {1, 1, 0, 0}, 0.f);
        Axis ry = reduce_axis(3), rx = reduce_axis(3), rc = reduce_axis(ci);
        Tensor c = compute("c", {h, h, g, co}, [&](Var i, Var j, Var q, Var o) {
          return sum(p(i + ry, j + rx, q, rc) * k(q, ry, rx, rc, o), {ry, rx, rc});
        });
        return program("conv_odd_groups", {x, k}, {c});
      });
  add(all, "conv_dilated_bias_gelu_residual", 2.0 * 28 * 28 * 64 * 64 * 9,
      "conv2d(h=28,w=28,ci=64,co=64,k=3,p=2,d=2)", [](Scale scale) {
        const I h = of(scale, 28, 7), ci = of(scale, 64, 5), co = of(scale, 64, 9);
        Tensor x = input("x", {h, h, ci}), k = weights("k", {3, 3, ci, co}), b = weights("b", {co}),
               z = input("z", {h, h, co});
        Tensor p = pad(x, {2, 2, 0}, {2, 2, 0}, 0.f);
        Axis ry = reduce_axis(3), rx = reduce_axis(3), rc = reduce_axis(ci);
        Tensor c = compute("c", {h, h, co}, [&](Var i, Var j, Var o) {
          return sum(p(i + 2 * ry, j + 2 * rx, rc) * k(ry, rx, rc, o), {ry, rx, rc});
        });
        Tensor y = compute("y", {h, h, co},
                           [&](Var i, Var j, Var o) { return gelu(c(i, j, o) + b(o)) + z(i, j, o); });
        return program("conv_dilated_bias_gelu_residual", {x, k, b, z}, {y});
      });
  add(all, "conv3d", 2.0 * 12 * 12 * 12 * 32 * 32 * 27, "conv3d(depth=12,h=12,w=12,ci=32,co=32,k=3,p=1)",
      [](Scale scale) {
        const I h = of(scale, 12, 4), ci = of(scale, 32, 3), co = of(scale, 32, 5);
        Tensor x = input("x", {h, h, h, ci}), k = weights("k", {3, 3, 3, ci, co});
        Tensor p = pad(x, {1, 1, 1, 0}, {1, 1, 1, 0}, 0.f);
        Axis rz = reduce_axis(3), ry = reduce_axis(3), rx = reduce_axis(3), rc = reduce_axis(ci);
        Tensor c = compute("c", {h, h, h, co}, [&](Var z, Var i, Var j, Var o) {
          return sum(p(z + rz, i + ry, j + rx, rc) * k(rz, ry, rx, rc, o), {rz, ry, rx, rc});
        });
        return program("conv3d", {x, k}, {c});
      });
  add(all, "causal_conv1d", 2.0 * 512 * 64 * 64 * 5, "conv1d(l=512,ci=64,co=64,k=5,s=1,p=2)",
      [](Scale scale) {
        const I t_ = of(scale, 512, 13), ci = of(scale, 64, 5), co = of(scale, 64, 9);
        Tensor x = input("x", {t_, ci}), k = weights("k", {5, ci, co});
        Tensor p = pad(x, {4, 0}, {0, 0}, 0.f);
        Axis rk = reduce_axis(5), rc = reduce_axis(ci);
        Tensor c = compute("c", {t_, co}, [&](Var t, Var o) {
          return sum(p(t + 4 - rk, rc) * k(rk, rc, o), {rk, rc});
        });
        return program("causal_conv1d", {x, k}, {c});
      });
  add(all, "patch_embedding", 2.0 * 196 * 768 * 768, "matmul(m=196,n=768,k=768)", [](Scale scale) {
    const I g = of(scale, 14, 2), p = of(scale, 16, 4), e = of(scale, 768, 9);
    Tensor x = input("x", {3, g * p, g * p}), w = weights("w", {e, 3, p, p});
    Axis c = reduce_axis(3), r = reduce_axis(p), q = reduce_axis(p);
    Tensor y = compute("y", {g, g, e}, [&](Var i, Var j, Var o) {
      return sum(x(c, i * p + r, j * p + q) * w(o, c, r, q), {c, r, q});
    });
    return program("patch_embedding", {x, w}, {y});
  });
  add(all, "filter_16", 2.0 * 1048576 * 16, "", [](Scale scale) {
    const I n = of(scale, 1048576, 53);
    Tensor x = input("x", {n + 15}), h = input("h", {16});
    Axis k = reduce_axis(16);
    Tensor y = compute("y", {n}, [&](Var i) { return sum(x(i + k) * h(k), {k}); });
    return program("filter_16", {x, h}, {y});
  });
  add(all, "filter_5x5", 2.0 * 1024 * 1024 * 25, "", [](Scale scale) {
    const I h = of(scale, 1024, 9), w = of(scale, 1024, 19);
    Tensor x = input("x", {h + 4, w + 4}), f = input("f", {5, 5});
    Axis r = reduce_axis(5), q = reduce_axis(5);
    Tensor y = compute("y", {h, w}, [&](Var i, Var j) { return sum(x(i + r, j + q) * f(r, q), {r, q}); });
    return program("filter_5x5", {x, f}, {y});
  });
  add(all, "max_pool_nchw", 0, "", [](Scale scale) {
    const I h = of(scale, 56, 5), c_ = of(scale, 64, 3);
    Tensor x = input("x", {1, c_, 2 * h, 2 * h});
    Axis r = reduce_axis(3), q = reduce_axis(3);
    Tensor p = pad(x, {0, 0, 1, 1}, {0, 0, 1, 1}, -3e38f);
    Tensor y = compute("y", {1, c_, h, h}, [&](Var n, Var c, Var i, Var j) {
      return max(p(n, c, 2 * i + r, 2 * j + q), {r, q});
    });
    return program("max_pool_nchw", {x}, {y});
  });
  add(all, "max_pool_nhwc", 0, "", [](Scale scale) {
    const I h = of(scale, 56, 5), c_ = of(scale, 64, 3);
    Tensor x = input("x", {1, 2 * h, 2 * h, c_});
    Axis r = reduce_axis(3), q = reduce_axis(3);
    Tensor p = pad(x, {0, 1, 1, 0}, {0, 1, 1, 0}, -3e38f);
    Tensor y = compute("y", {1, h, h, c_}, [&](Var n, Var i, Var j, Var c) {
      return max(p(n, 2 * i + r, 2 * j + q, c), {r, q});
    });
    return program("max_pool_nhwc", {x}, {y});
  });
  add(all, "harris", 0, "", [](Scale scale) {
    const I h = of(scale, 1024, 11), w = of(scale, 1024, 17);
    Tensor x = input("x", {h + 4, w + 4});
    I H = h + 2, W = w + 2;
    Tensor ix = compute("ix", {H, W}, [&](Var i, Var j) {
      return (x(i, j + 2) - x(i, j)) + 2.f * (x(i + 1, j + 2) - x(i + 1, j)) +
             (x(i + 2, j + 2) - x(i + 2, j));
    });
    Tensor iy = compute("iy", {H, W}, [&](Var i, Var j) {
      return (x(i + 2, j) - x(i, j)) + 2.f * (x(i + 2, j + 1) - x(i, j + 1)) +
             (x(i + 2, j + 2) - x(i, j + 2));
    });
    Axis r = reduce_axis(3), q = reduce_axis(3), r2 = reduce_axis(3), q2 = reduce_axis(3),
         r3 = reduce_axis(3), q3 = reduce_axis(3);
    Tensor sxx = compute("sxx", {h, w}, [&](Var i, Var j) {
      return sum(ix(i + r, j + q) * ix(i + r, j + q), {r, q});
    });
    Tensor syy = compute("syy", {h, w}, [&](Var i, Var j) {
      return sum(iy(i + r2, j + q2) * iy(i + r2, j + q2), {r2, q2});
    });
    Tensor sxy = compute("sxy", {h, w}, [&](Var i, Var j) {
      return sum(ix(i + r3, j + q3) * iy(i + r3, j + q3), {r3, q3});
    });
    Tensor y = compute("y", {h, w}, [&](Var i, Var j) {
      return sxx(i, j) * syy(i, j) - sxy(i, j) * sxy(i, j) -
             0.04f * (sxx(i, j) + syy(i, j)) * (sxx(i, j) + syy(i, j));
    });
    return program("harris", {x}, {y});
  });
  add(all, "four_jacobi_sweeps", 0, "", [](Scale scale) {
    const I h = of(scale, 1024, 13), w = of(scale, 1024, 19);
    Tensor x = input("x", {h, w});
    Tensor t = x;
    for (int s = 0; s < 4; ++s)
      t = compute("t" + std::to_string(s), {h, w}, [&](Var i, Var j) {
        return select(i > 0 && i < h - 1 && j > 0 && j < w - 1,
                      0.2f * (t(i, j) + t(i - 1, j) + t(i + 1, j) + t(i, j - 1) + t(i, j + 1)), t(i, j));
      });
    return program("four_jacobi_sweeps", {x}, {t});
  });
  add(all, "box_blur_9x9", 0, "", [](Scale scale) {
    const I h = of(scale, 1024, 13), w = of(scale, 1024, 19);
    Tensor x = input("x", {h + 8, w + 8});
    Axis r = reduce_axis(9), q = reduce_axis(9);
    Tensor a = compute("a", {h + 8, w}, [&](Var i, Var j) { return sum(x(i, j + r), {r}); });
    Tensor y = compute("y", {h, w}, [&](Var i, Var j) { return sum(a(i + q, j), {q}); });
    Tensor z = compute("z", {h, w}, [&](Var i, Var j) { return y(i, j) * (1.f / 81); });
    return program("box_blur_9x9", {x}, {z});
  });
  add(all, "reflect_pad", 0, "", [](Scale scale) {
    const I h = of(scale, 1000, 9), w = of(scale, 1000, 11);
    Tensor x = input("x", {h, w});
    Tensor y = compute("y", {h + 4, w + 4}, [&](Var i, Var j) {
      auto m = [](Expr p, I n) { return select(p < 0, -p, select(p > n - 1, 2 * (n - 1) - p, p)); };
      return x(m(i - 2, h), m(j - 2, w));
    });
    return program("reflect_pad", {x}, {y});
  });
}

}  // namespace lathe::test
