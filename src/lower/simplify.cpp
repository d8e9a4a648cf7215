// Expressions simplified in the context of their loops and guards; what does nothing is dropped.

#include <algorithm>

#include "lower/bounded_mutator.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

bool does_nothing(const Stmt& s) {
  const Seq* seq = s.as<Seq>();
  return seq && seq->stmts.empty();
}

class Simplification : public BoundedMutator {
 public:
  using BoundedMutator::BoundedMutator;

 protected:
  using BoundedMutator::mutate_node;

  Stmt mutate_node(const For& n, const Stmt& self) override {
    const Expr extent = analyzer_.simplify(n.extent);
    if (is_int(extent, 0)) return make_seq({});
    if (is_int(extent, 1) && n.for_kind != ForKind::ThreadBound && !n.annotations.count(kMathNote))
      return mutate(substitute(n.body, {{n.var.node(), make_index(0)}}));
    analyzer_.bind_extent(n.var, extent);
    Stmt body = mutate(n.body);
    if (does_nothing(body)) return body;
    if (n.for_kind != ForKind::ThreadBound) {
      if (auto shorter = without_idle_end(n, extent, body)) return mutate(*shorter);
    }
    if (extent.same_as(n.extent)) return with_body(self, body);
    return with(n, extent, body);
  }
  Stmt mutate_node(const If& n, const Stmt&) override {
    const Expr condition = analyzer_.simplify(n.condition);
    if (is_int(condition, 1)) return mutate(n.then_case);
    if (is_int(condition, 0)) return n.else_case.defined() ? mutate(n.else_case) : make_seq({});
    Stmt then_case, else_case;
    {
      auto holds = analyzer_.assume(condition);
      then_case = mutate(n.then_case);
    }
    if (n.else_case.defined()) {
      auto fails = analyzer_.assume(!condition);
      else_case = mutate(n.else_case);
      if (does_nothing(else_case)) else_case = Stmt();
    }
    if (does_nothing(then_case) && !else_case.defined()) return then_case;
    return make_stmt<If>(condition, then_case, else_case);
  }
  Stmt mutate_node(const Let& n, const Stmt&) override {
    const Expr value = analyzer_.simplify(n.value);
    if (value.dtype().is_index()) analyzer_.bind_value(n.var, value);
    return make_stmt<Let>(n.var, value, mutate(n.body));
  }
  Stmt mutate_node(const Store& n, const Stmt&) override {
    std::vector<Expr> indices;
    for (const Expr& i : n.indices) indices.push_back(analyzer_.simplify(i));
    const Expr mask = n.mask.defined() ? analyzer_.simplify(n.mask) : Expr();
    if (mask.defined() && is_int(mask, 0)) return make_seq({});
    return make_stmt<Store>(n.buffer, analyzer_.simplify(n.value), std::move(indices),
                            mask.defined() && is_int(mask, 1) ? Expr() : mask, n.streaming);
  }
  Stmt mutate_node(const Evaluate& n, const Stmt&) override {
    return make_stmt<Evaluate>(analyzer_.simplify(n.value));
  }
  Stmt mutate_node(const Allocate& n, const Stmt&) override {
    Stmt body = mutate(n.body);
    return does_nothing(body) ? body : make_stmt<Allocate>(n.buffer, body);
  }
  Stmt mutate_node(const Seq& n, const Stmt&) override {
    std::vector<Stmt> stmts;
    for (const Stmt& s : n.stmts) {
      Stmt done = mutate(s);
      if (!does_nothing(done)) stmts.push_back(done);
    }
    return make_seq(std::move(stmts));
  }

 private:
  static Stmt with(const For& n, const Expr& extent, const Stmt& body) {
    auto out = copy(n);
    out->extent = extent;
    out->body = body;
    return Stmt(out.release());
  }

  /// The loop up to the iteration from which on a guard round its body never holds; nothing when there is none such.
  static std::optional<Stmt> without_idle_end(const For& n, const Expr& extent, const Stmt& body) {
    const If* guard = body.as<If>();
    const std::optional<std::int64_t> all = as_int(extent);
    if (!guard || guard->else_case.defined() || !all) return std::nullopt;
    Expr rest = true_expr();
    std::int64_t end = *all;
    for (const Expr& c : arith::conjuncts(guard->condition)) {
      const Binary* less = as_binary(c, BinaryOp::Lt);
      const std::optional<std::int64_t> bound =
          less && less->a.get() == n.var.get() ? as_int(less->b) : std::nullopt;
      if (bound)
        end = std::min(end, std::max<std::int64_t>(*bound, 0));
      else
        rest = arith::conjunction(rest, c);
    }
    if (end == *all) return std::nullopt;
    return with(n, make_index(end),
                is_true(rest) ? guard->then_case : make_stmt<If>(rest, guard->then_case, Stmt()));
  }
};

}  // namespace

Program simplify(const Program& program, const Target&, const Options&) {
  return program.with_body(Simplification(program).mutate(program->body));
}

}  // namespace lathe::lower
