#pragma once
// The limits of CPU time and memory that control groups put on this process, v1 and v2.

#include <string>
#include <string_view>

namespace lathe::runtime {

/// CPUs' worth of time: the smallest limit among the groups that `membership` (the text of /proc/self/cgroup)
/// names and all their parents, looked up below `root` (/sys/fs/cgroup). Infinity where nothing limits. A
/// container often sees the membership path of its host but only its own subtree: folders that do not exist
/// are skipped.
double cgroup_cpu_quota(std::string_view membership, const std::string& root);
/// Bytes of memory, likewise.
double cgroup_memory_quota(std::string_view membership, const std::string& root);

}  // namespace lathe::runtime
