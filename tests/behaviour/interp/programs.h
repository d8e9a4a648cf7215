#pragma once
// Programs for the tests of the interpreter, made by hand: the interpreter is tested below the language.

#include "lathe/interp.h"

namespace lathe::interp {

inline Buffer buffer(std::string name, DataType t, std::vector<Expr> shape, Scope scope = Scope::Global) {
  return Buffer(std::move(name), t, std::move(shape), scope);
}
inline Stmt loop(const Var& v, Expr extent, Stmt body, ForKind kind = ForKind::Serial,
                 ThreadAxis axis = ThreadAxis::None) {
  return make_stmt<For>(v, extent, kind, body, axis);
}
inline Stmt bound(const Var& v, Expr extent, ThreadAxis axis, Stmt body) {
  return loop(v, extent, body, ForKind::ThreadBound, axis);
}
inline Stmt parallel(const Var& v, Expr extent, Stmt body) {
  return loop(v, extent, body, ForKind::Parallel);
}
inline Stmt store(const Buffer& b, std::vector<Expr> at, Expr value) {
  return make_stmt<Store>(b, value, at);
}
inline Stmt seq(std::vector<Stmt> all) { return make_stmt<Seq>(std::move(all)); }
inline Stmt barrier() { return make_stmt<Evaluate>(call(Intrinsic::BarrierBlock, {})); }

/// One iteration variable and what it is bound to.
struct Iter {
  Var var;
  Expr extent, binding;
  IterKind kind = IterKind::Spatial;
};
inline Stmt block(const char* name, const std::vector<Iter>& iters, Stmt body, Stmt init = {},
                  Expr predicate = true_expr()) {
  auto* b = new Block;
  b->label = make_label(name);
  for (const Iter& i : iters) {
    b->iters.push_back({i.var, i.extent, i.kind});
    b->bindings.push_back(i.binding);
  }
  b->predicate = predicate;
  b->body = body;
  b->init = init;
  if (init) {
    auto* sum = new ReducerNode;
    sum->name = "sum";
    sum->associative = sum->commutative = true;
    b->reducer = Reducer(sum);
  }
  return Stmt(b);
}
inline Param in(const Buffer& b) { return {ParamRole::Input, b, {}}; }
inline Param out(const Buffer& b) { return {ParamRole::Output, b, {}}; }
inline Param inout(const Buffer& b) { return {ParamRole::InOut, b, {}}; }
inline Param size(const Var& v) { return {ParamRole::Size, {}, v}; }

/// out[i] = f(a[i], b[i]) over arrays of n elements, without blocks.
inline Program pointwise(DataType t, DataType result, int n, const std::function<Expr(Expr, Expr)>& f) {
  Buffer a = buffer("a", t, {n}), b = buffer("b", t, {n}), c = buffer("c", result, {n});
  Var i("i");
  return Program("pointwise", {in(a), in(b), out(c)}, {},
                 loop(i, n, store(c, {i}, f(load(a, {i}), load(b, {i})))));
}

/// C[i, j] = sum over k of A[i, k] * B[k, j], in block form; extents may be expressions over `sizes`.
inline Program matmul(DataType t, Expr m, Expr n, Expr k, std::vector<Param> sizes = {}) {
  Buffer a = buffer("A", t, {m, k}), b = buffer("B", t, {k, n}), c = buffer("C", t, {m, n});
  Var i("i"), j("j"), l("k"), vi("vi"), vj("vj"), vk("vk");
  Stmt body = block("C", {{vi, m, i}, {vj, n, j}, {vk, k, l, IterKind::Reduce}},
                    store(c, {vi, vj}, load(c, {vi, vj}) + load(a, {vi, vk}) * load(b, {vk, vj})),
                    store(c, {vi, vj}, make_const(t, 0)));
  std::vector<Param> params{in(a), in(b), out(c)};
  params.insert(params.end(), sizes.begin(), sizes.end());
  return Program("matmul", params, {}, loop(i, m, loop(j, n, loop(l, k, body))));
}

}  // namespace lathe::interp
