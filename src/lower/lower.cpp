#include "lower/lower.h"

#include "lower/passes.h"

namespace lathe::lower {

const std::vector<Pass>& passes(const Target&) {
  static const std::vector<Pass> table = {
      {"fma", "contract a*b + c into fused multiply-adds, where the block's math mode allows", form_fma},
      {"init", "give each reduction's init a nest of its own, before its outermost reduce loop", lower_init},
      {"allocate", "allocate each intermediate round the lowest statement that holds all its accesses",
       allocate},
      {"shrink", "shrink intermediates to the region that one instance is accessed in", shrink},
      {"tensorize", "call the functions that compute whole tiles", call_intrinsics},
      {"blocks", "turn blocks into plain statements, predicates into ifs", lower_blocks},
      {"prefetch", "bring near what later iterations read, where a loop asks for it", insert_prefetches},
      {"flatten", "one subscript a buffer", flatten},
      {"simplify", "simplify expressions, drop what does nothing", simplify},
      {"partition", "cut guarded loops so that their steady state has no guard", partition},
      {"vectorize", "replace vectorised loops by vectors of the native width, with masks in tails",
       vectorize},
      {"unroll", "repeat the bodies of unrolled loops", unroll},
      {"legalize", "compute f16 and bf16 arithmetic in f32", legalize},
      {"cleanup", "simplify expressions, drop what does nothing", simplify},
      {"unmask", "let the vectors of local buffers be whole", unmask},
      {"narrow", "32-bit subscripts where the whole index arithmetic fits", narrow},
  };
  return table;
}

Program lower(const Program& program, const Target& target, const Options& options) {
  Program p = program;
  for (const Pass& pass : passes(target)) {
    p = pass.run(p, target, options);
    if (options.on_pass) options.on_pass(pass.name, p);
  }
  return p;
}

}  // namespace lathe::lower
