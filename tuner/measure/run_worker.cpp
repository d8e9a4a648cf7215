// The worker that runs candidates, each in a process of its own.
//
//   session ── exec ──> zygote ── fork ──> reference     compiles and runs the unscheduled program, writes what it gives
//                          │                             to shared memory, ends; from then on that memory is sealed
//                          ├── fork ──> candidate        links its object, verifies, takes samples when told, ends
//                          └── fork ──> candidate
//
// The zygote has one thread, no compiler state, and never runs a kernel, so that its forks are sound; inputs and reference
// are made once a session and shared by all candidates, which cannot damage them: inputs are copied where written, the
// reference can no longer be written by anybody.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "lathe/prepare.h"
#include "lathe/runtime/affinity.h"
#include "support/error_codes/tuner.h"
#include "tuner/measure/child_process.h"
#include "tuner/measure/messages.h"
#include "tuner/measure/timing.h"
#include "tuner/measure/verify.h"

namespace lathe::tuner {
namespace {

using nlohmann::json;

constexpr double kReferenceSeconds = 1800;
/// Calls after the samples whose output is verified.
constexpr int kAgainLeast = 1, kAgainMost = 32;
constexpr double kAgainSeconds = 0.02;

/// What all candidates share.
struct Shared {
  Program program;
  Target target;
  std::uint64_t memory = 0;
  std::unique_ptr<Inputs> random, integers;
  std::unique_ptr<Reference> reference;
  int reference_file = -1;
};

bool session_is_gone() {
  pollfd p{kToSession, POLLRDHUP, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// The processes forked from this one. What they start, and leave behind when they end, becomes this one's children, too
/// (it is a subreaper), and is ended: it would disturb all later measurements, and outlive the session.
class Children {
 public:
  void add(pid_t pid) { known_.insert(pid); }
  void remove(pid_t pid) {
    known_.erase(pid);
    for (int round = 0; round < kRounds && end_strays();
         ++round) {  // whose children appear when they are gone
    }
  }

 private:
  static constexpr int kRounds = 1000;

  bool end_strays() const {
    bool any = false;
    std::ifstream list("/proc/thread-self/children");
    for (pid_t pid = 0; list >> pid;) {
      if (known_.count(pid) > 0) continue;
      any = true;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    return any;
  }

  std::set<pid_t> known_;
};

/// A process forked from this one, which sends frames.
class Fork {
 public:
  /// `child` is called in the new process with its end of the connection, and does not return to the caller. `memory`: what
  /// it may have; 0: no limit.
  Fork(Children& children, std::uint64_t memory, const std::function<void(int)>& child)
      : children_(children), memory_(memory) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      die_with_parent(parent);
      close(pair[0]);
      close(kToSession);  // a stray write must not reach the session
      open("/dev/null", O_RDONLY);
      child(pair[1]);
      _exit(0);
    }
    close(pair[1]);
    socket_ = pair[0];
    if (pid_ < 0) return;
    setpgid(pid_, pid_);  // whichever of the two comes first
    children_.add(pid_);
  }
  ~Fork() { bury(); }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  Transfer send(const Frame& frame, double seconds) {
    return write_frame(socket_, frame, {.seconds = seconds, .stop = nullptr});
  }

  /// Its answer, or the failure that its silence means.
  Measurement answer(double seconds, json* header = nullptr) {
    if (pid_ < 0) return failed(records::Failure::Other, "no process could be forked");
    // The connection of one that ended stays open where a process that it started holds it, too.
    const std::function<bool()> in_vain = [this] { return ended() || session_is_gone(); };
    Frame frame;
    switch (read_frame(socket_, frame, {.seconds = seconds, .stop = &in_vain})) {
      case Transfer::Done:
        try {
          if (header) *header = frame.header;
          return measurement_from(frame.header);
        } catch (const json::exception&) {
          break;
        }
      case Transfer::TimedOut:
        kill(pid_, SIGKILL);
        bury();
        return failed(records::Failure::Timeout, "not done within " + format_seconds(seconds));
      case Transfer::Closed:
      case Transfer::Stopped: {
        const Death death = bury();
        return failed(death.failure, "the process that ran it " + death.text);
      }
      default: break;
    }
    kill(pid_, SIGKILL);
    bury();
    return failed(records::Failure::Crash,
                  "the process that ran it sent garbage: it overwrote its own memory");
  }

  /// Ends it, and what it has started.
  Death bury() {
    if (pid_ <= 0) return {};
    close(socket_);
    int status = 0;
    rusage usage{};
    // One that hung up is about to end by itself; one that is asked for more has a moment to leave.
    bool left = false;
    for (int patience = 0; patience < 200 && !left; ++patience) {
      left = wait4(pid_, &status, WNOHANG, &usage) == pid_;
      if (!left) usleep(500);
    }
    kill(-pid_, SIGKILL);
    if (!left) waitpid(pid_, &status, 0);
    children_.remove(pid_);
    pid_ = -1;
    if (!left) return {records::Failure::Crash, "hung up and did not end"};
    Death death = death_of(status);
    const std::uint64_t used = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    if (memory_ > 0 && used > memory_ / 4 * 3) {
      death.failure = records::Failure::OutOfMemory;
      death.text += ", with " + std::to_string(used >> 20) + " MiB of the " + std::to_string(memory_ >> 20) +
                    " MiB that it may have";
    }
    return death;
  }

 private:
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }

  Children& children_;
  std::uint64_t memory_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

/// The candidate's process.
class CandidateProcess {
 public:
  CandidateProcess(const Shared& shared, const Frame& request, int socket)
      : shared_(shared), request_(request), socket_(socket) {}

  void serve() {
    limit_this_process(shared_.memory);
    Measurement m;
    try {
      m = prepare();
    } catch (const std::exception& e) {
      m = failed_by(e, records::Failure::Load);
    }
    write_frame(socket_, {to_message(m), {}}, {});
    Frame command;
    while (m.failure == records::Failure::None && read_frame(socket_, command, {}) == Transfer::Done) {
      Measurement samples;
      try {
        samples = sample(command.header.value("brief", false));
      } catch (const std::exception& e) {
        samples = failed_by(e, records::Failure::Load);
      }
      write_frame(socket_, {to_message(samples), {}}, {});
    }
  }

 private:
  void call() { check(kernel_->run(addresses_.data())); }

  /// New data: constants are prepared, which no sample times.
  void take(const Inputs& inputs) {
    arguments_ = inputs.arguments();
    addresses_ = arguments_.addresses();
    check(kernel_->prepare(addresses_));
  }

  static void check(std::int32_t status) {
    if (status == LATHE_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
    if (status != LATHE_OK)
      throw UserError(code::U032, std::string("the kernel failed: ") + lathe_last_error());
  }

  /// Links and verifies.
  Measurement prepare() {
    pin();
    kernel_ =
        link_prepared(shared_.program->name, shared_.target, {request_.bytes.begin(), request_.bytes.end()});
    Measurement m;
    if (shared_.integers) {
      take(*shared_.integers);
      call();
      if (!shared_.reference->accepts(m, arguments_, Data::Integers) ||
          !shared_.integers->untouched(m, arguments_))
        return m;
    }
    take(*shared_.random);
    call();
    if (shared_.reference->accepts(m, arguments_, Data::Random)) shared_.random->untouched(m, arguments_);
    return m;
  }

  Measurement sample(bool brief) {
    TimingOptions options;
    options.give_up_above = request_.header.value("give_up_above", 0.0);
    options.one_call = shared_.random->in_place();
    // A slow kernel is no hanging one: its calls, before, among and after the samples, fit into the time.
    options.too_long = std::min(options.too_long, request_.header.at("timeout").get<double>() / 4);
    if (brief) {  // one of several turns
      options.seconds = 0.03;
      options.least = 2;
    }
    if (request_.header.value("cold", false))
      options.flush_bytes = 2 * static_cast<std::uint64_t>(
                                    std::max<std::int64_t>(shared_.target.cpu().last_level_bytes(), 1 << 20));
    std::function<void()> prepare;
    if (shared_.random->in_place()) prepare = [&] { shared_.random->restore(arguments_); };
    const Samples samples = take_samples([&] { call(); }, prepare, options);
    Measurement m;
    m.seconds = samples.seconds;
    m.yardstick = samples.yardstick;
    if (!right_again(m)) m.seconds.clear();
    return m;
  }

  /// What was right once has to stay right: a race may need many calls to show, and what was written before must not pass
  /// for what each call writes.
  bool right_again(Measurement& m) {
    const runtime::Timer timer;
    for (int again = 0; again < kAgainLeast || (again < kAgainMost && timer.seconds() < kAgainSeconds);
         ++again) {
      shared_.random->restore(arguments_);
      call();
      if (shared_.reference->accepts(m, arguments_, Data::Random)) continue;
      if (m.failure == records::Failure::WrongResult || m.failure == records::Failure::IncompleteOutput) {
        m.failure = records::Failure::Unstable;
        m.error_text = "right at the first call, wrong after many: " + m.error_text;
      }
      return false;
    }
    return shared_.random->untouched(m, arguments_);
  }

  /// To one core, unless a quota rather than the mask says how much of the machine is ours: then the scheduler knows
  /// better which core is free.
  static void pin() {
    if (runtime::cpu_quota() < runtime::process_cores()) return;
    runtime::pin_current_thread(runtime::process_cpus().front());
  }

  const Shared& shared_;
  const Frame& request_;
  int socket_;
  std::optional<PreparedCode> kernel_;
  Arguments arguments_;
  std::vector<void*> addresses_;
};

/// What the children of this process printed since the last call.
std::string take_printed() {
  const off_t size = lseek(1, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, 2000)), '\0');
  const ssize_t n = pread(1, text.data(), text.size(), std::max<off_t>(0, size - 2000));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  if (ftruncate(1, 0) == 0) lseek(1, 0, SEEK_SET);
  return text;
}

class Zygote {
 public:
  Measurement begin(const json& request) {
    try {
      shared_.program = program_from_json(request.at("program").get<std::string>());
      shared_.target = Target::from_json(request.at("target").get<std::string>());
      shared_.memory = request.at("memory").get<std::uint64_t>();
      shared_.random = std::make_unique<Inputs>(shared_.program, Data::Random);
      return make_reference();
    } catch (const std::exception& e) {
      return failed_by(e, records::Failure::Compile);
    }
  }

