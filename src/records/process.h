#pragma once
// Who owns a running session, and whether that process is still there.

#include <cstdint>
#include <string>

namespace lathe::records {

struct Owner {
  std::string space;  ///< machine, boot and process-id name space; equal where pids can be compared
  std::int64_t pid = 0;
  std::int64_t started =
      0;  ///< in clock ticks since boot; tells a process from a later one that got its number
};

Owner this_process();

/// Whether the owner runs. Where its pids cannot be seen from here (another container or machine), a
/// heartbeat within `kSilence` of now stands for it.
inline constexpr std::int64_t kSilenceUs = 15ll * 60 * 1'000'000;
bool is_alive(const Owner& owner, std::int64_t heartbeat_us, std::int64_t now_us);

}  // namespace lathe::records
