#include "driver/files.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lathe/error.h"
#include "support/error_codes/codegen.h"

namespace lathe::driver {

void write_file(const std::string& path, std::string_view content) {
  const std::string draft = path + ".part";
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  std::error_code problem;
  if (file) std::filesystem::rename(draft, path, problem);
  if (!file || problem) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    throw UserError(code::C004, "file \"" + path + "\" cannot be written" +
                                    (problem ? ": " + problem.message() : std::string()) +
                                    "; does its folder exist, and may it be written?");
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path))
    throw UserError(code::C005, "file \"" + path + "\" cannot be read");
  return text.str();
}

}  // namespace lathe::driver
