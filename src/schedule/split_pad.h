#pragma once
// Tail::Pad of split: the surplus iterations are computed into an enlarged intermediate buffer and ignored.

#include "schedule/edit.h"

namespace lathe::schedule {

/// Splits the path's loop into `extents`, whose product `covered` is at least the loop's extent, without a guard: every
/// block below gets a larger domain, the intermediate buffers that it writes grow with it, and what it reads of inputs is
/// guarded (a surplus element computes from 0).
void split_padded(Edit& edit, const Path& path, const std::vector<Expr>& extents, const Expr& covered);

}  // namespace lathe::schedule
