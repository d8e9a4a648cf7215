#pragma once
// The last error of each thread: a code and a text of bounded length, so that reporting "out of memory" needs
// none.

#include <array>
#include <cstdint>
#include <string_view>

namespace lathe::runtime {

struct ErrorState {
  std::int32_t code = 0;
  std::array<char, 1024> text;  ///< only the part up to the terminating zero is ever written

  constexpr ErrorState() noexcept { text[0] = '\0'; }

  /// Copies `message`, cut at a character boundary of UTF-8 where it is too long.
  void set(std::int32_t new_code, std::string_view message) noexcept;
};

/// This thread's.
ErrorState& last_error() noexcept;

}  // namespace lathe::runtime
