#pragma once
// A loop nest as one block: what blockize and tensorize share.

#include "arith/iter_map.h"
#include "lathe/tensor_intrinsic.h"
#include "schedule/edit.h"

namespace lathe::schedule {

/// Notes of a block that tensorize has made: the intrinsic, and which of the block's regions is which parameter of it:
/// "r1:2:0,r0:1,w0:0" (read region 1 with its dimension 2 for the parameter's first and 0 for its second, …).
inline constexpr const char* kIntrinsicNote = "tensorize";
inline constexpr const char* kOperandsNote = "operands";

/// The single block below a loop, and how its bindings divide into a part outside the loop and a part inside.
struct Enclosed {
  Path loop;                 ///< to the loop, which is the outermost one inside
  Stmt block;                ///< below it
  std::vector<Stmt> inside;  ///< the loops inside, outermost first
  arith::Division division;
};
/// Throws ScheduleError when they do not divide.
Enclosed enclose(const Edit& edit, std::size_t loop_argument);

/// The block that the nest becomes; `annotations` are its own.
Stmt as_block(const Enclosed& nest, const Label& label, Annotations annotations);

/// Why the block, which tensorize has marked, is not what the intrinsic computes (any more); empty when it is.
std::string why_not_intrinsic(const Block& block, const TensorIntrinsic& intrinsic, const Program& program);

}  // namespace lathe::schedule
