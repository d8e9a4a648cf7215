#pragma once
// Where threads run while the clock does.
//
// The implementations of a case bring pools of their own. Left alone, the kernel sometimes places two busy
// threads on one CPU for a whole run; pinned before its pool is made, a program's workers all inherit the
// caller's CPU. So pools are made unpinned, and then every thread of the process is pinned.

#include <vector>

namespace lathe::bench {

/// The CPUs this process may use, in order, as they were when first asked.
const std::vector<int>& allowed_cpus();

/// While it lives, the calling thread is on one CPU and the process's other threads on the next `threads` - 1
/// in turn.
class Placement {
 public:
  explicit Placement(int threads);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

 private:
  int threads_;
};

/// While it lives, the calling thread may use the first so many of the allowed CPUs, as may the processes it starts.
class CpuLimit {
 public:
  explicit CpuLimit(int cpus);
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;
};

}  // namespace lathe::bench
