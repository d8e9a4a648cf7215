#pragma once
// Reading and writing whole files.

#include <string>
#include <string_view>

namespace lathe::driver {

/// Writes beside the place and renames, so that nobody sees half a file. Throws UserError C004.
void write_file(const std::string& path, std::string_view content);
/// Throws UserError C005.
std::string read_file(const std::string& path);

}  // namespace lathe::driver
