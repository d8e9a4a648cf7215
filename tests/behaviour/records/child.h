#pragma once
// Work done in a forked child, where Catch's macros do not reach: it reports by its exit status.

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>

namespace lathe::records::testing {

inline constexpr int kThrew = 99;

/// Starts `work` in a child, which leaves with its result, or kThrew.
inline pid_t start(const std::function<int()>& work) {
  pid_t pid = ::fork();
  if (pid != 0) return pid;
  int status = kThrew;
  try {
    status = work();
  } catch (const std::exception& error) {
    if (::write(2, error.what(), std::char_traits<char>::length(error.what())) < 0) status = kThrew;
  }
  ::_exit(status);
}

/// The child's exit status; negative for the signal that killed it.
inline int finish(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

inline int in_child(const std::function<int()>& work) { return finish(start(work)); }

/// As `in_child`, without root's exemption from permissions.
inline int in_unprivileged_child(const std::function<int()>& work) {
  return in_child([&] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 98;
    return work();
  });
}

}  // namespace lathe::records::testing
