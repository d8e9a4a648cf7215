// Division of an iteration space into an outer and an inner part.

#include "arith/interval.h"
#include "arith/iter_map.h"
#include "arith/variables.h"

namespace lathe::arith {
namespace {

class Divider {
 public:
  Divider(const std::vector<Domain>& outer, const std::vector<Domain>& inner, Analyzer& analyzer)
      : a_(analyzer), s_(analyzer.simplifier()), session_(s_), outer_(outer), inner_(inner) {
    for (const Domain& d : outer) a_.bind_extent(d.var, d.extent);
    for (const Domain& d : inner) {
      a_.bind_extent(d.var, d.extent);
      inner_vars_.push_back(d.var);
    }
  }

  std::optional<Division> run(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                              const Expr& predicate) {
    Division out;
    out.outer_predicate = out.inner_predicate = true_expr();
    for (const Expr& c : conjuncts(a_.simplify(predicate))) {
      const bool uses_inner = depends(c, inner_), uses_outer = depends(c, outer_);
      if (uses_inner && uses_outer) return std::nullopt;
      Expr& side = uses_inner ? out.inner_predicate : out.outer_predicate;
      side = conjunction(side, c);
    }
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      if (!divide(bindings[i], extents[i], out)) return std::nullopt;
    }
    const auto inner_map =
        detect_iter_map(out.inner_value, out.inner_extent, inner_, out.inner_predicate, a_);
    const auto outer_map =
        detect_iter_map(out.outer_value, out.outer_extent, outer_, out.outer_predicate, a_);
    if (!inner_map || !inner_map->surjective || !outer_map) return std::nullopt;
    return out;
  }

 private:
  static bool depends(const Expr& e, const std::vector<Domain>& on) {
    return any_variable(e.get(), [&](const VarNode* v) {
      for (const Domain& d : on) {
        if (d.var.node() == v) return true;
      }
      return false;
    });
  }

  bool divide(const Expr& binding, const Expr& extent, Division& out) {
    Sum outer, inner;
    const Sum sum = s_.sum_of(binding);
    outer.constant = sum.constant;
    for (const Term& t : sum.terms) {
      const Expr atom(t.atom);
      const bool uses_inner = depends(atom, inner_);
      if (uses_inner && depends(atom, outer_)) return false;
      (uses_inner ? inner : outer).terms.push_back(t);
    }
    const auto range = IntervalFinder(s_, inner_vars_).of(inner);
    if (!range) return false;
    // The inner part counts from 0; where it starts elsewhere the outer part takes the difference.
    Sum inner_extent = range->width;
    ++inner_extent.constant;
    if (!s_.accumulate(inner, range->low, -1) || !s_.accumulate(outer, range->low, 1)) return false;
    Sum quotient, rest;
    if (inner_extent.is_constant()) {
      if (inner_extent.constant <= 0) return false;
      for (const Term& t : outer.terms) {
        if (t.coefficient % inner_extent.constant != 0) return false;
      }
      if (outer.constant % inner_extent.constant != 0) return false;
      quotient = s_.floordiv(outer, inner_extent.constant);
    } else if (!s_.divide_by_sum(outer, inner_extent, quotient, rest) || !rest.is_constant(0)) {
      return false;
    }
    const Expr step = s_.to_expr(inner_extent);
    out.inner_value.push_back(s_.to_expr(inner));
    out.inner_extent.push_back(step);
    out.outer_value.push_back(s_.to_expr(quotient));
    out.outer_extent.push_back(a_.simplify(ceil_div(extent, step)));
    return true;
  }

  Analyzer& a_;
  Simplifier& s_;
  Simplifier::Session session_;
  const std::vector<Domain>&outer_, &inner_;
  std::vector<Var> inner_vars_;
};

}  // namespace

std::optional<Division> subspace_divide(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                        const std::vector<Domain>& outer, const std::vector<Domain>& inner,
                                        const Expr& predicate, Analyzer& analyzer) {
  return Divider(outer, inner, analyzer).run(bindings, extents, predicate);
}

}  // namespace lathe::arith
