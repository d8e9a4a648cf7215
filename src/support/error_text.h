#pragma once
// The text of an error as a part of another one.

#include <string>

#include "lathe/error.h"

namespace lathe {

/// The text without the code at its end, for an error with the same code that adds where this one happened.
inline std::string text_without_code(const UserError& error) {
  std::string text = error.what();
  const std::string code = "  [" + std::string(describe(error.code()).id) + "]";
  if (text.ends_with(code)) text.resize(text.size() - code.size());
  return text;
}

}  // namespace lathe
