#pragma once
// The known name that a misspelt one was probably meant to be.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Insertions, deletions, changes and swaps of neighbours that turn `a` into `b` (Damerau and Levenshtein,
/// optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name in `known` with the fewest edits, if those are at most a third of `wanted` (at least one); the
/// earlier one of equals. Case does not count.
std::optional<std::string> nearest_name(std::string_view wanted, const std::vector<std::string>& known);

/// " (did you mean \"znver3\"?)", or nothing.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace lathe
