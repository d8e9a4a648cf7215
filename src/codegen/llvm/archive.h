#pragma once
// Static libraries.

#include <string>
#include <string_view>
#include <vector>

namespace lathe::codegen::cpu {

struct ArchiveMember {
  std::string name;
  std::string_view content;  ///< an object file
};

/// A static library with an index of its symbols; dates and owners are zero, so that equal members give equal bytes.
std::string archive(const std::vector<ArchiveMember>& members);

}  // namespace lathe::codegen::cpu
