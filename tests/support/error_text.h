#pragma once
// The text of the error that a piece of code throws, for tests that compare it whole.

#include <functional>
#include <string>

#include "lathe/error.h"

namespace lathe::test {

/// What `f` throws as a UserError, with places cut down to "file.cpp:LINE" (line numbers move with every
/// edit); "no error" when it throws nothing.
inline std::string error_text(const std::function<void()>& f) {
  std::string text;
  try {
    f();
    return "no error";
  } catch (const UserError& e) {
    text = e.what();
  }
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) == std::string::npos ? text.size() : text.find('\n', at) + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    const std::size_t place = line.find("  at "), colon = line.find(".cpp:");
    if (place == 0 && colon != std::string::npos) {
      const std::size_t slash = line.rfind('/', colon);
      std::size_t digits = colon + 5;
      while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9') ++digits;
      const std::size_t from = slash == std::string::npos ? 5 : slash + 1;
      line = "  at " + line.substr(from, colon + 5 - from) + "LINE" + line.substr(digits);
    }
    out += line;
  }
  return out;
}

}  // namespace lathe::test
