#pragma once
// A mutator that knows what its variables may be: sizes of the program, and loops from where it enters them.

#include "arith/analyzer.h"
#include "ir/visitor.h"

namespace lathe::lower {

class BoundedMutator : public Mutator {
 public:
  explicit BoundedMutator(const Program& program) {
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

  arith::Analyzer analyzer_;
};

}  // namespace lathe::lower
