#pragma once
// The CPU features that Lathe's code generation can use.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// A feature, and which others it cannot be without.
struct FeatureInfo {
  std::string_view name;  ///< LLVM's
  std::vector<std::string_view> needs;
};

const std::vector<FeatureInfo>& feature_table(std::string_view arch);

/// Adds a feature with all that it needs; the result is sorted.
void add_feature(std::vector<std::string>& features, std::string_view arch, std::string_view name);

/// Takes a feature away, with all that need it.
void remove_feature(std::vector<std::string>& features, std::string_view arch, std::string_view name);

/// Features of the levels of the x86-64 psABI (1 to 4), those of feature_table only.
std::vector<std::string> x86_level(int level);

/// Bits of the widest vector register, and how many there are.
std::int64_t widest_vector(std::string_view arch, const std::vector<std::string>& features);
std::int64_t vector_register_count(std::string_view arch, const std::vector<std::string>& features);

}  // namespace lathe
