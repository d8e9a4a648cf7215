#pragma once
// What the writer and the reader of program JSON agree on; see json_writer.cpp for the form.

#include <string>

#include "lathe/program.h"

namespace lathe {

inline constexpr const char* kProgramFormat = "lathe-program";
inline constexpr int kProgramVersion = 1;
/// Levels of statements and expressions below each other. Everything that walks a program recurses, so a file
/// must not be able to choose the depth.
inline constexpr int kMaxDepth = 1000;

/// A well-formed program whose regions may still be wrong: `program_from_json` checks those too.
Program read_program_json(const std::string& text);

}  // namespace lathe
