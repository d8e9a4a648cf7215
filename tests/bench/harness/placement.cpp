#include "placement.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace lathe::bench {

namespace {

void pin(pid_t thread, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(thread, sizeof set, &set);  // a thread that has just ended is no error
}

std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(entry.path().filename().string());
    if (thread != getpid()) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace

const std::vector<int>& allowed_cpus() {
  static const std::vector<int> cpus = [] {
    cpu_set_t set;
    std::vector<int> all;
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) all.push_back(cpu);
    }
    return all;
  }();
  return cpus;
}

Placement::Placement(int threads) : threads_(threads) {
  const std::vector<int>& cpus = allowed_cpus();
  const int used = std::min<int>(threads_, static_cast<int>(cpus.size()));
  pin(0, {cpus[0]});
  if (used < 2) return;
  int next = 0;
  // A pool's workers have consecutive ids, so taking turns gives each pool one worker a CPU.
  for (pid_t thread : other_threads()) pin(thread, {cpus[1 + next++ % (used - 1)]});
}

Placement::~Placement() { pin(0, allowed_cpus()); }

CpuLimit::CpuLimit(int cpus) {
  const std::vector<int>& all = allowed_cpus();
  pin(0, {all.begin(), all.begin() + std::min<std::ptrdiff_t>(cpus, std::ssize(all))});
}

CpuLimit::~CpuLimit() { pin(0, allowed_cpus()); }

}  // namespace lathe::bench
