#pragma once
// Moving blocks: the part that compute_at, reverse_compute_at and the cache primitives share.
//
// A block is moved by giving each of its iteration variables a range that depends on the place alone, and one new loop of
// constant extent that runs through that range:
//
//     for vi in 0..extent:   block B(vi = min + vi) where min + vi < domain
//
// Ranges come from a required region of a buffer that the block writes (compute_at) or reads (reverse_compute_at).

#include "arith/regions.h"
#include "schedule/edit.h"

namespace lathe::schedule {

/// The range of one iteration variable at a place; undefined: the whole domain.
struct VarRange {
  Expr min, extent;
  bool known() const { return min.defined(); }
};

/// What the statements below `place` (the path's last statement, a loop) access of `buffer`, over the loops at and above the
/// place: the union over the outermost blocks for which `wanted` holds; `writes` tells which accesses. An empty result: none.
/// `analyzer` must know the path.
enum class Guards : std::uint8_t { Narrow, Ignored };  ///< what the blocks' predicates do to the regions
std::optional<arith::Region> region_below(const Stmt& below, const Buffer& buffer, bool writes,
                                          arith::Analyzer& analyzer, Guards guards = Guards::Narrow);

/// What `solve_ranges` makes of the required region.
enum class Fit : std::uint8_t {
  Covers,  ///< the iterations access all of it, and maybe more: a producer
  Within   ///< the iterations access nothing else: a consumer, for which nothing else is there
};

/// Ranges of the block's variables such that `access`, one of its regions over its variables, fits `required`. Variables
/// that the access does not constrain stay unknown. Nothing when the access has a form that is not understood, or when no
/// ranges fit.
std::optional<std::vector<VarRange>> solve_ranges(const Block& block, const BufferRegion& access,
                                                  const BufferRegion& required, Fit fit,
                                                  arith::Analyzer& analyzer);

/// The smallest range that contains both.
VarRange unite(const VarRange& a, const VarRange& b, arith::Analyzer& analyzer);

/// The block under one new loop a variable, ranging as told. Extents that vary with outer loops are bounded by constants.
/// `loops` gets the loop variables.
Stmt nest(const Block& block, const std::vector<VarRange>& ranges, arith::Analyzer& analyzer,
          std::vector<Var>* loops = nullptr);

/// Removes the block (and loops left empty) from `root`; the removed loops' handles are consumed.
Stmt take_out(Edit& edit, const Path& block);

/// The path's last statement (a loop) with `fresh` inserted into its body before (or after) the child that contains `anchor`.
Stmt insert(const Stmt& loop, const Stmt& fresh, const StmtNode* anchor, bool before);

/// A block that copies `from` to `to` elementwise over the box `region` of both (shapes equal), with its loops.
/// `analyzer` knows the variables of the region.
struct CopyNest {
  Label label;
  Stmt nest;
};
CopyNest copy_nest(const std::string& name, const Buffer& from, const Buffer& to, const BufferRegion& region,
                   arith::Analyzer& analyzer);

/// `name`, made unique among the program's buffers by a suffix.
std::string unique_buffer_name(const Program& program, const std::string& name);
/// The same buffer under another name and scope.
Buffer like(const Buffer& buffer, const std::string& name, Scope scope);
Scope scope_of(const Edit& edit, std::size_t arg);

/// The block with its regions computed anew from its body.
Stmt with_fresh_regions(std::unique_ptr<Block> block);

}  // namespace lathe::schedule
