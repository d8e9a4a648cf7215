#pragma once
// Folders, files and C programs of the tests that build for production.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lathe::test {

/// A folder that goes with the test.
struct Folder {
  Folder() {
    char name[] = "/tmp/lathe-build-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::filesystem::path path;
};

inline std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void shell(const std::string& command) {
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

/// Compiles `source` as C99 against headers in the folder, links it with the objects there and the runtime, runs it, and
/// returns what it printed.
inline std::string run_c_program(const Folder& folder, const std::string& source,
                                 const std::string& objects) {
  std::ofstream(folder.file("main.c")) << source;
  shell(std::string(TEST_CC) + " -std=c99 -Wall -Werror -pedantic -I" TEST_INCLUDE " -c -o " +
        folder.file("main.o") + " " + folder.file("main.c"));
  shell("cd " + folder.path.string() + " && " TEST_CXX " -o main main.o " + objects +
        " " TEST_RUNTIME " -pthread -ldl && ./main > out.txt");
  return read(folder.file("out.txt"));
}

}  // namespace lathe::test
