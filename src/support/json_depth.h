#pragma once
// How deep the brackets of a JSON text nest.
//
// Trees are copied, printed and read by functions that call themselves, so a file must not be able to choose the depth: it
// is looked at before a tree is made.

#include <cstddef>
#include <string_view>

namespace lathe {

/// The position, from 1 on, of the first bracket that opens deeper than `levels`; 0 when there is none.
inline std::size_t bracket_deeper_than(std::string_view text, int levels) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > levels) return i + 1;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return 0;
}

}  // namespace lathe
