#include "records/process.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

namespace lathe::records {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string link_of(const char* path) {
  std::array<char, 128> text{};
  ssize_t length = ::readlink(path, text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

// Field 22 of /proc/PID/stat; 0 when there is no such process or it is dead already (a zombie). The second
// field is a name in brackets that may itself contain blanks and brackets, so counting starts after the last
// one.
std::int64_t start_of(std::int64_t pid) {
  std::string stat = first_line("/proc/" + std::to_string(pid) + "/stat");
  std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::int64_t started = 0;
  fields >> started;
  return started;
}

}  // namespace

Owner this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string space = std::string(host.data()) + "|" + first_line("/proc/sys/kernel/random/boot_id") + "|" +
                      link_of("/proc/self/ns/pid");
  return {space, ::getpid(), start_of(::getpid())};
}

bool is_alive(const Owner& owner, std::int64_t heartbeat_us, std::int64_t now_us) {
  if (owner.space == this_process().space)
    return owner.pid > 0 && start_of(owner.pid) == owner.started && owner.started != 0;
  return now_us - heartbeat_us < kSilenceUs;
}

}  // namespace lathe::records
