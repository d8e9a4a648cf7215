#pragma once
// The lines of the text log: one JSON object a line, members in one order, absent ones left out. The content
// of a trial's line without its identity is also what its uid is the hash of.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lathe/records.h"

namespace lathe::records {

// Kinds sort in the order in which they refer to each other, so that a sorted log can be read in one pass.
struct ProgramLine {
  Digest program;
  std::string json;
  std::vector<std::pair<std::string, std::string>> names;  ///< name, spec; sorted
};
struct SessionLine {
  Session session;
};
struct TargetLine {
  Digest fingerprint;
  std::string name, json;
};
struct TrialLine {
  Digest program, fingerprint;
  std::optional<Digest> program_text;  ///< hash of the program's text, where several programs share a hash
  bool has_uid = false;
  Trial trial;  ///< without `key` rows; semantics is set
};
using Line = std::variant<ProgramLine, SessionLine, TargetLine, TrialLine>;

std::string to_line(const ProgramLine& line);
std::string to_line(const SessionLine& line);
std::string to_line(const TargetLine& line);
std::string to_line(const TrialLine& line);

/// The stable identity of a trial whose texts are canonical.
Digest uid_of(const Digest& program, const Digest& fingerprint, const Trial& trial);

/// What is wrong with a line, and at which byte (from 1).
struct LineError {
  std::string what;
  std::size_t column = 1;
  int newer_format = 0;  ///< the format of a line that is newer than this Lathe; 0 otherwise
};

/// Where `member` is in a line, from 1; behind the line's end when it is not there.
std::size_t column_of(std::string_view line, std::string_view member);

/// Parses one line; throws LineError.
Line parse_line(std::string_view text);

}  // namespace lathe::records
