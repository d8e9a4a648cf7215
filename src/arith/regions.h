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

/// The reads and writes of a statement (a block's init and body, say), over its free variables; loops and
/// lets inside are relaxed away. One region a buffer and direction (the union), in order of first access.
/// `domains` bound the free variables where known.
struct Accesses {
  std::vector<Region> reads, writes;
};
Accesses accesses(const Stmt& stmt, const std::vector<Domain>& domains);

/// Region touched while `over` vary in their domains, under `predicate`; the result mentions none of them.
/// `analyzer` knows the other variables.
Region relax(const BufferRegion& region, const std::vector<Domain>& over, const Expr& predicate,
             Analyzer& analyzer);

/// Smallest box around both.
Region unite(const Region& a, const Region& b, Analyzer& analyzer);
/// Clipped to 0 .. shape.
BufferRegion clip(const BufferRegion& region, Analyzer& analyzer);
/// The whole buffer.
BufferRegion whole(const Buffer& buffer);
/// Proved that `outer` contains `inner`?
bool covers(const BufferRegion& outer, const BufferRegion& inner, Analyzer& analyzer);
/// Proved that they share no element?
bool disjoint(const BufferRegion& a, const BufferRegion& b, Analyzer& analyzer);

}  // namespace lathe::arith
