// Axes, reducers, reductions.

#include <cmath>
#include <limits>

#include "ir/expr_limits.h"
#include "ir/numbers.h"
#include "ir/visitor.h"
#include "support/error_codes/te.h"
#include "te/nodes.h"

namespace lathe {

Axis reduce_axis(Expr extent, std::string name, Site site) {
  check_extent("reduce axis " + quote(name), extent, site);
  return Axis(new RangedVar(std::move(name), std::move(extent), true));
}

const Expr& Axis::extent() const { return static_cast<const RangedVar*>(node())->extent; }

// ---- reducers

Reducer reducer(std::string name, std::vector<DataType> dtypes,
                const std::function<Values(const Values&, const Values&)>& combine, Values identity,
                ReducerProperties properties, Site site) {
  const std::string what = "reducer " + quote(name);
  auto node = std::make_unique<ReducerNode>();
  Values a, b;
  for (const DataType t : dtypes) {
    check_element_type(what, t, site);
    node->a.push_back(Var("a", t));
    node->b.push_back(Var("b", t));
    a.push_back(node->a.back());
    b.push_back(node->b.back());
  }
  auto need_count = [&](const char* of, std::size_t count) {
    if (count != dtypes.size() || dtypes.empty()) {
      refuse(code::D011,
             what + ": there are " + std::to_string(dtypes.size()) + " types, but " + std::to_string(count) +
                 " " + of,
             site);
    }
  };
  need_count("identity values", identity.size());
  node->result = combine(a, b);
  need_count("results of combine", node->result.size());
  auto is_own = [&](const VarNode* v) {
    auto has = [&](const Values& all) {
      return std::any_of(all.begin(), all.end(), [&](const Expr& e) { return e.get() == v; });
    };
    return has(a) || has(b);
  };
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    node->result[i] = convert_to(dtypes[i], node->result[i], what + ": result " + std::to_string(i), site);
    identity[i] = convert_to(dtypes[i], identity[i], what + ": identity " + std::to_string(i), site);
    const bool closed = !mentions_any(identity[i], [](const VarNode*) { return true; }) &&
                        !mentions_any(node->result[i], [&](const VarNode* v) { return !is_own(v); });
    bool loads = false;
    for (const Expr& e : {identity[i], node->result[i]}) {
      if (const ExprExcess much = excess(e)) {
        refuse(much.is_deep ? code::D013 : code::D014,
               what + ": result " + std::to_string(i) + " is " + much.what, site);
      }
      walk(e, [&](const Expr& x) {
        loads |= x.kind() == ExprKind::Load;
        return !loads;
      });
    }
    if (!closed || loads) {
      refuse(code::D011,
             what + ": combine may use nothing but its arguments, the identity nothing but constants", site);
    }
  }
  node->name = std::move(name);
  node->identity = std::move(identity);
  node->associative = properties.associative;
  node->commutative = properties.commutative;
  return Reducer(node.release());
}

namespace {

/// The lowest (sign -1) or highest (+1) value of the type.
Expr extreme(DataType t, int sign) {
  if (t.is_float()) return make_float(t, sign * std::numeric_limits<double>::infinity());
  if (t.is_bool()) return make_int(t, sign > 0);
  if (t.is_unsigned()) return make_int(t, sign > 0 ? -1 : 0);
  const std::int64_t lowest = INT64_MIN >> (64 - t.bits);
  return make_int(t, sign > 0 ? ~lowest : lowest);
}

ReductionSpec reduction(Reducer reducer, Values values, std::vector<Axis> axes, ReduceOptions options,
                        Site site) {
  const std::string what = reducer->name;
  if (values.size() != reducer->a.size()) {
    refuse(code::D004,
           what + " reduces " + std::to_string(reducer->a.size()) + " values, not " +
               std::to_string(values.size()),
           site);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = convert_to(reducer->a[i].dtype(), values[i], what + ": value " + std::to_string(i), site);
  }
  if (axes.empty())
    refuse(code::D007, what + " has no axes; list those it goes over: " + what + "(…, {r})", site);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].defined()) refuse(code::D012, what + ": an axis is empty", site);
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[i].same_as(axes[j])) {
        refuse(code::D007, what + ": axis " + quote(axes[i].name()) + " is listed twice", site);
      }
    }
  }
  if (options.where.defined() && options.where.dtype() != boolean) {
    refuse(code::D002, what + ": the condition has type " + options.where.dtype().str() + ", not bool", site);
  }
  if (!options.initial.empty() && options.initial.size() != values.size()) {
    refuse(code::D004,
           what + " needs " + std::to_string(values.size()) + " initial values, not " +
               std::to_string(options.initial.size()),
           site);
  }
  for (std::size_t i = 0; i < options.initial.size(); ++i) {
    options.initial[i] =
        convert_to(values[i].dtype(), options.initial[i], what + ": the initial value", site);
  }
  return {std::move(reducer), std::move(values), std::move(axes), std::move(options), site};
}

