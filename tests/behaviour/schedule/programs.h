#pragma once
// Small programs that schedule tests share.

#include "lathe/schedule.h"

namespace lathe::test {

struct MatMul {
  Tensor a, b, c;
  Program program;
};
inline MatMul matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  MatMul out;
  out.a = placeholder("A", {m, k}, f32);
  out.b = placeholder("B", {k, n}, f32);
  Axis r = reduce_axis(k, "k");
  out.c = compute("C", {m, n}, [&](Var i, Var j) { return sum(out.a(i, r) * out.b(r, j), {r}); });
  out.program = program("matmul", {out.a, out.b}, {out.c});
  return out;
}

/// A 3x3 convolution with padding, bias and ReLU, NHWC.
struct Conv {
  Tensor x, k, bias, pad, conv, out;
  Program program;
};
inline Conv conv(std::int64_t h, std::int64_t w, std::int64_t ci, std::int64_t co) {
  Conv t;
  t.x = placeholder("x", {1, h, w, ci}, f32);
  t.k = placeholder("k", {3, 3, ci, co}, f32, Constant);
  t.bias = placeholder("b", {co}, f32);
  Axis ry = reduce_axis(3, "ry"), rx = reduce_axis(3, "rx"), rc = reduce_axis(ci, "rc");
  t.pad = compute("pad", {1, h + 2, w + 2, ci}, [&](Var i, Var y, Var z, Var c) {
    return if_inside(t.x, {i, y - 1, z - 1, c}, 0.f);
  });
  t.conv = compute("conv", {1, h, w, co}, [&](Var i, Var y, Var z, Var o) {
    return sum(t.pad(i, y + ry, z + rx, rc) * t.k(ry, rx, rc, o), {ry, rx, rc});
  });
  t.out = compute("out", t.conv.shape(),
                  [&](Var i, Var y, Var z, Var o) { return max(t.conv(i, y, z, o) + t.bias(o), 0.f); });
  t.program = program("conv_bias_relu", {t.x, t.k, t.bias}, {t.out});
  return t;
}

/// C = A + 1, D = C * 2 over n elements.
struct Chain {
  Tensor a, c, d;
  Program program;
};
inline Chain chain(Expr n, std::vector<ProgramInput> sizes = {}) {
  Chain t;
  t.a = placeholder("A", {n}, f32);
  t.c = compute("C", {n}, [&](Var i) { return t.a(i) + 1.f; });
  t.d = compute("D", {n}, [&](Var i) { return t.c(i) * 2.f; });
  sizes.insert(sizes.begin(), t.a);
  t.program = program("chain", sizes, {t.d});
  return t;
}

}  // namespace lathe::test
