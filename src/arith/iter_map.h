#pragma once
// Iterator maps: are these bindings a bijection of these loops?
//
// Splits and fuses turn loop variables into sums of split parts: floordiv(x, lower) mod extent, times scale.
// A binding list is an iterator map when every binding is such a sum ("quasi-affine"). Cf. TVM's
// iter_affine_map; Halide has no counterpart.
//
// What is split need not be a loop: after `fuse` and `split` it is a sum of loops, f = fo*16 + fi, that runs
// densely over 0 .. extent. Loops and such sums are both called marks; the parts of a sum are splits of the
// marks below it.
//
//     binding 0 = floordiv(fo*16 + fi, 30)     sums[0] = 1 * (mark 2, lower 30, extent 8)
//     binding 1 = floormod(fo*16 + fi, 30)     sums[1] = 1 * (mark 2, lower 1, extent 30)
//     marks     0: fo (15)   1: fi (16)   2: 16 * (mark 0) + 1 * (mark 1), extent 240

#include "arith/regions.h"

namespace lathe::arith {

/// scale * (floordiv(mark, lower) floormod extent)
struct IterSplit {
  std::size_t mark = 0;
  Expr lower;   ///< > 0
  Expr extent;  ///< of this part
  Expr scale;   ///< not 0; negative where the binding runs backwards
};
/// base + sum of splits, sorted by |scale|, largest first
struct IterSum {
  std::vector<IterSplit> splits;
  Expr base;
};
/// A loop variable, or a sum of splits that runs over all of 0 .. extent.
struct IterMark {
  Expr value;
  Expr extent;
  std::vector<IterSplit> parts;  ///< empty for a loop; else as in IterSum, all scales positive
};

struct IterMap {
  std::vector<IterSum> sums;    ///< one a binding
  std::vector<IterMark> marks;  ///< the loops first, in the order given; then sums, each after its parts
  /// Proved: different loop values that satisfy the predicate give different bindings.
  bool injective = false;
  /// Proved: the bindings reach every point of their domain, and leave it never, while the predicate holds.
  bool surjective = false;
  bool bijective() const { return injective && surjective; }
};

/// Reads `bindings` (index_type, over `loops` and outer variables known to `analyzer`, in which the loops are
/// bound) as an iterator map onto the domain 0 .. extents[i]. `predicate` guards non-dividing splits. Nothing
/// when a binding is not quasi-affine.
std::optional<IterMap> detect_iter_map(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                       const std::vector<Domain>& loops, const Expr& predicate,
                                       Analyzer& analyzer);

/// For an injective map: each loop variable as an expression of `values` (one a binding). Nothing when the
/// map is not injective.
std::optional<VarMap> inverse(const IterMap& map, const std::vector<Domain>& loops,
                              const std::vector<Expr>& values, Analyzer& analyzer);

/// Splits each binding into an outer part over `outer` loops and an inner part over `inner` loops:
/// binding = outer_value * inner_extent + inner_value, where the inner parts together reach every point of
/// their domain 0 .. inner_extent[i]. Nothing when a binding or a condition mixes the two. What blockize and
/// tensorize need.
struct Division {
  std::vector<Expr> outer_value, outer_extent, inner_value, inner_extent;
  Expr outer_predicate, inner_predicate;
};
std::optional<Division> subspace_divide(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                        const std::vector<Domain>& outer, const std::vector<Domain>& inner,
                                        const Expr& predicate, Analyzer& analyzer);

}  // namespace lathe::arith
