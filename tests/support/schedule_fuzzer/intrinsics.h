#pragma once
// Small functions for the fuzzer's tensorize: copies, sums and products of tiles. The program that runs the fuzzer must export
// its symbols, because compiled code finds them by name.

#include <string>
#include <vector>

#include "lathe/dtype.h"

namespace lathe::fuzz {

struct TileFunction {
  std::string name;  ///< of the declared intrinsic
  DataType dtype;
  bool reduces = false;
  std::vector<std::int64_t> tile;  ///< extents of its loops, outermost first
};

/// All of them, declared at the first call.
const std::vector<TileFunction>& tile_functions();

}  // namespace lathe::fuzz
