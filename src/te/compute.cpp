// compute: from a lambda's result to tensors.

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/expr_limits.h"
#include "ir/visitor.h"
#include "support/error_codes/te.h"
#include "te/nodes.h"

namespace lathe {
namespace {

std::string default_loop_name(std::size_t dimension) {
  static const char* const letters[] = {"i", "j", "k", "l"};
  return dimension < 4 ? letters[dimension] : "i" + std::to_string(dimension);
}

std::string dimensions(std::size_t rank) {
  return std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
}

std::string name_list(const std::vector<Axis>& axes) {
  std::string out;
  for (const Axis& a : axes) out += (out.empty() ? "" : ", ") + a.name();
  return out;
}

/// Checks that a compute's expressions mention its own indices, its reduction's axes and sizes, nothing else.
class ScopeCheck {
 public:
  ScopeCheck(const Compute& compute, std::string what) : compute_(compute), what_(std::move(what)) {
    for (const Var& v : compute.indices) allowed_.insert(v.node());
  }

  void check(const Expr& e, const std::vector<Axis>& axes) const {
    if (const ExprExcess much = excess(e)) {
      const std::string way_out = much.is_deep
                                      ? "sum with a reduction, or put parts into computes of their own"
                                      : "put parts that are used again into computes of their own";
      refuse(much.is_deep ? code::D013 : code::D014,
             what_ + ": its expression is " + much.what + "; " + way_out, compute_.site);
    }
    walk(e, [&](const Expr& x) {
      if (const VarNode* v = x.as<VarNode>()) check(v, axes);
      return true;
    });
  }

 private:
  void check(const VarNode* v, const std::vector<Axis>& axes) const {
    if (allowed_.count(v) || is_size(v)) return;
    if (std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.node() == v; })) return;
    const RangedVar* r = ranged(v);
    std::string problem = "the variable " + quote(v->name) +
                          " is not one of the lambda's; a run-time extent is made by size(" + quote(v->name) +
                          ")";
    if (r && r->is_axis) {
      problem = axes.empty()
                    ? "axis " + quote(v->name) +
                          " is used outside a reduction; use one of the lambda's variables, or reduce over it"
                    : "axis " + quote(v->name) + " is not among the axes of the reduction (" +
                          name_list(axes) + "); list it there";
    } else if (r) {
      problem = "the variable " + quote(v->name) + " belongs to another compute; use this lambda's variables";
    }
    refuse(code::D006, what_ + ": " + problem, compute_.site);
  }

  const Compute& compute_;
  std::string what_;
  std::unordered_set<const VarNode*> allowed_;
};

/// Refuses reads that are surely outside: of subscripts that are sums of multiples of loop variables, in the parts of an
/// expression that are evaluated at every element. What a select or a && guards, and what depends on data or on run-time
/// sizes, is the program's own business (docs/semantics.md).
class SubscriptCheck : public Visitor {
 public:
  SubscriptCheck(const Compute& compute, const std::vector<Axis>& axes, std::string what)
      : compute_(compute), what_(std::move(what)), vars_(compute.indices) {
    vars_.insert(vars_.end(), axes.begin(), axes.end());
  }

  void check(const Expr& e) {
    const auto is_empty = [](const Var& v) { return as_int(ranged(v.node())->extent) == 0; };
    if (std::none_of(vars_.begin(), vars_.end(), is_empty)) visit(e);
  }

 protected:
  void visit_node(const Select& node, const Expr&) override { visit(node.condition); }
  void visit_node(const Binary& node, const Expr& self) override {
    if (node.op == BinaryOp::And || node.op == BinaryOp::Or)
      visit(node.a);
    else
      Visitor::visit_node(node, self);
  }
  void visit_node(const Load& node, const Expr& self) override {
    for (std::size_t d = 0; d < node.indices.size(); ++d) check(node, d);
    Visitor::visit_node(node, self);
  }

