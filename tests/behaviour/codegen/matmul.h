#pragma once
// A register-tiled matrix product in lowered form, as the schedule of the tutorial gives it.

#include "tests/behaviour/codegen/build.h"

namespace lathe::codegen_test {

/// C[n, n] = A[n, k] * B[k, n], rows by 6 (n a multiple) and columns by 16, with B packed into panels of 16
/// columns that stay in the cache; accumulators in a local buffer.
inline Program matmul(std::int64_t m, std::int64_t n, std::int64_t k, ForKind outer = ForKind::Serial) {
  constexpr int kRows = 6, kLanes = 8, kVectors = 2, kColumns = kLanes * kVectors;
  Buffer a("A", f32, {m * k}), bm("B", f32, {k * n}), c("C", f32, {m * n});
  Buffer panel("panel", f32, {k * kColumns}, Scope::Local), acc("acc", f32, {kRows * kColumns}, Scope::Local);
  Var jo("jo"), io("io"), kk("k"), kp("kp");

  auto acc_at = [&](int row, int v) {
    return ramp(make_index(row * kColumns + v * kLanes), make_index(1), kLanes);
  };
  std::vector<Stmt> init, update, write, pack;
  for (int row = 0; row < kRows; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      init.push_back(store(acc, broadcast(Expr(0.f), kLanes), acc_at(row, v)));
      const Expr lhs = broadcast(load(a, {(io * kRows + row) * k + kk}), kLanes);
      const Expr rhs = load(panel, {ramp(kk * kColumns + v * kLanes, make_index(1), kLanes)});
      update.push_back(store(acc, fma(lhs, rhs, load(acc, {acc_at(row, v)})), acc_at(row, v)));
      write.push_back(
          store(c, load(acc, {acc_at(row, v)}),
                ramp((io * kRows + row) * n + jo * kColumns + v * kLanes, make_index(1), kLanes)));
    }
  }
  for (int v = 0; v < kVectors; ++v)
    pack.push_back(store(panel, load(bm, {ramp(kp * n + jo * kColumns + v * kLanes, make_index(1), kLanes)}),
                         ramp(kp * kColumns + v * kLanes, make_index(1), kLanes)));
  const Stmt tile = make_stmt<Allocate>(
      acc, make_seq({make_seq(init), loop(kk, make_index(k), make_seq(update)), make_seq(write)}));
  const Stmt column = make_stmt<Allocate>(
      panel, make_seq({loop(kp, make_index(k), make_seq(pack)), loop(io, make_index(m / kRows), tile)}));
  return Program("matmul", {input(a), input(bm), output(c)}, {},
                 loop(jo, make_index(n / kColumns), column, outer));
}

}  // namespace lathe::codegen_test
