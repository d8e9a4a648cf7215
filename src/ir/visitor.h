#pragma once
// Visitors and mutators over expressions and statements, made from the lists of node kinds.
//
// A Mutator returns its argument when nothing below it changed, so an untouched subtree keeps its identity
// and costs no allocation. Both walk Block headers too: extents, bindings, predicate, regions, init, body, in
// this order.

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "lathe/program.h"

namespace lathe {

/// LATHE_EXPR_KINDS with the node types' own names.
#define LATHE_EXPR_NODES(X) \
  X(IntImm) X(FloatImm) X(VarNode) X(Binary) X(Not) X(Cast) X(Select) X(Load) X(Call) X(Ramp) X(Broadcast)

class Visitor {
 public:
  virtual ~Visitor() = default;
  void visit(const Expr& e);
  void visit(const Stmt& s);

 protected:
#define X(name) virtual void visit_node(const name& node, const Expr& self);
  LATHE_EXPR_NODES(X)
#undef X
#define X(name) virtual void visit_node(const name& node, const Stmt& self);
  LATHE_STMT_KINDS(X)
#undef X
  void visit(const BufferRegion& region);
};

class Mutator {
 public:
  virtual ~Mutator() = default;
  Expr mutate(const Expr& e);
  Stmt mutate(const Stmt& s);

 protected:
#define X(name) virtual Expr mutate_node(const name& node, const Expr& self);
  LATHE_EXPR_NODES(X)
#undef X
#define X(name) virtual Stmt mutate_node(const name& node, const Stmt& self);
  LATHE_STMT_KINDS(X)
#undef X
  /// Buffers in loads, stores, allocations and regions pass through this.
  virtual Buffer mutate_buffer(const Buffer& buffer) { return buffer; }
  BufferRegion mutate_region(const BufferRegion& region, bool& changed);
  std::vector<BufferRegion> mutate_regions(const std::vector<BufferRegion>& regions, bool& changed);
  std::vector<Expr> mutate_all(const std::vector<Expr>& exprs, bool& changed);
};

using VarMap = std::unordered_map<const VarNode*, Expr>;

/// With variables replaced; unchanged parts are shared.
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);
BufferRegion substitute(const BufferRegion& region, const VarMap& map);
inline Expr substitute(const Expr& e, const Var& var, Expr value) {
  return substitute(e, VarMap{{var.node(), std::move(value)}});
}

using BufferMap = std::unordered_map<const BufferNode*, Buffer>;
/// With buffers replaced by identity everywhere (loads, stores, regions, allocations).
Stmt replace_buffers(const Stmt& s, const BufferMap& map);

/// Calls `f` for `e` and every expression below it, parents first. `f` returns false to skip the children.
void walk(const Expr& e, const std::function<bool(const Expr&)>& f);
/// Calls `on_stmt` for every statement, parents first (false skips what is below), and `on_expr` likewise for
/// every expression; either may be empty.
void walk(const Stmt& s, const std::function<bool(const Stmt&)>& on_stmt,
          const std::function<bool(const Expr&)>& on_expr = {});

/// Rebuilds bottom up: `f` gets each node with its children done and returns a replacement, or an undefined
/// handle to keep it. The first form does not enter expressions, the last rebuilds the expressions of a
/// statement.
Stmt rewrite(const Stmt& s, const std::function<Stmt(const Stmt&)>& f);
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f);
Stmt rewrite_exprs(const Stmt& s, const std::function<Expr(const Expr&)>& f);

/// Does `e` mention the variable, or one of which `in_set` is true?
bool mentions(const Expr& e, const Var& var);
bool mentions_any(const Expr& e, const std::function<bool(const VarNode*)>& in_set);
/// The variables of `e` in order of first appearance.
std::vector<Var> free_vars(const Expr& e);

/// A copy that may still be changed: `auto b = copy(block); b->predicate = …; return Stmt(b.release());`
std::unique_ptr<Block> copy(const Block& block);
std::unique_ptr<For> copy(const For& loop);
/// The loop with another body; `loop` itself when the body is the same.
Stmt with_body(const Stmt& loop, Stmt body);

}  // namespace lathe