 private:
  void check(const Load& load, std::size_t d) const {
    const std::optional<std::int64_t> elements = as_int(load.buffer->shape[d]);
    const std::optional<arith::Affine> subscript = arith::affine(load.indices[d], vars_);
    const std::optional<std::int64_t> start = subscript ? as_int(subscript->rest) : std::nullopt;
    if (!elements || !start) return;
    std::int64_t least = *start, greatest = *start;
    for (std::size_t i = 0; i < vars_.size(); ++i) {
      const std::int64_t step = subscript->coefficients[i];
      if (step == 0) continue;
      const std::optional<std::int64_t> extent = as_int(ranged(vars_[i].node())->extent);
      std::int64_t way = 0;
      if (!extent || __builtin_mul_overflow(step, *extent - 1, &way)) return;
      if (__builtin_add_overflow(step < 0 ? least : greatest, way, step < 0 ? &least : &greatest)) return;
    }
    if (least >= 0 && greatest < *elements) return;
    refuse(
        code::D015,
        what_ + ": subscript " + to_string(load.indices[d]) + " of " + quote(load.buffer->name) +
            (least == greatest ? " is " + std::to_string(least)
                               : " goes from " + std::to_string(least) + " to " + std::to_string(greatest)) +
            ", and dimension " + std::to_string(d) + " has " + std::to_string(*elements) +
            " elements; correct the extents, or guard the read with if_inside or select",
        compute_.site);
  }

  const Compute& compute_;
  std::string what_;
  std::vector<Var> vars_;
};

/// The values that a reduction combines, with its condition folded in: what is left out is the identity.
std::vector<Expr> conditional_values(const ReductionSpec& spec) {
  std::vector<Expr> values = spec.values;
  if (!spec.options.where.defined()) return values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = select(spec.options.where, values[i], spec.reducer->identity[i], spec.site);
  }
  return values;
}

}  // namespace

namespace detail {

std::vector<Var> index_variables(const std::string& name, std::vector<Expr>& shape,
                                 const std::vector<std::string>& loop_names, Site site) {
  const std::string what = "compute " + quote(name);
  check_shape(what, shape, i8, site);
  if (!loop_names.empty() && loop_names.size() != shape.size()) {
    refuse(code::D004,
           what + " has " + dimensions(shape.size()) + ", but " + std::to_string(loop_names.size()) +
               " loop names",
           site);
  }
  std::vector<Var> vars;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::string loop = loop_names.empty() ? default_loop_name(d) : loop_names[d];
    vars.push_back(Var(new RangedVar(std::move(loop), shape[d], false)));
  }
  return vars;
}

void wrong_lambda(const std::string& name, std::size_t rank, const std::string& takes, Site site) {
  const std::string count = takes.empty() ? "another number of" : takes;
  std::string text = "compute " + quote(name) + " has " + dimensions(rank) + ", but its lambda takes " +
                     count + " variables";
  if (rank > MaxArity) text += "; beyond 8 dimensions take one const std::vector<Var>&";
  refuse(code::D004, text, site);
}

std::vector<Tensor> finish_compute(std::string name, std::vector<Expr> shape, std::vector<Var> indices,
                                   ComputeResult result, Site site) {
  const std::string what = "compute " + quote(name);
  auto node = std::make_unique<Compute>();
  node->name = std::move(name);
  node->shape = std::move(shape);
  node->indices = std::move(indices);
  node->site = site;
  node->values = std::move(result.values);
  if (!result.reduction.empty()) node->values = conditional_values(result.reduction[0]);
  node->reduction = std::move(result.reduction);

  if (node->values.empty()) refuse(code::D004, what + ": the lambda returned no expressions", site);
  const ScopeCheck scope(*node, what);
  const std::vector<Axis> axes = node->reduction.empty() ? std::vector<Axis>() : node->reduction[0].axes;
  for (const Expr& value : node->values) {
    if (!value.defined()) refuse(code::D012, what + ": the lambda returned an empty Expr", site);
    scope.check(value, axes);
    check_element_type(what, value.dtype(), site);
    check_shape(what, node->shape, value.dtype(), site);
  }
  if (!node->reduction.empty()) {
    for (const Expr& e : node->reduction[0].options.initial) scope.check(e, {});
  }
  for (const Expr& value : node->values) SubscriptCheck(*node, axes, what).check(value);
  const Ref<Compute> compute(node.release());
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < compute->values.size(); ++i) {
    tensors.push_back(Tensor(make_tensor_buffer(compute, static_cast<int>(i))));
  }
  return tensors;
}

}  // namespace detail
}  // namespace lathe
