#pragma once
// Blocks that run once, ahead of the calls.
//
// A block marked by `Schedule::prepare` turns one constant parameter (weights) into an intermediate. The mark is an
// annotation of the block: the program still says the whole computation and may be run as it stands; whoever prepares
// divides it (lathe/prepare.h). Because steps that come later may undo what made the mark legal, `verify` asks again.

#include "schedule/tree.h"

namespace lathe::schedule {

inline constexpr const char* kPreparedKey = "prepare";

/// What a marked block does.
struct Preparation {
  Stmt nest;        ///< the statement at the root that is this block with its loops
  Buffer constant;  ///< what it reads: a Constant parameter
  Buffer prepared;  ///< what it writes: an intermediate
};

bool is_marked_prepared(const Block& block);
/// `nest` with its block of this label marked.
Stmt marked_prepared(const Stmt& nest, const Label& label);

/// The nest of a preparation as an ordinary one.
Stmt without_mark(const Stmt& nest);

/// Why the block cannot run ahead of the calls; empty when it can, and then `out` is filled.
std::string why_not_prepared(const Program& program, const Block& block, Preparation& out);

/// Of all marked blocks, in program order. The program must have passed `verify`.
std::vector<Preparation> preparations(const Program& program);

}  // namespace lathe::schedule
