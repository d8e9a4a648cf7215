#pragma once
// Where the intermediates of a program in block form get their memory.

#include <unordered_map>
#include <vector>

#include "lathe/program.h"

namespace lathe::interp {

/// For each statement the intermediates that get an instance each time it is entered; for a loop, in each
/// iteration. That statement is the lowest common ancestor of all accesses. When one block alone accesses an
/// intermediate, it is what encloses the loops over the block's reduce variables: a reduction goes on in the
/// instance that it began.
using Scopes = std::unordered_map<const StmtNode*, std::vector<Buffer>>;
Scopes scopes_of(const Program& program);

/// Is there a block below the statement (not counting itself)?
bool encloses_blocks(const StmtNode& s);

/// The loop variables that a binding takes its values from, through the variables of enclosing blocks.
class LoopVars {
 public:
  explicit LoopVars(const Stmt& body);
  const std::vector<const VarNode*>& of(const Expr& e);
  bool mentions(const Expr& e, const VarNode* loop);

 private:
  std::unordered_map<const VarNode*, Expr> bindings_;  ///< of block variables and lets
  std::unordered_map<const ExprNode*, std::vector<const VarNode*>> known_;
};

}  // namespace lathe::interp
