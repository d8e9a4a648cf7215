#pragma once
// Programs written node by node, for the tests of the IR's services.

#include "ir/visitor.h"

namespace lathe::test {

/// C[i] = sum over k of A[i, k] * 2, for 8 x 5 elements; one of the fields may be varied by the caller.
struct RowSum {
  Buffer a{"A", f32, {8, 5}};
  Buffer c{"C", f32, {8}};
  Var i{"i"}, k{"k"}, vi{"vi"}, vk{"vk"};
  Label label = make_label("C");

  Reducer reducer() const {
    auto* node = new ReducerNode;
    Var x("x", f32), y("y", f32);
    node->name = "sum";
    node->a = {x};
    node->b = {y};
    node->result = {x + y};
    node->identity = {make_float(f32, 0)};
    node->associative = node->commutative = true;
    return Reducer(node);
  }

  std::unique_ptr<Block> block() const {
    auto b = std::make_unique<Block>();
    b->label = label;
    b->iters = {{vi, 8, IterKind::Spatial}, {vk, 5, IterKind::Reduce}};
    b->bindings = {i, k};
    b->predicate = true_expr();
    b->reads = {{a, {{vi, 1}, {vk, 1}}}};
    b->writes = {{c, {{vi, 1}}}};
    b->init = make_stmt<Store>(c, make_float(f32, 0), std::vector<Expr>{vi});
    b->body = make_stmt<Store>(c, load(c, {vi}) + load(a, {vi, vk}) * 2, std::vector<Expr>{vi});
    b->reducer = reducer();
    return b;
  }

  Program program(Stmt block) const {
    Stmt inner = make_stmt<For>(k, 5, ForKind::Serial, std::move(block));
    Stmt outer = make_stmt<For>(i, 8, ForKind::Serial, std::move(inner));
    return Program("rowsum", {{ParamRole::Input, a, {}}, {ParamRole::Output, c, {}}}, {}, outer);
  }
  Program program(std::unique_ptr<Block> block) const { return program(Stmt(block.release())); }
  Program program() const { return program(block()); }
};

}  // namespace lathe::test