DataType value_type(const char* what, const Expr& value, Site site) {
  if (!value.defined()) refuse(code::D012, std::string(what) + ": the value is an empty Expr", site);
  check_element_type(what, value.dtype(), site);
  return value.dtype();
}

Reduction simple(const char* name, BinaryOp op, const Expr& value, Expr (*identity)(DataType),
                 std::vector<Axis> axes, ReduceOptions options, Site site) {
  const DataType t = value_type(name, value, site);
  if (t.is_bool()) {
    const bool is_any_or_all = op == BinaryOp::Min || op == BinaryOp::Max;
    refuse(code::D002,
           std::string(name) + " is not defined for bool; " +
               (is_any_or_all ? "cast to u8, or reduce with a reducer that combines by || or &&"
                              : "cast to the type that it counts in, for example cast(i32, …)"),
           site);
  }
  auto combine = [&](const Values& a, const Values& b) { return Values{binary(op, a[0], b[0], site)}; };
  Reducer r = reducer(name, {t}, combine, {identity(t)}, {.associative = true, .commutative = true}, site);
  return {reduction(std::move(r), {value}, std::move(axes), std::move(options), site)};
}

/// The row-major position on the axes, as i64.
Expr position(const std::vector<Axis>& axes) {
  Expr at;
  for (const Axis& axis : axes) {
    if (!axis.defined()) continue;  // refused by `reduction`
    at = at.defined() ? at * axis.extent() + axis : Expr(axis);
  }
  return at.defined() ? cast(i64, at) : make_int(i64, 0);
}

Reductions<2> arg_extreme(const char* name, bool want_max, const Expr& value, std::vector<Axis> axes,
                          ReduceOptions options, Site site) {
  const DataType t = value_type(name, value, site);
  auto combine = [&](const Values& a, const Values& b) {
    Expr better = want_max ? a[0] > b[0] : a[0] < b[0], tie = a[0] == b[0];
    if (t.is_float()) {
      better = better || (isnan(a[0]) && !isnan(b[0]));
      tie = tie || (isnan(a[0]) && isnan(b[0]));
    }
    const Expr keep = better || (tie && a[1] < b[1]);
    return Values{select(keep, a[0], b[0]), select(keep, a[1], b[1])};
  };
  Values identity{extreme(t, want_max ? -1 : 1), extreme(i64, 1)};
  if (t.is_bool()) refuse(code::D002, std::string(name) + " is not defined for bool; cast to u8", site);
  Reducer r =
      reducer(name, {t, i64}, combine, std::move(identity), {.associative = true, .commutative = true}, site);
  Values values{value, position(axes)};
  return {reduction(std::move(r), std::move(values), std::move(axes), std::move(options), site)};
}

}  // namespace

// Floats: sums and products are declared associative although rounding differs, as every tensor library does;
// results of different schedules agree within rounding.
Reduction sum(Expr value, std::vector<Axis> axes, ReduceOptions options, Site site) {
  auto zero = [](DataType t) { return make_const(t, 0); };
  return simple("sum", BinaryOp::Add, value, zero, std::move(axes), std::move(options), site);
}
Reduction prod(Expr value, std::vector<Axis> axes, ReduceOptions options, Site site) {
  auto one = [](DataType t) { return make_const(t, 1); };
  return simple("prod", BinaryOp::Mul, value, one, std::move(axes), std::move(options), site);
}
Reduction min(Expr value, std::vector<Axis> axes, ReduceOptions options, Site site) {
  auto highest = [](DataType t) { return extreme(t, 1); };
  return simple("min", BinaryOp::Min, value, highest, std::move(axes), std::move(options), site);
}
Reduction max(Expr value, std::vector<Axis> axes, ReduceOptions options, Site site) {
  auto lowest = [](DataType t) { return extreme(t, -1); };
  return simple("max", BinaryOp::Max, value, lowest, std::move(axes), std::move(options), site);
}
Reductions<2> argmin(Expr value, std::vector<Axis> axes, ReduceOptions options, Site site) {
  return arg_extreme("argmin", false, value, std::move(axes), std::move(options), site);
}
Reductions<2> argmax(Expr value, std::vector<Axis> axes, ReduceOptions options, Site site) {
  return arg_extreme("argmax", true, value, std::move(axes), std::move(options), site);
}

Reductions<AnyNumber> reduce(const Reducer& reducer, Values values, std::vector<Axis> axes,
                             ReduceOptions options, Site site) {
  if (!reducer.defined()) refuse(code::D012, "reduce: the reducer is empty", site);
  return {reduction(reducer, std::move(values), std::move(axes), std::move(options), site)};
}

}  // namespace lathe
