#include "ir/type_rules.h"

#include <cmath>

#include "ir/numbers.h"
#include "ir/visitor.h"

namespace lathe {
namespace {

using Problem = std::optional<std::string>;

bool is_bool_of(const Expr& e, int lanes) { return e.dtype() == boolean.with_lanes(lanes); }

Problem check(const IntImm& n) {
  if (n.dtype.is_float() || n.dtype.is_vector()) return "an integer literal has type " + n.dtype.str();
  if (wrap_integer(n.dtype, n.value) != n.value) {
    return "the literal " + std::to_string(n.value) + " does not fit " + n.dtype.str();
  }
  return {};
}

Problem check(const FloatImm& n) {
  if (!n.dtype.is_float() || n.dtype.is_vector()) return "a float literal has type " + n.dtype.str();
  const double rounded = round_to(n.dtype, n.value);
  if (rounded != n.value && !std::isnan(n.value)) return "a literal is not rounded to " + n.dtype.str();
  return {};
}

Problem check(const VarNode&) { return {}; }

bool is_defined(BinaryOp op, DataType t) {
  switch (op) {
    case BinaryOp::And:
    case BinaryOp::Or: return t.is_bool();
    case BinaryOp::Eq:
    case BinaryOp::Ne: return true;
    case BinaryOp::Div: return t.is_float() || t.is_data_int();
    case BinaryOp::Mod: return t.is_data_int();
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: return t.is_integral();
    default: return !t.is_bool();
  }
}

Problem check(const Binary& n) {
  const DataType t = n.a.dtype();
  if (t != n.b.dtype()) {
    return std::string("operator ") + spelling(n.op) + " has operands of types " + t.str() + " and " +
           n.b.dtype().str();
  }
  if (!is_defined(n.op, t)) {
    return std::string("operator ") + spelling(n.op) + " is not defined for " + t.str();
  }
  return {};
}

Problem check(const Not& n) {
  if (!n.a.dtype().is_bool()) return "operator ! is applied to " + n.a.dtype().str();
  return {};
}

Problem check(const Cast& n) {
  if (n.dtype.lanes != n.a.dtype().lanes) {
    return "a cast from " + n.a.dtype().str() + " to " + n.dtype.str() + " changes the number of lanes";
  }
  return {};
}

Problem check(const Select& n) {
  if (n.if_true.dtype() != n.if_false.dtype()) {
    return "the sides of a select have types " + n.if_true.dtype().str() + " and " + n.if_false.dtype().str();
  }
  if (!is_bool_of(n.condition, n.dtype.lanes)) {
    return "the condition of a select of type " + n.dtype.str() + " has type " + n.condition.dtype().str();
  }
  return {};
}

/// Rank, subscripts and mask of an access.
Problem check_access(const Buffer& b, const std::vector<Expr>& indices, const Expr& mask, int& lanes) {
  if (static_cast<int>(indices.size()) != b->rank()) {
    return b->name + " has " + std::to_string(b->rank()) + " dimensions, but " +
           std::to_string(indices.size()) + " subscripts";
  }
  lanes = 1;
  for (const Expr& i : indices) {
    if (!i.dtype().is_integral()) return "a subscript of " + b->name + " has type " + i.dtype().str();
    if (i.dtype().is_vector() && lanes > 1 && i.dtype().lanes != lanes) {
      return "the subscripts of " + b->name + " have different numbers of lanes";
    }
    if (i.dtype().is_vector()) lanes = i.dtype().lanes;
  }
  if (mask.defined() && !mask.dtype().is_bool()) {
    return "the mask of an access to " + b->name + " has type " + mask.dtype().str();
  }
  return {};
}

Problem check(const Load& n) {
  int lanes = 1;
  if (Problem p = check_access(n.buffer, n.indices, n.mask, lanes)) return p;
  if (n.mask.defined() && !is_bool_of(n.mask, n.dtype.lanes)) {
    return "the mask of a load of " + n.dtype.str() + " has type " + n.mask.dtype().str();
  }
  return {};
}

/// The type of a call of one of the intrinsics that take operands of one type;
/// nothing when there is none.
std::optional<DataType> call_type(Intrinsic op, DataType t) {
  if (op <= Intrinsic::IsFinite) {
    if (!t.is_float()) return {};
    return op >= Intrinsic::IsNan ? boolean.with_lanes(t.lanes) : t;
  }
  if (op == Intrinsic::Abs) return t.is_bool() ? std::nullopt : std::optional(t);
  if (op <= Intrinsic::CountLeadingZeros) {
    const bool fits = t.is_integral() || (t.is_bool() && op <= Intrinsic::BitNot);
    return fits ? std::optional(t) : std::nullopt;
  }
  if (op >= Intrinsic::VectorSum && op <= Intrinsic::VectorMax) return t.element();
  return t;
}

Problem check(const Call& n) {
  const std::string name = spelling(n.op);
  const int count = static_cast<int>(n.args.size());
  if (arity(n.op) >= 0 && count != arity(n.op)) {
    return name + " takes " + std::to_string(arity(n.op)) + " arguments, not " + std::to_string(count);
  }
  if ((n.op == Intrinsic::Extern) != !n.symbol.empty()) return name + " and its symbol do not fit";
  if (n.op == Intrinsic::Extern || count == 0) return {};
  const DataType t = n.args[0].dtype();
  if (n.op == Intrinsic::Reinterpret) {
    if (t.bits != n.dtype.bits || t.lanes != n.dtype.lanes) {
      return "reinterpret from " + t.str() + " to " + n.dtype.str();
    }
    return {};
  }
  if (n.op == Intrinsic::Prefetch) {
    if (n.args[0].kind() != ExprKind::Load) return "the argument of prefetch is not a load";
    return {};
  }
  for (const Expr& a : n.args) {
    if (a.dtype() != t) return name + " has arguments of types " + t.str() + " and " + a.dtype().str();
  }
  const auto expected = call_type(n.op, t);
  if (!expected) return name + " is not defined for " + t.str();
  if (*expected != n.dtype) return name + " of " + t.str() + " has type " + n.dtype.str();
  return {};
}

Problem check(const Ramp& n) {
  const DataType t = n.base.dtype();
  if (!t.is_integral() || t.is_vector() || n.stride.dtype() != t || n.lanes() < 2) {
    return "a ramp of " + std::to_string(n.lanes()) + " lanes from " + t.str() + " by " +
           n.stride.dtype().str();
  }
  return {};
}

Problem check(const Broadcast& n) {
  if (n.value.dtype().is_vector() || n.lanes() < 2) {
    return "a broadcast of " + n.value.dtype().str() + " to " + std::to_string(n.lanes()) + " lanes";
  }
  return {};
}

}  // namespace

bool is_valid_type(DataType t) {
  if (t.lanes < 1) return false;
  switch (t.code) {
    case TypeCode::Bool: return t.bits == 8;
    case TypeCode::Int:
    case TypeCode::UInt: return t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
    case TypeCode::Float: return t.bits == 16 || t.bits == 32 || t.bits == 64;
    case TypeCode::BFloat: return t.bits == 16;
    case TypeCode::Index: return t.bits == 64 || t.bits == 32;  // narrowed by lowering
  }
  return false;
}

std::optional<std::string> type_problem(const Expr& e) {
  if (!is_valid_type(e.dtype())) return "a type that does not exist";
  switch (e.kind()) {
#define X(name) \
  case name::Kind: return check(*e.as<name>());
    LATHE_EXPR_NODES(X)
#undef X
  }
  return "unknown kind of expression";
}

std::optional<std::string> type_problem(const Store& s) {
  int lanes = 1;
  if (Problem p = check_access(s.buffer, s.indices, s.mask, lanes)) return p;
  const DataType wanted = s.buffer->dtype.with_lanes(lanes);
  if (s.value.dtype() != wanted) {
    return "a value of type " + s.value.dtype().str() + " is stored to " + s.buffer->name + ", where " +
           wanted.str() + " fits";
  }
  if (s.mask.defined() && !is_bool_of(s.mask, lanes)) {
    return "the mask of a store of " + wanted.str() + " has type " + s.mask.dtype().str();
  }
  return {};
}

std::optional<std::string> type_problem(const Buffer& b) {
  if (!is_valid_type(b->dtype) || b->dtype.is_index() || b->dtype.is_vector()) {
    return b->name + " has elements of type " + b->dtype.str();
  }
  if (b->alignment <= 0 || (b->alignment & (b->alignment - 1)) != 0) {
    return b->name + " has the alignment " + std::to_string(b->alignment) + ", which is no power of two";
  }
  if (!b->strides.empty() && b->strides.size() != b->shape.size()) {
    return b->name + " has " + std::to_string(b->shape.size()) + " dimensions, but " +
           std::to_string(b->strides.size()) + " strides";
  }
  for (const std::vector<Expr>* all : {&b->shape, &b->strides}) {
    const char* what = all == &b->shape ? "extent" : "stride";
    for (const Expr& e : *all) {
      if (!e.defined()) return b->name + " has an undefined " + what;
      if (!e.dtype().is_index() || e.dtype().is_vector())
        return b->name + " has " + what + "s of type " + e.dtype().str();
      if (const auto value = as_int(e); value && *value < 0 && all == &b->shape) {
        return b->name + " has the negative extent " + std::to_string(*value);
      }
    }
  }
  return {};
}

std::optional<std::string> type_problem(const Reducer& r) {
  const std::size_t n = r->result.size();
  if (n == 0 || r->a.size() != n || r->b.size() != n || r->identity.size() != n) {
    return "reducer " + r->name + " has " + std::to_string(r->a.size()) + " and " +
           std::to_string(r->b.size()) + " operands, " + std::to_string(n) + " results and " +
           std::to_string(r->identity.size()) + " identities";
  }
  for (std::size_t i = 0; i < n; ++i) {
    const DataType t = r->a[i].dtype();
    if (r->b[i].dtype() != t || r->result[i].dtype() != t || r->identity[i].dtype() != t) {
      return "reducer " + r->name + ": the types of value " + std::to_string(i) + " differ";
    }
    const bool closed = !mentions_any(r->identity[i], [](const VarNode*) { return true; }) &&
                        !mentions_any(r->result[i], [&](const VarNode* v) {
                          for (std::size_t j = 0; j < n; ++j) {
                            if (v == r->a[j].node() || v == r->b[j].node()) return false;
                          }
                          return true;
                        });
    if (!closed) return "reducer " + r->name + " mentions a variable that is not its own";
  }
  return {};
}

}  // namespace lathe
