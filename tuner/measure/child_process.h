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

/// No core file when this process crashes.
void leave_no_core();
/// That, a limit of the address space in bytes, one of the size of a file that it writes, and first in line when the system
/// ends processes for lack of memory: what code of unknown quality runs under.
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

  /// Kills it, unless it ends by itself within so many milliseconds, and says how it ended.
  Death bury(int patience_ms = 20);
  /// The end of what it printed.
  std::string last_words() const;

 private:
  pid_t pid_ = -1;
  int socket_ = -1, printed_ = -1;
};

}  // namespace lathe::tuner
