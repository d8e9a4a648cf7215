#pragma once
// How far apart two workload specs of one operator are.

#include <string_view>

namespace lathe::records {

/// Sum over the keys of "name(key=value,…):dtype" of |log2 ((a+1)/(b+1))| for whole numbers, and 1 for a key
/// that only one has or whose values are other texts; 2 for another dtype. 0 for equal specs; symmetric.
double spec_distance(std::string_view a, std::string_view b);

}  // namespace lathe::records
