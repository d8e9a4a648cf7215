#pragma once
// Iterator maps: are these bindings a bijection of these loops?
//
// Splits and fuses turn loop variables into sums of split parts: floordiv(x, lower) mod extent, times scale.
// A binding list is an iterator map when every binding is such a sum ("quasi-affine") and the parts use each
// loop at most once. Cf. TVM's iter_affine_map; Halide has no counterpart.

#include "arith/regions.h"

namespace lathe::arith {

/// scale * (floordiv(source, lower) floormod extent)
struct IterSplit {
  Var source;
  std::int64_t lower = 1;
  Expr extent;  ///< of this part
  std::int64_t scale = 1;
};
/// base + sum of splits, sorted by scale, largest first
struct IterSum {
  std::vector<IterSplit> splits;
  Expr base;
};

struct IterMap {
  std::vector<IterSum> sums;  ///< one a binding
  bool injective = false;     ///< different loop values give different bindings (under the predicate)
  bool surjective = false;    ///< every point of the bindings' domain is reached (under the predicate)
  bool bijective() const { return injective && surjective; }
};

/// Reads `bindings` (index_type, over `loops` and outer variables known to `analyzer`) as an iterator map
/// onto the domain 0 .. extents[i]. `predicate` guards non-dividing splits. Nothing when a binding is not
/// quasi-affine.
std::optional<IterMap> detect_iter_map(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                       const std::vector<Domain>& loops, const Expr& predicate,
                                       Analyzer& analyzer);

/// For a bijective map: each loop variable as an expression of `values` (one a binding).
std::optional<VarMap> inverse(const IterMap& map, const std::vector<Domain>& loops,
                              const std::vector<Expr>& values, Analyzer& analyzer);

/// Splits each binding into an outer part over `outer` loops and an inner part over `inner` loops:
/// binding = outer_value * inner_extent + inner_value. Nothing when one mixes them. What blockize and
/// tensorize need.
struct Division {
  std::vector<Expr> outer_value, outer_extent, inner_value, inner_extent;
  Expr outer_predicate, inner_predicate;
};
std::optional<Division> subspace_divide(const std::vector<Expr>& bindings, const std::vector<Expr>& extents,
                                        const std::vector<Domain>& outer, const std::vector<Domain>& inner,
                                        const Expr& predicate, Analyzer& analyzer);

}  // namespace lathe::arith
