#pragma once
// The tree of loops and blocks: finding places and rebuilding the path from the root to a change.
//
// In block form every leaf is a block, and a block's inside never mentions the loop variables round it. So a rewrite of
// loops touches only For headers, block bindings and block predicates.

#include <functional>

#include "arith/analyzer.h"
#include "arith/regions.h"
#include "ir/visitor.h"

namespace lathe::schedule {

/// The statements from the root to a node, both included.
using Path = std::vector<Stmt>;

/// Empty when the node is not below `root`.
Path path_to(const Stmt& root, const StmtNode* node);
Path path_to_loop(const Stmt& root, const VarNode* loop);
Path path_to_block(const Stmt& root, const LabelNode* block);

/// The root with the path's last node replaced; an undefined replacement removes it and the loops left empty (an undefined
/// result: nothing is left).
Stmt replace(const Path& path, Stmt replacement);
/// As above for a node that is only known by identity.
Stmt replace(const Stmt& root, const StmtNode* node, Stmt replacement);

/// The loops on a path that belong to the innermost block nest: outermost first, those above the last enclosing block (if
/// the path's target lies in a block) left out.
std::vector<Stmt> loops_on(const Path& path);
std::vector<arith::Domain> domains_of(const std::vector<Stmt>& loops);

/// Calls `f` for each block in program order, outer before inner; false skips what is inside the block.
void for_each_block(const Stmt& root, const std::function<bool(const Block&, const Stmt&)>& f);
/// The outermost blocks below `root` (which may be one).
std::vector<Stmt> blocks_below(const Stmt& root);
/// Is there a block or loop with this identity?
bool contains(const Stmt& root, const StmtNode* node);

/// Tells the analyzer the ranges of the loops (and of enclosing blocks' iteration variables) on the path.
void bind_path(arith::Analyzer& analyzer, const Path& path);
/// Tells the analyzer that the size parameters are >= 0.
void bind_sizes(arith::Analyzer& analyzer, const Program& program);
/// Is the variable a size parameter, the same wherever it is mentioned?
bool is_size(const Program& program, const Var& var);

/// Replaces loop variables in the headers below `stmt` (extents, bindings, predicates), simplifying what changed, and adds
/// `guard` to the predicate of each outermost block. `analyzer` knows the loops above.
Stmt rebind(const Stmt& stmt, const VarMap& map, const Expr& guard, arith::Analyzer& analyzer);

/// `name`, made unique among the names of blocks (or loops) in the program by a suffix.
std::string unique_block_name(const Program& program, const std::string& name);

/// The constant value of an extent.
inline std::optional<std::int64_t> constant(const Expr& e) { return as_int(e); }

}  // namespace lathe::schedule
