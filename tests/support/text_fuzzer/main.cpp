// fuzz_text: any number of damaged texts.
//
//   fuzz_text --seed 1 --count 10000              seeds 1 .. 10000 of every format
//   fuzz_text --format trace --seed 4711 --here   one in this process, for a debugger
//
// Seeds run in child processes, so that a crash or a hang is a failure of its seed like any other. Ends with 1 when a seed
// failed.

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>

#include "support/text_fuzzer/formats.h"

namespace {

using namespace lathe;

/// What a child tells its parent; shared memory survives its crash.
struct Report {
  std::uint64_t seed = 0;  ///< being tried
  std::uint64_t accepted = 0, refused = 0;
  char failure[1 << 14] = "";  ///< of `seed`
};

void try_seed(const fuzz::Format& format, std::uint64_t seed, Report& report) {
  report.seed = seed;
  std::size_t sample = 0;
  const std::string text = fuzz::input_of(format, seed, sample);
  const fuzz::Outcome outcome = fuzz::try_text(format, text, sample);
  ++(outcome.accepted ? report.accepted : report.refused);
  std::strncpy(report.failure, outcome.failure.c_str(), sizeof report.failure - 1);
}

/// Tries seeds from `first` on in a child, until one fails.
void try_in_child(const fuzz::Format& format, std::uint64_t first, std::uint64_t end, Report& report) {
  std::cout.flush();
  report.failure[0] = 0;
  report.seed = first;
  const pid_t child = fork();
  if (child == 0) {
    for (std::uint64_t seed = first; seed < end && !report.failure[0]; ++seed) {
      const rlim_t until = static_cast<rlim_t>(std::clock() / CLOCKS_PER_SEC) + 20;  // seconds for each
      const rlimit processor{until, until + 1};
      setrlimit(RLIMIT_CPU, &processor);
      try_seed(format, seed, report);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (report.failure[0]) return;
  if (WIFSIGNALED(status))
    std::strcpy(report.failure, WTERMSIG(status) == SIGXCPU ? "does not end" : strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    std::strcpy(report.failure, "the process ended by itself");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads damaged texts.");
  std::uint64_t seed = 1, count = 1, stop_after = 10;
  std::string only;
  bool here = false;
  app.add_option("--format", only, "of one format alone");
  app.add_option("--seed", seed, "the first seed")->capture_default_str();
  app.add_option("--count", count, "how many seeds of each format")->capture_default_str();
  app.add_option("--stop-after", stop_after, "failures of a format before it is given up")
      ->capture_default_str();
  app.add_flag("--here", here, "in this process, for a debugger");
  CLI11_PARSE(app, argc, argv);

  auto* report = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (report == MAP_FAILED) return 2;
  new (report) Report();
  bool failed = false;
  for (const fuzz::Format& format : fuzz::formats()) {
    if (!only.empty() && format.name != only) continue;
    if (here) {
      std::size_t sample = 0;
      std::cout << fuzz::input_of(format, seed, sample) << std::endl;
      try_seed(format, seed, *report);
      std::cout << format.name << ": " << report->failure << "\n";
      continue;
    }
    report->accepted = report->refused = 0;
    std::uint64_t failures = 0, next = seed;
    while (next < seed + count && failures < stop_after) {
      try_in_child(format, next, std::min(seed + count, next + 100), *report);
      next = report->seed + 1;
      if (!report->failure[0]) continue;
      ++failures;
      std::cout << "fuzz_text --format " << format.name << " --seed " << report->seed << ": "
                << report->failure << "\n";
    }
    std::cout << format.name << ": " << next - seed << " texts, " << report->accepted << " accepted, "
              << report->refused << " refused, " << failures << " failed" << std::endl;
    failed |= failures > 0;
  }
  return failed ? 1 : 0;
}
