#pragma once
// Brute force: every property of the analysis is checked against the value of the expression at every point.

#include <functional>
#include <optional>
#include <vector>

#include "arith/analyzer.h"
#include "ir/numbers.h"

namespace lathe::arith::testing {

using Point = std::unordered_map<const VarNode*, std::int64_t>;

/// The value of a scalar index or Bool expression (all index arithmetic in 64 bits); nothing when it
/// overflows.
inline std::optional<std::int64_t> value_of(const Expr& e, const Point& at) {
  if (auto c = as_int(e)) return *c;
  if (const VarNode* v = e.as<VarNode>()) return at.at(v);
  if (const Not* n = e.as<Not>()) {
    auto x = value_of(n->a, at);
    return x ? std::optional<std::int64_t>(!*x) : std::nullopt;
  }
  if (const Select* s = e.as<Select>()) {
    auto c = value_of(s->condition, at);
    if (!c) return std::nullopt;
    return value_of(*c ? s->if_true : s->if_false, at);
  }
  if (const Call* c = e.as<Call>(); c && c->op == Intrinsic::Abs) {
    auto x = value_of(c->args[0], at);
    return x ? std::optional<std::int64_t>(*x < 0 ? -*x : *x) : std::nullopt;
  }
  const Binary* b = e.as<Binary>();
  if (!b)
    throw InternalError("value_of: not an index expression: " + std::to_string(static_cast<int>(e.kind())));
  auto x = value_of(b->a, at);
  if (!x) return std::nullopt;
  if (b->op == BinaryOp::And && !*x) return 0;
  if (b->op == BinaryOp::Or && *x) return 1;
  auto y = value_of(b->b, at);
  if (!y) return std::nullopt;
  std::int64_t r = 0;
  if (!index_op(b->op, *x, *y, r)) return std::nullopt;
  return r;
}

/// A variable and its values low .. low + count.
struct Axis {
  Var var;
  std::int64_t low = 0, count = 1;
};

/// Calls `f` at every point of the axes.
inline void for_all(const std::vector<Axis>& axes, const std::function<void(const Point&)>& f) {
  Point p;
  std::function<void(std::size_t)> go = [&](std::size_t i) {
    if (i == axes.size()) return f(p);
    for (std::int64_t v = 0; v < axes[i].count; ++v) {
      p[axes[i].var.node()] = axes[i].low + v;
      go(i + 1);
    }
  };
  go(0);
}

inline void bind_axes(Analyzer& a, const std::vector<Axis>& axes) {
  for (const Axis& x : axes) a.bind(x.var, {make_index(x.low), make_index(x.count)});
}

}  // namespace lathe::arith::testing
