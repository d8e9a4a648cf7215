#pragma once
// Regions of buffers: what executed accesses touch.
//
// Exact where subscripts are affine (floor-div and floor-mod included), else an over-approximation: whole
// dimensions for data-dependent subscripts. Accesses under a select, an if or a predicate are narrowed by its
// condition, and every region is clipped to the buffer's shape. Over-approximation is allowed for reads only;
// where it happened to a write, `exact` is false and the caller must refuse.

#include "arith/analyzer.h"

namespace lathe::arith {

/// A variable and how far it ranges: 0 .. extent.
struct Domain {
  Var var;
  Expr extent;
};

struct Region {
  BufferRegion region;
  bool exact = true;
};

/// The reads and writes of a statement (a block's init and body, or a whole loop nest), over its free
/// variables; loops, lets and the variables of blocks inside are relaxed away. One region a buffer and
/// direction (the union), in order of first access; accesses that are never executed are left out. The address
/// of a prefetch is not read. `domains` bound the free variables where known; `analyzer` knows the others.
struct Accesses {
  std::vector<Region> reads, writes;
};
Accesses accesses(const Stmt& stmt, const std::vector<Domain>& domains, Analyzer& analyzer);
Accesses accesses(const Stmt& stmt, const std::vector<Domain>& domains);

/// Region touched while `over` vary in their domains, under `predicate`; the result mentions none of them.
/// `analyzer` knows the other variables; `over` are bound in it.
///
/// Extents come out constant wherever the extents of `over` are: a tile that is cut off at the edge keeps its
/// full extent, and whoever builds loops from it adds a predicate. Hence a region may reach outside the shape
/// where its place depends on outer variables; where its place is a constant it is clipped. An extent <= 0
/// means that nothing is touched. Loops of a run-time extent count as not empty.
Region relax(const BufferRegion& region, const std::vector<Domain>& over, const Expr& predicate,
             Analyzer& analyzer);

/// Smallest box around both.
Region unite(const Region& a, const Region& b, Analyzer& analyzer);
/// Clipped to 0 .. shape, with minima and maxima where that is not decided.
BufferRegion clip(const BufferRegion& region, Analyzer& analyzer);
/// The whole buffer.
BufferRegion whole(const Buffer& buffer);
/// Proved that `outer` contains `inner`, as far as that lies inside the buffer?
bool covers(const BufferRegion& outer, const BufferRegion& inner, Analyzer& analyzer);
/// Proved that they share no element?
bool disjoint(const BufferRegion& a, const BufferRegion& b, Analyzer& analyzer);

}  // namespace lathe::arith
