#pragma once
// Programs as users write them, of which the library has no operator: what its rules make of them is tested on small sizes and
// measured on large ones (`scripts/bench --group unseen`).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lathe/te.h"

namespace lathe::test {

enum class Scale : std::uint8_t { Small, Large };

struct UnseenProgram {
  std::string name;
  std::function<Program(Scale)> build;
  double operations = 0;  ///< of the large one, by its definition; 0: it is bound by memory
  /// An operator of the library that does as much work in the same way, or more; empty: none.
  std::string like;
};

/// Grouped by what makes them hard: operands, windows, reductions, permutations, types, chains.
std::vector<UnseenProgram> unseen_programs();

}  // namespace lathe::test
