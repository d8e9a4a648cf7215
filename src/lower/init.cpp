// Reduction inits.
//
//     for i: for k: for j:                     for i:
//       block C(vi=i, vj=j, vk=k)       =>       for j: C_init(vi=i, vj=j)
//         init: C = 0                            for k: for j:
//         C += …                                   block C(…)  C += …
//
// The init nest stands before the outermost loop that the block's reduce variables are bound to, so it runs also when a
// reduce extent is 0, and the update needs no test. The init's predicate is the spatial part of the block's.

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/visitor.h"
#include "lower/passes.h"
#include "schedule/blockize.h"

namespace lathe::lower {
namespace {

/// Does any reduce variable's binding mention the loop?
bool binds_reduction(const Block& block, const Var& loop) {
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Reduce && mentions(block.bindings[i], loop)) return true;
  }
  return false;
}

/// The init as a block under copies of the loops of `inside` that its spatial variables need.
Stmt init_nest(const Block& block, const std::vector<const For*>& inside) {
  auto init = std::make_unique<Block>();
  init->label = make_label(block.name() + "_init");
  init->body = block.init;
  init->writes = block.writes;
  init->annotations = block.annotations;
  init->annotations.erase(schedule::kIntrinsicNote);  // which computes the update alone
  init->partner = block.label;
  VarMap fresh_vars;  // both nests use their own loop variables
  std::vector<std::pair<const For*, Var>> loops;
  auto is_spatial = [&](const For* loop) {
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (block.iters[i].kind == IterKind::Spatial && mentions(block.bindings[i], loop->var)) return true;
    }
    return false;
  };
  std::vector<const VarNode*> dropped;
  for (const For* loop : inside) {
    if (is_spatial(loop)) {
      Var v = loop->var.renamed(loop->var.name());
      fresh_vars.emplace(loop->var.node(), v);
      loops.emplace_back(loop, v);
    } else {
      dropped.push_back(loop->var.node());
    }
  }
  VarMap iter_vars;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind != IterKind::Spatial) continue;
    init->iters.push_back(block.iters[i]);
    init->bindings.push_back(substitute(block.bindings[i], fresh_vars));
  }
  init->predicate = true_expr();
  for (const Expr& c : arith::conjuncts(block.predicate)) {
    const bool spatial = !mentions_any(
        c, [&](const VarNode* v) { return std::find(dropped.begin(), dropped.end(), v) != dropped.end(); });
    if (spatial) init->predicate = arith::conjunction(init->predicate, substitute(c, fresh_vars));
  }
  // The two blocks have the same variables; give the init its own.
  VarMap own;
  for (IterVar& iter : init->iters) {
    Var v = iter.var.renamed(iter.var.name());
    own.emplace(iter.var.node(), v);
    iter.var = v;
  }
  init->body = substitute(init->body, own);
  for (BufferRegion& w : init->writes) w = substitute(w, own);

  Stmt out(init.release());
  for (std::size_t i = loops.size(); i-- > 0;) {
    const For* loop = loops[i].first;
    out = make_stmt<For>(loops[i].second, loop->extent, loop->for_kind, out, loop->axis, loop->annotations);
  }
  return out;
}

class InitLowering : public Mutator {
 protected:
  using Mutator::mutate_node;

  Stmt mutate_node(const For& n, const Stmt& self) override {
    loops_.push_back(&n);
    Stmt body = mutate(n.body);
    loops_.pop_back();
    Stmt loop = with_body(self, body);
    // Inits that belong before this loop.
    std::vector<Stmt> before;
    std::erase_if(pending_, [&](const auto& p) {
      if (p.first != &n) return false;
      before.push_back(p.second);
      return true;
    });
    if (before.empty()) return loop;
    before.push_back(loop);
    return make_seq(std::move(before));
  }

  Stmt mutate_node(const Block& n, const Stmt& self) override {
    std::vector<const For*> outer;
    std::swap(outer, loops_);
    Stmt body = mutate(n.body);
    std::swap(outer, loops_);
    if (!n.init.defined()) {
      if (body.same_as(n.body)) return self;
      auto out = copy(n);
      out->body = body;
      return Stmt(out.release());
    }
    std::size_t first = 0;
    while (first < loops_.size() && !binds_reduction(n, loops_[first]->var)) ++first;
    auto update = copy(n);
    update->init = Stmt();
    update->body = body;
    Stmt init = init_nest(
        n, std::vector<const For*>(loops_.begin() + static_cast<std::ptrdiff_t>(first), loops_.end()));
    if (first == loops_.size()) return make_seq({init, Stmt(update.release())});  // no reduce loop at all
    pending_.emplace_back(loops_[first], init);
    return Stmt(update.release());
  }

 private:
  std::vector<const For*> loops_;
  std::vector<std::pair<const For*, Stmt>> pending_;
};

}  // namespace

Program lower_init(const Program& program, const Target&, const Options&) {
  return program.with_body(InitLowering().mutate(program->body));
}

}  // namespace lathe::lower
