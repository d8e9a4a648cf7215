#pragma once
// A child process that may crash, hang, leak or corrupt itself, and what is said of it afterwards.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lathe/record_types.h"
#include "tuner/measure/frame.h"

namespace lathe::tuner {

/// The program that measures, and what goes before the role on its command line (`--load` of the user's workloads).
struct WorkerCommand {
  std::string program;
  std::vector<std::string> arguments;
};

/// How a process ended, as a failure.
struct Death {
  records::Failure failure = records::Failure::Other;
  std::string text;  ///< "died of SIGSEGV (Segmentation fault)"
};
/// `wait_status` as from waitpid.
Death death_of(int wait_status);

/// Limits of the calling process, for a worker to set on itself: address space in bytes (0: none), no core files.
void limit_this_process(std::uint64_t memory_bytes);
/// Ends this process when its parent ends, however it does.
void die_with_parent(pid_t parent);

/// The worker's end of the connection: its standard input, used both ways. What it prints is kept as its last words.
inline constexpr int kToSession = 0;

/// An exec'd worker.
class Worker {
 public:
  /// Throws UserError (LTH-U030) when the program cannot be started.
  Worker(const WorkerCommand& command, const std::string& role);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Transfer send(const Frame& frame, const Patience& patience) {
    return write_frame(socket_, frame, patience);
  }
  Transfer receive(Frame& frame, const Patience& patience) { return read_frame(socket_, frame, patience); }
  int socket() const { return socket_; }  ///< to poll

  /// Kills it, if need be, and says how it ended.
  Death bury();
  /// The end of what it printed.
  std::string last_words() const;

 private:
  pid_t pid_ = -1;
  int socket_ = -1, printed_ = -1;
};

}  // namespace lathe::tuner
