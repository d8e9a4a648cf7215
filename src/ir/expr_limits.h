#pragma once
// How large an expression may be that a user or a schedule makes.
//
// Nodes are shared, but passes, the printer and generated code see every use of one: `e = e * e` forty times over is forty
// nodes and a tree of 2^40. A compute takes trees that every pass walks in a moment.

#include <string>

#include "lathe/expr.h"

namespace lathe {

/// Nodes of the tree that an expression stands for, shared ones counted at every use.
inline constexpr int kMaxExprSize = 1 << 16;

struct ExprExcess {
  bool is_deep = false;  ///< else it is of too many nodes
  std::string what;      ///< "a chain of more than 500 operations"
  explicit operator bool() const { return !what.empty(); }
};
/// What the expression has more of than kMaxExprDepth and kMaxExprSize allow, in words; nothing where it is within both.
ExprExcess excess(const Expr& e);

}  // namespace lathe
