#pragma once
// What a block accesses while loops round it run.

#include "arith/regions.h"

namespace lathe::arith {

/// `access`, one of the block's regions, over the loops: the bindings put in for the block's variables, the loops relaxed
/// away under the predicate. Loops that the region does not depend on are left out of account: a reduction writes its
/// init also when a reduce loop runs not once.
Region access_over(const Block& block, const BufferRegion& access, const std::vector<Domain>& loops,
                   Analyzer& analyzer);

/// Computes the block's regions anew from its init and body. A reduction's reads of its own outputs are not listed. A block
/// that never runs, because something is empty, gets its subscripts: who reads and writes what stays known.
void refresh_regions(Block& block);

}  // namespace lathe::arith
