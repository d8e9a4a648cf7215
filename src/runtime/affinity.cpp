#include "lathe/runtime/affinity.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "runtime/cgroup.h"

namespace lathe::runtime {
namespace {

/// A cpu_set_t of a size that the kernel accepts; machines may have more than 1024 CPUs.
class CpuSet {
 public:
  explicit CpuSet(int cpus) : cpus_(cpus), set_(CPU_ALLOC(static_cast<std::size_t>(cpus))) {
    if (set_ != nullptr) CPU_ZERO_S(bytes(), set_);
  }
  ~CpuSet() {
    if (set_ != nullptr) CPU_FREE(set_);
  }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;

  std::size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus_)); }
  cpu_set_t* get() { return set_; }
  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes(), set_); }
  std::vector<int> list() const {
    std::vector<int> cpus;
    for (int cpu = 0; cpu < cpus_; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes(), set_)) cpus.push_back(cpu);
    }
    return cpus;
  }

 private:
  int cpus_;
  cpu_set_t* set_;
};

bool set_mask(const std::vector<int>& cpus) {
  if (cpus.empty() || *std::min_element(cpus.begin(), cpus.end()) < 0) return false;
  CpuSet set(*std::max_element(cpus.begin(), cpus.end()) + 1);
  if (set.get() == nullptr) return false;
  for (int cpu : cpus) set.add(cpu);
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

/// What tells the physical core of a CPU: the text of its sibling list, or its own number where unknown.
std::string core_of(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string siblings;
  return std::getline(file, siblings) && !siblings.empty() ? siblings : std::to_string(cpu);
}

struct ProcessCpus {
  std::vector<int> cpus;
  int cores = 0;

  ProcessCpus() {
    std::vector<int> siblings;
    std::set<std::string> seen;
    for (int cpu : allowed_cpus()) (seen.insert(core_of(cpu)).second ? cpus : siblings).push_back(cpu);
    cores = static_cast<int>(cpus.size());
    cpus.insert(cpus.end(), siblings.begin(), siblings.end());
  }
};

std::string cgroup_membership() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream membership;
  membership << file.rdbuf();
  return membership.str();
}

const ProcessCpus& process() {
  static const ProcessCpus cpus;
  return cpus;
}

}  // namespace

std::vector<int> allowed_cpus() {
  for (int size = 1024; size <= 1 << 20; size *= 4) {
    CpuSet set(size);
    if (set.get() == nullptr) break;
    if (sched_getaffinity(0, set.bytes(), set.get()) == 0) {
      std::vector<int> cpus = set.list();
      if (!cpus.empty()) return cpus;
      break;
    }
    if (errno != EINVAL) break;  // EINVAL: the kernel's mask is larger
  }
  std::vector<int> online(static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))));
  for (std::size_t i = 0; i < online.size(); ++i) online[i] = static_cast<int>(i);
  return online;
}

const std::vector<int>& process_cpus() { return process().cpus; }

int process_cores() { return process().cores; }

double cpu_quota() { return cgroup_cpu_quota(cgroup_membership(), "/sys/fs/cgroup"); }

double memory_quota() { return cgroup_memory_quota(cgroup_membership(), "/sys/fs/cgroup"); }

int default_num_threads() {
  const double limit = std::min(static_cast<double>(process_cores()), std::ceil(cpu_quota()));
  return std::max(1, static_cast<int>(limit));
}

bool pin_current_thread(int cpu) {
  process();  // remember the mask of the process before the first pin narrows it
  return set_mask({cpu});
}

ScopedPin::ScopedPin(int cpu) : before_(allowed_cpus()), pinned_(pin_current_thread(cpu)) {}

ScopedPin::~ScopedPin() {
  if (pinned_) set_mask(before_);
}

}  // namespace lathe::runtime
