// Blocks become plain statements: bindings are put in for the variables, predicates become ifs.

#include "arith/analyzer.h"
#include "ir/visitor.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

class BlockLowering : public Mutator {
 public:
  explicit BlockLowering(const Program& program) {
    for (const Param& p : program->params) {
      if (p.role == ParamRole::Size) analyzer_.bind_size(p.size);
    }
  }

 protected:
  using Mutator::mutate_node;

  Stmt mutate_node(const For& n, const Stmt& self) override {
    analyzer_.bind_extent(n.var, n.extent);
    return with_body(self, mutate(n.body));
  }

  Stmt mutate_node(const Block& n, const Stmt&) override {
    internal_check(!n.init.defined(), "inits are lowered before blocks");
    VarMap map;
    for (std::size_t i = 0; i < n.iters.size(); ++i) map.emplace(n.iters[i].var.node(), n.bindings[i]);
    Stmt body = mutate(substitute(n.body, map));
    const Expr guard = analyzer_.simplify(n.predicate);
    return is_true(guard) ? body : make_stmt<If>(guard, body);
  }

 private:
  arith::Analyzer analyzer_;
};

}  // namespace

Program lower_blocks(const Program& program, const Target&, const Options&) {
  return program.with_body(BlockLowering(program).mutate(program->body));
}

}  // namespace lathe::lower
