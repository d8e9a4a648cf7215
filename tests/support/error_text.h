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
  std::size_t done = 0;
  for (std::size_t at; (at = text.find(".cpp:", done)) != std::string::npos;) {
    const std::size_t space = text.find_last_of(" \n(", at), slash = text.rfind('/', at);
    out += text.substr(done, space + 1 - done);
    const std::size_t name = slash == std::string::npos || slash < space ? space + 1 : slash + 1;
    out += text.substr(name, at + 5 - name) + "LINE";
    done = text.find_first_not_of("0123456789", at + 5);
    if (done == std::string::npos) return out;
  }
  out += text.substr(done);
  return out;
}

}  // namespace lathe::test
