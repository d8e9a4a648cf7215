#pragma once
// Shapes of a program's parameters once its sizes are known.

#include "ir/visitor.h"
#include "lathe/program.h"

namespace lathe::driver {

/// Which variables have which values, in the order of the program's Size parameters; the rest stays undefined.
VarMap size_values(const Program& program, const std::vector<std::int64_t>& sizes);
/// The buffer's extents; all sizes that enter must be given.
std::vector<std::int64_t> shape_for(const Buffer& buffer, const VarMap& sizes);

}  // namespace lathe::driver
