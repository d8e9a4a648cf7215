// Blocks become plain statements: bindings are put in for the variables, predicates become ifs. What a block of math mode
// Fast computes is put into a loop of one iteration with a note that code generation understands.

#include "lower/bounded_mutator.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

const std::string kFast = "MathMode::Fast";

bool is_fast(const Block& block) {
  const auto note = block.annotations.find(kMathNote);
  return note != block.annotations.end() && note->second == Annotation(kFast);
}

class BlockLowering : public BoundedMutator {
 public:
  BlockLowering(const Program& program, bool allow_fast) : BoundedMutator(program), allow_fast_(allow_fast) {}

 protected:
  using BoundedMutator::mutate_node;

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
};

}  // namespace

Program lower_blocks(const Program& program, const Target&, const Options& options) {
  return program.with_body(BlockLowering(program, options.form_fma).mutate(program->body));
}

}  // namespace lathe::lower
