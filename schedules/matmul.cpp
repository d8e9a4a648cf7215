// Matrix products.

#include "schedules/library.h"

namespace lathe {

using namespace library;

void link_matmul() {}

namespace {

const std::vector<WorkloadParam> kTransposes = {{"ta", 0, "1: A is given as [k,m]"},
                                                {"tb", 0, "1: B is given as [n,k]"}};
const std::vector<WorkloadParam> kConstant = {
    {"cb", 0, "1: B is constant, and may be laid out ahead of the calls"}};

/// A matrix [rows, columns], stored as it is or transposed.
struct Matrix {
  Tensor tensor;
  bool transposed;
  Expr operator()(const Expr& i, const Expr& j) const { return transposed ? tensor(j, i) : tensor(i, j); }
};
Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t columns, bool transposed,
              DataType dtype, ParamRole role) {
  return {transposed ? placeholder(name, {columns, rows}, dtype, role)
                     : placeholder(name, {rows, columns}, dtype, role),
          transposed};
}

}  // namespace

LATHE_WORKLOAD(matmul, "C[m,n] = A[m,k] B[k,n]",
               std::vector<WorkloadParam>{
                   {"m", 512, "rows of C"}, {"n", 512, "columns of C"}, {"k", 512, "summed"}} +
                   kTransposes + kConstant) {
  need_number(args);
  const std::int64_t m = args["m"], n = args["n"], k = args["k"];
  const Matrix a = matrix("A", m, k, args["ta"] != 0, args.dtype(), ParamRole::Input),
               b = matrix("B", k, n, args["tb"] != 0, args.dtype(),
                          args["cb"] != 0 ? ParamRole::Constant : ParamRole::Input);
  Axis r = reduce_axis(k, "k");
  Tensor c = reduced("C", {m, n}, args.dtype(), [&](const std::vector<Var>& at) {
    return sum(wide(a(at[0], r)) * wide(b(r, at[1])), {r});
  });
  return program("matmul", {a.tensor, b.tensor}, {c});
}

LATHE_WORKLOAD(batch_matmul, "C[b,m,n] = A[b,m,k] B[b,k,n]",
               std::vector<WorkloadParam>{
                   {"b", 12, "batch"}, {"m", 128, "rows"}, {"n", 128, "columns"}, {"k", 64, "summed"}} +
                   kTransposes + kConstant) {
  need_number(args);
  const std::int64_t batch = args["b"], m = args["m"], n = args["n"], k = args["k"];
  const bool ta = args["ta"] != 0, tb = args["tb"] != 0;
  Tensor a =
      placeholder("A", ta ? std::vector<Expr>{batch, k, m} : std::vector<Expr>{batch, m, k}, args.dtype());
  Tensor b = placeholder("B", tb ? std::vector<Expr>{batch, n, k} : std::vector<Expr>{batch, k, n},
                         args.dtype(), args["cb"] != 0 ? ParamRole::Constant : ParamRole::Input);
  Axis r = reduce_axis(k, "k");
  Tensor c = reduced("C", {batch, m, n}, args.dtype(), [&](const std::vector<Var>& at) {
    const Var q = at[0], i = at[1], j = at[2];
    return sum(wide(ta ? a(q, r, i) : a(q, i, r)) * wide(tb ? b(q, j, r) : b(q, r, j)), {r});
  });
  return program("batch_matmul", {a, b}, {c});
}

LATHE_WORKLOAD(gemv, "y[m] = A[m,k] x[k]",
               {{"m", 4096, "rows"}, {"k", 4096, "columns"}, {"ta", 0, "1: A is given as [k,m]"}}) {
  need_number(args);
  const std::int64_t m = args["m"], k = args["k"];
  const Matrix a = matrix("A", m, k, args["ta"] != 0, args.dtype(), ParamRole::Input);
  Tensor x = placeholder("x", {k}, args.dtype());
  Axis r = reduce_axis(k, "k");
  Tensor y = reduced("y", {m}, args.dtype(),
                     [&](const std::vector<Var>& at) { return sum(wide(a(at[0], r)) * wide(x(r)), {r}); });
  return program("gemv", {a.tensor, x}, {y});
}

}  // namespace lathe
