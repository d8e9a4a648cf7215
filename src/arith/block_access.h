#pragma once
// What a block accesses while loops round it run.

#include <optional>
#include <string>
#include <vector>

#include "arith/regions.h"
#include "lathe/program.h"

namespace lathe::arith {

/// `access`, one of the block's regions, over the loops: the bindings put in for the block's variables, the loops relaxed
/// away under the predicate. Loops that the region does not depend on are left out of account: a reduction writes its
/// init also when a reduce loop runs not once.
Region access_over(const Block& block, const BufferRegion& access, const std::vector<Domain>& loops,
                   Analyzer& analyzer);

/// Computes the block's regions anew from its init and body. A reduction's reads of its own outputs are not listed. A block
/// that never runs, because something is empty, gets its subscripts: who reads and writes what stays known.
void refresh_regions(Block& block);

/// The subscripts with which the block's body reads the buffer, each once, in the order in which it has them. (Regions are
/// kept for each buffer; x(k, i) * x(k, j) reads one in two ways.)
std::vector<std::vector<Expr>> ways_to_read(const Block& block, const Buffer& buffer);
/// Do both subscripts say the same?
bool same_subscripts(const std::vector<Expr>& a, const std::vector<Expr>& b);

/// Everything that moves blocks trusts their regions. Those of the tensor language are computed; a program from a file says what
/// it likes, and a region that is too small would let a primitive do what is not legal. The first access of a block that
/// lies outside its declared regions, as a sentence; nothing where they cover everything, or where that can neither be proved
/// nor refuted at any of some points of the domain.
std::optional<std::string> undeclared_access(const Program& program);

}  // namespace lathe::arith
