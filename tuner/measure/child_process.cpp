#include "tuner/measure/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lathe/error.h"
#include "support/error_codes/tuner.h"

namespace lathe::tuner {
namespace {

constexpr off_t kLastWords = 2000;
constexpr rlim_t kLargestFile = rlim_t{64} << 20;  ///< what it prints is one, in memory

std::string signal_name(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  const char* about = sigdescr_np(signal_number);
  return (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal_number)) +
         (about ? " (" + std::string(about) + ")" : "");
}

}  // namespace

Death death_of(int status) {
  if (WIFSIGNALED(status)) {
    const int by = WTERMSIG(status);
    if (by == SIGKILL) {
      return {records::Failure::OutOfMemory,
              "was killed by SIGKILL from outside, most likely by the system for lack of memory"};
    }
    return {records::Failure::Crash, "died of " + signal_name(by)};
  }
  return {records::Failure::Crash,
          "ended with code " + std::to_string(WEXITSTATUS(status)) + " and without a result"};
}

void leave_no_core() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void limit_this_process(std::uint64_t memory_bytes) {
  leave_no_core();
  const rlimit file{kLargestFile, kLargestFile};
  setrlimit(RLIMIT_FSIZE, &file);
  signal(SIGXFSZ, SIG_DFL);  // which the session ignores: it has something to say of a full disk
  // Where memory ends for all, this process is the one to go, not the session.
  if (std::FILE* score = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", score);
    std::fclose(score);
  }
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // whose shadow takes terabytes of addresses
  const rlimit memory{memory_bytes, memory_bytes};
  setrlimit(RLIMIT_AS, &memory);
#else
  (void)memory_bytes;
#endif
}

void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it ended before the call
}

Worker::Worker(const WorkerCommand& command, const std::string& role) {
  int pair[2] = {-1, -1};
  printed_ = memfd_create("worker output", MFD_CLOEXEC);
  if (printed_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw UserError(code::U030, std::string("no worker process can be started: ") + std::strerror(errno));
  // All that allocates comes before the fork: this process may have threads.
  std::vector<std::string> words{command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  words.push_back(role);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(pair[1], kToSession);
    dup2(printed_, 1);
    dup2(printed_, 2);
    // What is sent to the whole group, by a terminal or by who ends a job, is the session's affair: it ends its workers.
    for (int s : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) signal(s, SIG_IGN);
    die_with_parent(parent);
    execv(argv[0], argv.data());
    _exit(127);
  }
  const int error = errno;
  close(pair[1]);
  socket_ = pair[0];
  if (pid_ < 0)
    throw UserError(code::U030, std::string("no worker process can be started: ") + std::strerror(error));
}

Worker::~Worker() {
  bury();
  close(socket_);
  close(printed_);
}

Death Worker::bury(int patience_ms) {
  if (pid_ <= 0) return {records::Failure::Crash, "ended before"};
  int status = 0;
  // A worker that hung up is about to end by itself, and its own signal says more than ours.
  for (int patience = 0; patience < patience_ms; ++patience) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return {records::Failure::Other, "the worker program cannot be executed"};
      return death_of(status);
    }
    if (patience == 0) shutdown(socket_, SHUT_WR);  // the end of its work
    usleep(1000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {records::Failure::Crash, "did not end by itself and was killed"};
}

std::string Worker::last_words() const {
  const off_t size = lseek(printed_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - kLastWords);
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - from)), '\0');
  const ssize_t n = pread(printed_, text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  return text;
}

}  // namespace lathe::tuner
