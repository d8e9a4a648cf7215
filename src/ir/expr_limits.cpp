#include "ir/expr_limits.h"

#include "ir/visitor.h"

namespace lathe {

ExprExcess excess(const Expr& e) {
  if (e.get()->depth > kMaxExprDepth) {
    return {true, "a chain of more than " + std::to_string(kMaxExprDepth) + " operations"};
  }
  int nodes = 0;
  walk(e, [&](const Expr&) { return ++nodes <= kMaxExprSize; });
  if (nodes > kMaxExprSize) {
    return {false,
            "of more than " + std::to_string(kMaxExprSize) + " nodes, each shared part counted at every use"};
  }
  return {};
}

}  // namespace lathe
