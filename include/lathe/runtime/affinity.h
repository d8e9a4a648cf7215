#pragma once
// Which CPUs this process may use, and pinning threads to them.
//
// Three numbers are easily confused: the CPUs that are online, those in the affinity mask (taskset, cpusets,
// a batch system), and the CPU time that a cgroup's quota allows (containers). Threads beyond the last two
// only get in each other's way, so everything in Lathe that needs "how many" asks default_num_threads().

#include <vector>

namespace lathe::runtime {

/// Logical CPUs that the calling thread may run on now, ascending. Never empty.
std::vector<int> allowed_cpus();

/// Logical CPUs that the process could use before any thread was pinned by the functions below: one of each
/// physical core first, then their hyper-thread siblings.
const std::vector<int>& process_cpus();

/// Physical cores among process_cpus().
int process_cores();

/// CPUs' worth of time that the process's cgroups allow; infinity without a limit.
double cpu_quota();

/// Bytes of memory that they allow, likewise.
double memory_quota();

/// Threads that can make progress at once: min(process_cores(), cpu_quota() rounded up), at least 1.
int default_num_threads();

/// Pins the calling thread to one CPU; false (and no change) when that CPU is not allowed.
bool pin_current_thread(int cpu);

/// Pins the calling thread while it lives, then gives it its old mask back. Threads made meanwhile inherit
/// the pin, those of Lathe's own pool excepted.
class ScopedPin {
 public:
  explicit ScopedPin(int cpu);
  ~ScopedPin();
  ScopedPin(const ScopedPin&) = delete;
  ScopedPin& operator=(const ScopedPin&) = delete;
  bool pinned() const { return pinned_; }

 private:
  std::vector<int> before_;
  bool pinned_ = false;
};

}  // namespace lathe::runtime
