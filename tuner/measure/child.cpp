// Measuring in a child process, which may crash, hang or corrupt itself.
//
// The child is an exec'd program, never a fork of this process, whose threads and LLVM state would not survive. Request and
// result are JSON through pipes.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lathe/runtime/timer.h"
#include "lathe/tuner.h"

namespace lathe {
namespace {

using nlohmann::json;

Measurement failed(records::Failure failure, std::string text) {
  Measurement m;
  m.failure = failure;
  m.error_text = std::move(text);
  return m;
}

json to_json(const Measurement& m) {
  return {{"failure", static_cast<int>(m.failure)},
          {"code", m.error_code},
          {"text", m.error_text},
          {"seconds", m.seconds},
          {"max_error", m.max_error},
          {"object_bytes", m.object_bytes}};
}

Measurement from_json(const json& j) {
  Measurement m;
  m.failure = static_cast<records::Failure>(j.at("failure").get<int>());
  m.error_code = j.at("code").get<std::string>();
  m.error_text = j.at("text").get<std::string>();
  m.seconds = j.at("seconds").get<std::vector<double>>();
  m.max_error = j.at("max_error").is_number() ? j.at("max_error").get<double>() : 0;
  m.object_bytes = j.at("object_bytes").get<std::uint64_t>();
  return m;
}

/// A child with pipes to its standard input and output.
class Child {
 public:
  Child(const std::string& command, const char* argument) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      signal(SIGINT, SIG_IGN);  // Ctrl-C is the session's affair
      execl(command.c_str(), command.c_str(), argument, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Child() {
    if (to_ >= 0) close(to_);
    if (from_ >= 0) close(from_);
    if (pid_ > 0 && !reaped_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  bool started() const { return pid_ > 0; }

  /// Writes the request; what a dead child does not read is its loss.
  void send(const std::string& text) {
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = write(to_, text.data() + done, text.size() - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    close(to_);
    to_ = -1;
    sigaction(SIGPIPE, &before, nullptr);
  }

  /// All output until the child ends; false when it does not in time.
  bool receive(std::string& text, double seconds) {
    runtime::Timer timer;
    char part[65536];
    while (true) {
      const double left = seconds - timer.seconds();
      if (left <= 0) return false;
      pollfd p{from_, POLLIN, 0};
      if (poll(&p, 1, static_cast<int>(left * 1000) + 1) == 0) continue;
      const ssize_t n = read(from_, part, sizeof part);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      text.append(part, static_cast<std::size_t>(n));
    }
    waitpid(pid_, &status_, 0);
    reaped_ = true;
    return true;
  }
  int status() const { return status_; }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, status_ = 0;
  bool reaped_ = false;
};

}  // namespace

int measure_worker() {
  std::stringstream text;
  text << std::cin.rdbuf();
  Measurement m;
  try {
    const json request = json::parse(text.str());
    const Program original = program_from_json(request.at("program").get<std::string>());
    const Target target = Target::from_json(request.at("target").get<std::string>());
    Schedule s(original);
    try {
      s.replay(Trace::from_json(request.at("trace").get<std::string>()));
    } catch (const UserError& e) {
      m = failed(records::Failure::Replay, e.what());
      m.error_code = std::string(describe(e.code()).id);
      std::cout << to_json(m).dump();
      return 0;
    }
    m = measure_here(original, s.program(), target, request.at("give_up_above").get<double>());
  } catch (const std::bad_alloc&) {
    m = failed(records::Failure::OutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    m = failed(records::Failure::Other, e.what());
  }
  std::cout << to_json(m).dump(-1, ' ', false, json::error_handler_t::replace) << std::flush;
  return 0;
}

Measurement measure_in_child(const Program& original, const Trace& trace, const Target& target,
                             const std::string& command, double timeout, double give_up_above) {
  const json request = {{"program", lathe::to_json(original)},
                        {"trace", trace.to_json(true)},
                        {"target", target.to_json()},
                        {"give_up_above", give_up_above}};
  Child child(command, "__measure");
  if (!child.started())
    return failed(records::Failure::Other,
                  std::string("no child process could be started: ") + std::strerror(errno));
  child.send(request.dump());
  std::string reply;
  if (!child.receive(reply, timeout))
    return failed(records::Failure::Timeout, "not done within " + std::to_string(timeout) + " s");
  if (WIFSIGNALED(child.status())) {
    return failed(records::Failure::Crash,
                  std::string("the process died of signal ") + strsignal(WTERMSIG(child.status())));
  }
  if (WEXITSTATUS(child.status()) == 127)
    return failed(records::Failure::Other, "cannot run \"" + command + "\"");
  try {
    return from_json(json::parse(reply));
  } catch (const json::exception&) {
    return failed(records::Failure::Crash, "the process ended with code " +
                                               std::to_string(WEXITSTATUS(child.status())) +
                                               " and without a result");
  }
}

}  // namespace lathe
