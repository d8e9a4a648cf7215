#pragma once
// How deep JSON may nest.
//
// What reads, prints or compares a tree of JSON calls itself once a level, so a line of a hundred thousand brackets would end
// a process for want of stack. Every reader of ours therefore asks here before it makes a tree of a text.

#include <cstddef>
#include <optional>
#include <string_view>

namespace lathe {

/// Deeper than any text of ours: programs nest 1,000 levels at most (ir/json_format.h), of up to four brackets each.
inline constexpr int kMaxJsonDepth = 4000;

/// The byte, from 0, of the first bracket of `text` that nests deeper; nothing where there is none. `text` may be anything.
inline std::optional<std::size_t> too_deep(std::string_view text) {
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
      if (++depth > kMaxJsonDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace lathe
