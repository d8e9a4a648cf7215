// Tensors, extents and what is read from them.

#include "ir/buffer_size.h"
#include "ir/numbers.h"
#include "ir/visitor.h"
#include "support/error_codes/te.h"
#include "te/nodes.h"

namespace lathe {

void refuse(Code code, const std::string& text, Site site) {
  const std::string where = std::string(site.file_name()) + ":" + std::to_string(site.line());
  throw UserError(code, text + "\n  at " + where);
}

// ---- extents and types

Expr fold_constants(const Expr& e) {
  return rewrite(e, [](const Expr& x) -> Expr {
    const Binary* b = x.as<Binary>();
    if (!b || !b->dtype.is_index()) return {};
    const IntImm *left = b->a.as<IntImm>(), *right = b->b.as<IntImm>();
    std::int64_t value = 0;
    if (left && right && index_op(b->op, left->value, right->value, value)) return make_index(value);
    const bool zero = (b->op == BinaryOp::Add || b->op == BinaryOp::Sub) && is_int(b->b, 0);
    return zero ? b->a : Expr();
  });
}

void check_extent(const std::string& what, Expr& extent, Site site) {
  if (!extent.defined()) refuse(code::D005, what + ": an extent is an empty Expr", site);
  if (!extent.dtype().is_index()) {
    refuse(code::D005, what + ": an extent has type " + extent.dtype().str() + ", not index", site);
  }
  walk(extent, [&](const Expr& e) {
    const VarNode* v = e.as<VarNode>();
    if (e.kind() == ExprKind::Load || (v && !is_size(v))) {
      refuse(code::D005,
             what + ": the extent " + to_string(extent) + " depends on " + to_string(e) +
                 "; extents are made of integers and size(\"…\") variables",
             site);
    }
    return true;
  });
  extent = fold_constants(extent);
  if (const auto value = as_int(extent); value && *value < 0) {
    refuse(code::D005, what + ": the extent " + std::to_string(*value) + " is negative", site);
  }
}

void check_shape(const std::string& what, std::vector<Expr>& shape, DataType dtype, Site site) {
  for (Expr& extent : shape) check_extent(what, extent, site);
  if (!is_addressable(shape, dtype)) refuse(code::D005, what + ": the tensor has 2^63 bytes or more", site);
}

void check_element_type(const std::string& what, DataType t, Site site) {
  if (t.is_index()) {
    refuse(code::D010,
           what +
               ": the elements would have type index, which is for subscripts; "
               "cast to a data type, for example cast(i64, …)",
           site);
  }
  if (t.is_vector()) {
    refuse(code::D010,
           what + ": the elements would be vectors (" + t.str() + "); vectors are made by schedules", site);
  }
}

Expr convert_to(DataType t, const Expr& e, const std::string& what, Site site) {
  if (!e.defined()) refuse(code::D012, what + " is an empty Expr", site);
  if (e.dtype() == t) return e;
  if (e.kind() != ExprKind::IntImm && e.kind() != ExprKind::FloatImm) {
    refuse(code::D001,
           what + " has type " + e.dtype().str() + ", not " + t.str() + "; convert it with cast(" + t.str() +
               ", …)",
           site);
  }
  // An operator converts a literal to the type of its other operand, with all checks.
  return select(true_expr(), make_const(t, 0), e, site).as<Select>()->if_false;
}

// ---- tensors

bool same_tensor(const BufferNode* a, const BufferNode* b) {
  auto original = [](const BufferNode* x) {
    const TensorBuffer* t = tensor_buffer(x);
    return t && t->original.defined() ? t->original.get() : x;
  };
  return original(a) == original(b);
}

Buffer make_tensor_buffer(const Ref<Compute>& compute, int output) {
  auto* node = new TensorBuffer;
  node->name = compute->output_name(output);
  node->dtype = compute->values[output].dtype();
  node->shape = compute->shape;
  node->compute = compute;
  node->output = output;
  node->site = compute->site;
  return Buffer(node);
}

Var size(std::string name) { return Var(new SizeVar(std::move(name))); }

Tensor placeholder(std::string name, std::vector<Expr> shape, DataType dtype, ParamRole role, Site site) {
  const std::string what = "placeholder " + quote(name);
  if (role != ParamRole::Input && role != ParamRole::Constant) {
    refuse(code::D009, what + ": its role is " + spelling(role) + "; a placeholder is Input or Constant",
           site);
  }
  check_element_type(what, dtype, site);
  check_shape(what, shape, dtype, site);
  auto* node = new TensorBuffer;
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  node->role = role;
  node->site = site;
  return Tensor(Buffer(node));
}

Expr Tensor::at(std::vector<Expr> indices, Site site) const {
  if (!defined()) refuse(code::D012, "an empty Tensor is indexed", site);
  return load(buffer_, std::move(indices), site);
}

Expr Tensor::operator()(std::vector<Expr> indices, Site site) const { return at(std::move(indices), site); }

namespace {

/// Is `index`, one of our ranged variables, certainly below `extent`?
bool stays_below(const Expr& index, const Expr& extent) {
  const VarNode* v = index.as<VarNode>();
  const RangedVar* r = v ? ranged(v) : nullptr;
  if (!r) return false;
  const auto reach = as_int(r->extent), limit = as_int(extent);
  return reach && limit ? *reach <= *limit : structural_equal(r->extent, extent);
}

}  // namespace

Expr if_inside(const Tensor& x, std::vector<Expr> indices, Expr otherwise, Site site) {
  Expr inside = x(indices, site);
  otherwise = convert_to(x.dtype(), otherwise, "if_inside: the value outside", site);
  Expr condition;
  auto require = [&](const Expr& e) { condition = condition.defined() ? condition && e : e; };
  const Load* element = inside.as<Load>();
  for (int d = 0; d < x.rank(); ++d) {
    const Expr& index = element->indices[d];
    if (stays_below(index, x.shape()[d])) continue;
    const VarNode* v = index.as<VarNode>();
    if (!v || !(ranged(v) || is_size(v))) require(index >= 0);  // those are never negative
    require(index < x.shape()[d]);
  }
  return condition.defined() ? select(condition, inside, otherwise, site) : inside;
}

Tensor pad(const Tensor& x, std::vector<Expr> before, std::vector<Expr> after, Expr value, std::string name,
           Site site) {
  if (!x.defined()) refuse(code::D012, "pad: an empty Tensor is padded", site);
  const std::size_t rank = x.shape().size();
  if (before.size() != rank || after.size() != rank) {
    refuse(code::D004,
           "pad: " + quote(x.name()) + " has " + std::to_string(rank) + " dimensions, but there are " +
               std::to_string(before.size()) + " amounts before and " + std::to_string(after.size()) +
               " after",
           site);
  }
  std::vector<Expr> shape;
  for (std::size_t d = 0; d < rank; ++d) {
    check_extent("pad: the amount before", before[d], site);
    check_extent("pad: the amount after", after[d], site);
    shape.push_back(fold_constants(x.shape()[d] + before[d] + after[d]));
  }
  auto element = [&](const std::vector<Var>& at) {
    std::vector<Expr> indices;
    for (std::size_t d = 0; d < rank; ++d) indices.push_back(fold_constants(at[d] - before[d]));
    return if_inside(x, indices, value, site);
  };
  return compute(std::move(name), std::move(shape), element, {}, site);
}

Expr relu(Expr x, Site site) { return max(std::move(x), 0, site); }
Expr clamp(Expr x, Expr low, Expr high, Site site) {
  return min(max(std::move(x), std::move(low), site), std::move(high), site);
}

}  // namespace lathe
