#include "lower/renew.h"

namespace lathe::lower {
namespace {

class Renewal : public Mutator {
 protected:
  using Mutator::mutate_node;
  Expr mutate_node(const VarNode& n, const Expr& self) override {
    auto it = vars_.find(&n);
    return it == vars_.end() ? self : it->second;
  }
  Stmt mutate_node(const For& n, const Stmt&) override {
    const Expr extent = mutate(n.extent);
    const Var v = fresh(n.var);
    return make_stmt<For>(v, extent, n.for_kind, mutate(n.body), n.axis, n.annotations);
  }
  Stmt mutate_node(const Let& n, const Stmt&) override {
    const Expr value = mutate(n.value);
    const Var v = fresh(n.var);
    return make_stmt<Let>(v, value, mutate(n.body));
  }
  Stmt mutate_node(const Allocate& n, const Stmt&) override {
    const Buffer b = reshaped(n.buffer, n.buffer->shape);
    buffers_[n.buffer.get()] = b;
    return make_stmt<Allocate>(b, mutate(n.body));
  }
  Buffer mutate_buffer(const Buffer& b) override {
    auto it = buffers_.find(b.get());
    return it == buffers_.end() ? b : it->second;
  }

 private:
  Var fresh(const Var& old) {
    Var v = old.renamed(old.name());
    vars_[old.node()] = v;
    return v;
  }
  VarMap vars_;
  BufferMap buffers_;
};

}  // namespace

Stmt renew(const Stmt& stmt) { return Renewal().mutate(stmt); }

Buffer reshaped(const Buffer& buffer, std::vector<Expr> shape) {
  auto* node = new BufferNode;
  node->name = buffer->name;
  node->dtype = buffer->dtype;
  node->shape = std::move(shape);
  node->scope = buffer->scope;
  node->alignment = buffer->alignment;
  return Buffer(node);
}

}  // namespace lathe::lower
