// fuzz_schedule: any number of random schedules.
//
//   fuzz_schedule --seed 1 --count 10000       runs the seeds 1 .. 10000
//   fuzz_schedule --seed 4711 --here           runs one in this process, for a debugger
//
// Seeds run in child processes, so that a crash or a hang is a failure of its seed like any other. A failing seed is run
// again with moves dropped while it fails in the same way, and printed as C++. Ends with 1 when a seed failed.

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>

#include "support/schedule_fuzzer/fuzzer.h"

namespace {

using namespace lathe;

/// What a child tells its parent; shared memory survives its crash.
struct Report {
  std::uint64_t seed = 0;  ///< being run
  std::uint64_t accepted = 0, refused = 0;
  char failure[1 << 16] = "";  ///< of `seed`
  char steps[1 << 16] = "";
};

void put(char* to, std::size_t size, const std::string& text) {
  const std::size_t n = std::min(size - 1, text.size());
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

/// Runs `work` in a child; a crash, or more than `seconds` of processor time, becomes `report.failure`. (Not of the clock:
/// on a busy machine that says little. It stops what sleeps for ever.)
void in_child(Report& report, unsigned seconds, const std::function<void()>& work) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit processor{seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &processor);
    alarm(20 * seconds);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && !report.failure[0])
    put(report.failure, sizeof report.failure,
        WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU
            ? "does not end"
            : std::string("crash: ") + strsignal(WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && !report.failure[0])
    put(report.failure, sizeof report.failure,
        "the process ended with " + std::to_string(WEXITSTATUS(status)));
}

void run_one(Report& report, std::uint64_t seed, const std::vector<fuzz::Move>& moves,
             const fuzz::OracleOptions& options) {
  report.seed = seed;
  const fuzz::Outcome outcome = fuzz::run(fuzz::make_subject(seed), moves, seed, options);
  report.accepted += outcome.accepted;
  report.refused += outcome.refused;
  put(report.steps, sizeof report.steps, outcome.steps);
  put(report.failure, sizeof report.failure, outcome.failure);
}

void explain(Report& report, const fuzz::OracleOptions& options) {
  const std::uint64_t seed = report.seed;
  const std::string kind = fuzz::kind_of(report.failure);
  auto attempt = [&](const std::vector<fuzz::Move>& moves) {
    report.failure[0] = report.steps[0] = 0;
    in_child(report, 20, [&] { run_one(report, seed, moves, options); });
    return fuzz::kind_of(report.failure) == kind;
  };
  const std::vector<fuzz::Move> moves = fuzz::shrink(fuzz::moves_of(seed), attempt);
  attempt(moves);
  std::cout << "\n---- fuzz_schedule --seed " << seed << " fails: " << report.failure << "\nwith the moves";
  for (const fuzz::Move& m : moves) std::cout << " " << fuzz::name_of(m);
  const fuzz::Subject subject = fuzz::make_subject(seed);
  std::cout << ", as C++ on " << subject.what << ":\n"
            << report.steps << to_string(subject.program) << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs random schedules against the interpreter.");
  std::uint64_t seed = 1, count = 1, stop_after = 10;
  bool no_compile = false, here = false;
  app.add_option("--seed", seed, "the first seed")->capture_default_str();
  app.add_option("--count", count, "how many seeds")->capture_default_str();
  app.add_option("--stop-after", stop_after, "failures that are explained before it gives up")
      ->capture_default_str();
  app.add_flag("--no-compile", no_compile, "interpret only");
  app.add_flag("--here", here, "one seed in this process, for a debugger; nothing is shrunk");
  CLI11_PARSE(app, argc, argv);
  const fuzz::OracleOptions options{!no_compile};

  if (here) {
    const fuzz::Outcome outcome = fuzz::run(fuzz::make_subject(seed), fuzz::moves_of(seed), seed, options);
    std::cout << outcome.failure << "\n" << outcome.steps;
    return outcome.failure.empty() ? 0 : 1;
  }

  auto* report = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (report == MAP_FAILED) return 2;
  new (report) Report();
  std::map<std::string, int> kinds;
  std::uint64_t failed = 0, next = seed;
  while (next < seed + count && failed < stop_after) {
    // A child runs seeds until one fails.
    const std::uint64_t end = std::min(seed + count, next + 200);
    in_child(*report, 300, [&] {
      for (std::uint64_t s = next; s < end; ++s) {
        run_one(*report, s, fuzz::moves_of(s), options);
        if (report->failure[0]) _exit(0);
      }
    });
    next = report->seed + 1;
    if (!report->failure[0]) continue;
    ++failed;
    ++kinds[fuzz::kind_of(report->failure)];
    const std::uint64_t accepted = report->accepted, refused = report->refused;
    explain(*report, options);
    report->failure[0] = 0;
    report->accepted = accepted;
    report->refused = refused;
  }
  std::cout << next - seed << " schedules, " << report->accepted << " steps accepted, " << report->refused
            << " refused, " << failed << " failed\n";
  for (const auto& [kind, times] : kinds) std::cout << "  " << times << " x " << kind << "\n";
  return failed ? 1 : 0;
}
