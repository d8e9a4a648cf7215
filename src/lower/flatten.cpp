// Every buffer gets one subscript: row-major, or by its strides.

#include "arith/analyzer.h"
#include "ir/visitor.h"
#include "lower/passes.h"
#include "lower/renew.h"

namespace lathe::lower {
namespace {

class Flattening : public Mutator {
 public:
  Buffer flat(const Buffer& buffer) {
    auto it = flat_.find(buffer.get());
    if (it != flat_.end()) return it->second;
    const Expr elements = buffer->strides.empty() ? arith::product(buffer->shape)
                                                  : arith::mul(buffer->shape[0], buffer->strides[0]);
    return flat_.emplace(buffer.get(), reshaped(buffer, {elements})).first->second;
  }

 protected:
  using Mutator::mutate_node;
  Expr mutate_node(const Load& n, const Expr& self) override {
    Expr done = Mutator::mutate_node(n, self);
    const Load* load = done.as<Load>();
    return Expr(new Load(flat(n.buffer), {subscript(n.buffer, load->indices)}, load->mask));
  }
  Stmt mutate_node(const Store& n, const Stmt& self) override {
    Stmt done = Mutator::mutate_node(n, self);
    const Store* store = done.as<Store>();
    return make_stmt<Store>(flat(n.buffer), store->value,
                            std::vector<Expr>{subscript(n.buffer, store->indices)}, store->mask,
                            store->streaming);
  }
  Stmt mutate_node(const Allocate& n, const Stmt&) override {
    return make_stmt<Allocate>(flat(n.buffer), mutate(n.body));
  }

 private:
  static Expr subscript(const Buffer& buffer, const std::vector<Expr>& indices) {
    Expr sum = 0;
    if (!buffer->strides.empty()) {
      for (std::size_t d = 0; d < indices.size(); ++d)
        sum = arith::add(sum, arith::mul(indices[d], buffer->strides[d]));
      return sum;
    }
    for (std::size_t d = 0; d < indices.size(); ++d)
      sum = arith::add(arith::mul(sum, buffer->shape[d]), indices[d]);
    return sum;
  }
  std::unordered_map<const BufferNode*, Buffer> flat_;
};

}  // namespace

Program flatten(const Program& program, const Target&, const Options&) {
  Flattening flattening;
  Stmt body = flattening.mutate(program->body);
  std::vector<Param> params = program->params;
  for (Param& p : params) {
    if (p.role != ParamRole::Size) p.buffer = flattening.flat(p.buffer);
  }
  return Program(program->name, std::move(params), {}, body);
}

}  // namespace lathe::lower
