// Blocks become plain statements: bindings are put in for the variables, predicates become ifs. What a block of math mode
// Fast computes is put into a loop of one iteration with a note that code generation understands.

#include "arith/analyzer.h"
#include "ir/visitor.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

const std::string kFast = "MathMode::Fast";

bool is_fast(const Block& block) {
  const auto note = block.annotations.find(kMathNote);
  return note != block.annotations.end() && note->second == Annotation(kFast);
}

class BlockLowering : public Mutator {
 public:
  BlockLowering(const Program& program, bool allow_fast) : allow_fast_(allow_fast) {
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
    if (allow_fast_ && is_fast(n)) {
      body = make_stmt<For>(Var("fast"), make_index(1), ForKind::Serial, body, ThreadAxis::None,
                            Annotations{{kMathNote, kFast}});
    }
    const Expr guard = analyzer_.simplify(n.predicate);
    return is_true(guard) ? body : make_stmt<If>(guard, body);
  }

 private:
  bool allow_fast_;
  arith::Analyzer analyzer_;
};

}  // namespace

Program lower_blocks(const Program& program, const Target&, const Options& options) {
  return program.with_body(BlockLowering(program, options.form_fma).mutate(program->body));
}

}  // namespace lathe::lower