  Measurement load(const Frame& request) {
    const int slot = request.header.at("slot").get<int>();
    slots_.erase(slot);
    take_printed();
    auto process = std::make_unique<Fork>(
        children_, shared_.memory, [&](int socket) { CandidateProcess(shared_, request, socket).serve(); });
    Measurement m = process->answer(request.header.at("timeout").get<double>());
    if (m.failure == records::Failure::None)
      slots_[slot] = {std::move(process), request.header.at("timeout")};
    return m;
  }

  Measurement sample(const json& request) {
    const auto slot = slots_.find(request.at("slot").get<int>());
    if (slot == slots_.end()) return failed(records::Failure::Other, "there is no such candidate");
    auto& [process, timeout] = slot->second;
    if (process->send({request, {}}, timeout) == Transfer::TimedOut)
      return failed(records::Failure::Timeout, "does not answer");
    Measurement m = process->answer(timeout);
    if (m.failure != records::Failure::None) slots_.erase(slot);
    return m;
  }

  void end(int slot) { slots_.erase(slot); }

 private:
  Measurement make_reference() {
    const std::size_t size = Reference::bytes(shared_.program);
    const int file = memfd_create("reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0)
      return failed(records::Failure::OutOfMemory, "no memory for the reference");
    {
      Fork child(children_, 0, [&](int socket) {
        Measurement m;
        try {
          void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
          if (memory == MAP_FAILED) throw std::bad_alloc();
          Reference(shared_.program, memory).compute(shared_.target);
        } catch (const std::exception& e) {
          m = failed_by(e, records::Failure::Compile);
        }
        write_frame(socket, {to_message(m), {}}, {});
      });
      const Measurement m = child.answer(kReferenceSeconds);
      if (m.failure != records::Failure::None) return m;
    }
    fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (memory == MAP_FAILED) return failed(records::Failure::OutOfMemory, "no memory for the reference");
    shared_.reference = std::make_unique<Reference>(shared_.program, memory);
    if (shared_.reference->exact())
      shared_.integers = std::make_unique<Inputs>(shared_.program, Data::Integers);
    return {};
  }

  Shared shared_;
  Children children_;  // before the slots, which outlive nothing of it
  struct Slot {
    std::unique_ptr<Fork> process;
    double timeout;
  };
  std::map<int, Slot> slots_;
};

}  // namespace

int serve_runs() {
  leave_no_core();
  // The session's end shows at the connection, and leaves time to end what candidates have started.
  prctl(PR_SET_PDEATHSIG, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Zygote zygote;
  Frame request;
  while (read_frame(kToSession, request, {}) == Transfer::Done) {
    const std::string what = request.header.value("do", "");
    if (what == "end") {
      zygote.end(request.header.at("slot").get<int>());
      continue;
    }
    Measurement m = what == "task"   ? zygote.begin(request.header)
                    : what == "load" ? zygote.load(request)
                                     : zygote.sample(request.header);
    const std::string printed = m.failure == records::Failure::None ? std::string() : take_printed();
    if (m.failure == records::Failure::Crash && printed.find("std::bad_alloc") != std::string::npos)
      m.failure = records::Failure::OutOfMemory;
    Frame reply{to_message(m), {}};
    if (!printed.empty()) reply.header["printed"] = printed;
    if (write_frame(kToSession, reply, {}) != Transfer::Done) return 1;
  }
  return 0;
}

}  // namespace lathe::tuner
