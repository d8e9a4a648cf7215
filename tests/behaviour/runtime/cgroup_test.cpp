#include "runtime/cgroup.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "lathe/runtime/affinity.h"

using namespace lathe::runtime;

namespace {

/// A folder that looks like /sys/fs/cgroup.
class FakeCgroups {
 public:
  FakeCgroups()
      : root_(std::filesystem::temp_directory_path() /
              ("lathe_cgroup_" + std::to_string(counter_++) + "_" + std::to_string(::getpid()))) {}
  ~FakeCgroups() { std::filesystem::remove_all(root_); }
  FakeCgroups& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  double quota(const std::string& membership) const { return cgroup_cpu_quota(membership, root_.string()); }
  double memory(const std::string& membership) const {
    return cgroup_memory_quota(membership, root_.string());
  }

 private:
  static inline int counter_ = 0;
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("without a limit the quota is infinite") {
  CHECK(std::isinf(FakeCgroups().quota("0::/\n")));
  CHECK(std::isinf(FakeCgroups().file("a/cpu.max", "max 100000\n").quota("0::/a\n")));
  CHECK(std::isinf(FakeCgroups()
                       .file("cpu/a/cpu.cfs_quota_us", "-1\n")
                       .file("cpu/a/cpu.cfs_period_us", "100000\n")
                       .quota("3:cpu,cpuacct:/a\n")));
  CHECK(std::isinf(FakeCgroups().quota("")));
  CHECK(std::isinf(FakeCgroups().file("cpu.max", "nonsense").quota("garbage\n0::/x\n:::\n")));
}

TEST_CASE("the tightest limit of a version 2 group and its parents counts") {
  FakeCgroups groups;
  groups.file("cpu.max", "800000 100000\n")
      .file("a/cpu.max", "150000 100000\n")
      .file("a/b/cpu.max", "400000 100000\n");
  CHECK(groups.quota("0::/a/b\n") == 1.5);
  CHECK(groups.quota("0::/\n") == 8);
}

TEST_CASE("a container that sees only its own subtree uses the limit at the mount") {
  CHECK(FakeCgroups().file("cpu.max", "250000 100000\n").quota("0::/../kubepods/pod1/x\n") == 2.5);
}

TEST_CASE("version 1 limits are read through either name of the mount") {
  const std::string membership = "5:memory:/m\n3:cpu,cpuacct:/a\n";
  CHECK(FakeCgroups()
            .file("cpu/a/cpu.cfs_quota_us", "50000")
            .file("cpu/a/cpu.cfs_period_us", "100000")
            .quota(membership) == 0.5);
  CHECK(FakeCgroups()
            .file("cpu,cpuacct/a/cpu.cfs_quota_us", "300000")
            .file("cpu,cpuacct/a/cpu.cfs_period_us", "100000")
            .quota(membership) == 3);
}

TEST_CASE("the default number of threads is within the CPUs of the process") {
  CHECK(default_num_threads() >= 1);
  CHECK(default_num_threads() <= process_cores());
  CHECK(process_cores() <= static_cast<int>(process_cpus().size()));
}

TEST_CASE("the smallest limit of memory counts, v1 or v2") {
  CHECK(std::isinf(FakeCgroups().file("a/memory.max", "max\n").memory("0::/a\n")));
  CHECK(FakeCgroups().file("a/memory.max", "4096\n").file("a/b/memory.max", "8192\n").memory("0::/a/b\n") ==
        4096);
  CHECK(FakeCgroups().file("memory/job/memory.limit_in_bytes", "1073741824\n").memory("4:memory:/job\n") ==
        1073741824);
  CHECK(std::isinf(FakeCgroups().file("cpu/job/memory.limit_in_bytes", "1\n").memory("4:cpu:/job\n")));
}
