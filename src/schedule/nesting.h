#pragma once
// Blocks inside blocks, which blockize makes.
//
// The loops inside are rearranged and marked like any others. What moves or stages data stays outside: it would change what
// the outer block reads and writes behind its back.

#include "schedule/edit.h"

namespace lathe::schedule {

/// Refuses the step when it moves or stages a block that lies inside another one, or moves one there.
void need_outermost(const Edit& edit);

/// The body with the regions of blocks that contain blocks computed anew.
Stmt with_outer_regions(const Stmt& body);

}  // namespace lathe::schedule
