#include "ir/reduction.h"

#include "ir/visitor.h"

namespace lathe {
namespace {

int mentions_count(const std::vector<Expr>& exprs, const Var& var) {
  int count = 0;
  for (const Expr& e : exprs) {
    walk(e, [&](const Expr& x) {
      count += x.get() == var.get();
      return true;
    });
  }
  return count;
}

bool is_atom(const Expr& e) {
  return e.kind() == ExprKind::Var || e.kind() == ExprKind::IntImm || e.kind() == ExprKind::FloatImm;
}

struct Definition {
  Var var;
  Expr value;
};

Stmt with_lets(const std::vector<Definition>& lets, Stmt body) {
  for (auto d = lets.rbegin(); d != lets.rend(); ++d)
    body = make_stmt<Let>(d->var, d->value, std::move(body));
  return body;
}

}  // namespace

Stmt make_reduction_init(const std::vector<Buffer>& outputs, const std::vector<Expr>& indices,
                         const std::vector<Expr>& values) {
  std::vector<Stmt> stores;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    stores.push_back(make_stmt<Store>(outputs[i], values[i], indices));
  }
  return make_seq(std::move(stores));
}

Stmt make_reduction_update(const Reducer& reducer, const std::vector<Buffer>& outputs,
                           const std::vector<Expr>& indices, const std::vector<Expr>& values) {
  std::vector<Definition> lets;
  VarMap map;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    map[reducer->a[i].node()] = Expr(new Load(outputs[i], indices));
    Expr value = values[i];
    if (!is_atom(value) && mentions_count(reducer->result, reducer->b[i]) > 1) {
      lets.push_back({Var(reducer->b[i].name(), value.dtype()), value});
      value = lets.back().var;
    }
    map[reducer->b[i].node()] = value;
  }
  std::vector<Expr> results;
  for (const Expr& r : reducer->result) results.push_back(substitute(r, map));
  if (results.size() > 1) {
    for (Expr& r : results) {
      lets.push_back({Var("x", r.dtype()), r});
      r = lets.back().var;
    }
  }
  return with_lets(lets, make_reduction_init(outputs, indices, results));
}

namespace {

/// Does `e` equal the reducer's result, for one value of each b? Fills `values` (undefined: not yet seen).
class ResultMatcher {
 public:
  ResultMatcher(const Reducer& reducer, const ReductionUpdate& update, std::vector<Expr>& values)
      : reducer_(reducer), update_(update), values_(values) {}

  bool match(const Expr& pattern, const Expr& e) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (pattern.get() == reducer_->a[i].get()) {
        return structural_equal(Expr(new Load(update_.outputs[i], update_.indices)), e);
      }
      if (pattern.get() == reducer_->b[i].get()) {
        if (values_[i].defined()) return structural_equal(values_[i], e);
        values_[i] = e;
        return true;
      }
    }
    if (pattern.kind() != e.kind() || pattern.dtype() != e.dtype()) return false;
    const std::vector<Expr> inside = operands(pattern), others = operands(e);
    if (inside.empty() && others.empty()) return structural_equal(pattern, e);
    if (!same_operation(pattern, e) || inside.size() != others.size()) return false;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (!match(inside[i], others[i])) return false;
    }
    return true;
  }

 private:
  static std::vector<Expr> operands(const Expr& e) {
    if (const Binary* n = e.as<Binary>()) return {n->a, n->b};
    if (const Not* n = e.as<Not>()) return {n->a};
    if (const Cast* n = e.as<Cast>()) return {n->a};
    if (const Select* n = e.as<Select>()) return {n->condition, n->if_true, n->if_false};
    if (const Call* n = e.as<Call>()) return n->args;
    return {};
  }
  static bool same_operation(const Expr& x, const Expr& y) {
    if (const Binary* n = x.as<Binary>()) return n->op == y.as<Binary>()->op;
    if (const Call* n = x.as<Call>()) return n->op == y.as<Call>()->op && n->symbol == y.as<Call>()->symbol;
    return true;
  }

  const Reducer& reducer_;
  const ReductionUpdate& update_;
  std::vector<Expr>& values_;
};

}  // namespace

std::optional<ReductionUpdate> match_reduction_update(const Reducer& reducer, const Stmt& update) {
  VarMap lets;
  Stmt s = update;
  while (const Let* let = s.as<Let>()) {
    lets[let->var.node()] = substitute(let->value, lets);
    s = let->body;
  }
  const std::size_t n = reducer->result.size();
  std::vector<Stmt> stores{s};
  if (const Seq* seq = s.as<Seq>()) stores = seq->stmts;
  if (stores.size() != n) return std::nullopt;

  ReductionUpdate found;
  std::vector<Expr> results;
  for (const Stmt& one : stores) {
    const Store* store = one.as<Store>();
    if (!store || store->mask.defined()) return std::nullopt;
    if (!found.outputs.empty() && found.indices.size() != store->indices.size()) return std::nullopt;
    for (std::size_t i = 0; !found.outputs.empty() && i < found.indices.size(); ++i) {
      if (!structural_equal(found.indices[i], store->indices[i])) return std::nullopt;
    }
    found.indices = store->indices;
    found.outputs.push_back(store->buffer);
    results.push_back(substitute(store->value, lets));
  }
  std::vector<Expr> values(n);
  ResultMatcher matcher(reducer, found, values);
  for (std::size_t i = 0; i < n; ++i) {
    if (!matcher.match(reducer->result[i], results[i])) return std::nullopt;
  }
  for (std::size_t i = 0; i < n; ++i) {
    // A value that the result does not depend on; any will do.
    if (!values[i].defined()) values[i] = reducer->identity[i];
  }
  found.values = std::move(values);
  return found;
}

}  // namespace lathe
