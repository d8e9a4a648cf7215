#pragma once
// Where a block runs: conditions over the loops round it, and loops that only repeat it.
//
// A region says what an iteration of a loop accesses if it accesses anything. Where a split is larger than the loop, or
// nested splits overlap, whole iterations do nothing: a copy made there would read what nobody wrote, or put the identity
// over a finished sum.

#include "schedule/edit.h"

namespace lathe::schedule {

struct Runs {
  Expr condition;  ///< holds wherever the block runs; over the loops above
  Expr
      unclear;  ///< a conjunct of the block's predicate that could not be put so; undefined when there is none
};

/// Whether the block at the end of `from` runs at all in an iteration of the first `depth` statements of the path.
/// `sums`: that it reduces over nothing counts as running, because that is stored, too.
Runs runs_below(const Program& program, const Path& from, std::size_t depth, bool sums);

/// The outermost of the loops that only repeats the block: no variable is bound to it, and it may run more than once. A
/// reduction is right under it only when its init is repeated, too. Null when there is none.
const For* repeating_loop(const Block& block, const std::vector<Stmt>& loops);

}  // namespace lathe::schedule
