#include "runtime/error_state.h"

#include <algorithm>

#include "lathe/runtime/c_api.h"

namespace lathe::runtime {

void ErrorState::set(std::int32_t new_code, std::string_view message) noexcept {
  code = new_code;
  std::size_t length = std::min(message.size(), text.size() - 1);
  if (length < message.size()) {
    while (length > 0 && (static_cast<unsigned char>(message[length]) & 0xC0) == 0x80) --length;
  }
  std::copy_n(message.data(), length, text.data());
  text[length] = '\0';
}

ErrorState& last_error() noexcept {
  // Constant-initialised and trivially destructible: usable from the first instruction of a thread to its
  // last.
  static thread_local ErrorState state;
  return state;
}

}  // namespace lathe::runtime

using lathe::runtime::last_error;

extern "C" {

int32_t lathe_runtime_abi(void) { return LATHE_RUNTIME_ABI; }

const char* lathe_last_error(void) { return last_error().text.data(); }

int32_t lathe_last_error_code(void) { return last_error().code; }

void lathe_set_error(int32_t code, const char* message) {
  last_error().set(code, message == nullptr ? std::string_view() : std::string_view(message));
}

}  // extern "C"
