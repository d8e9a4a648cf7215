#pragma once
// How error texts write a shape, or the place of an element.

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

/// "[2, 3, 5]"
inline std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

}  // namespace lathe
