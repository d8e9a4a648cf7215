#include "arith/simplifier.h"
#include "arith/variables.h"

namespace lathe::arith {

std::optional<Affine> affine(const Expr& e, const std::vector<Var>& vars) {
  if (e.dtype() != index_type) return std::nullopt;
  Simplifier s;
  Simplifier::Session session(s);
  const Sum sum = s.sum_of(e);
  Affine out;
  out.coefficients.resize(vars.size());
  Sum rest(sum.constant);
  for (const Term& t : sum.terms) {
    std::size_t i = 0;
    while (i < vars.size() && vars[i].get() != t.atom) ++i;
    if (i < vars.size()) {
      out.coefficients[i] = t.coefficient;
      continue;
    }
    const bool depends = any_variable(t.atom, [&](const VarNode* v) {
      for (const Var& x : vars) {
        if (x.node() == v) return true;
      }
      return false;
    });
    if (depends) return std::nullopt;
    rest.terms.push_back(t);
  }
  out.rest = s.to_expr(rest);
  return out;
}

}  // namespace lathe::arith
