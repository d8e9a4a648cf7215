#include "runtime/cgroup.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace lathe::runtime {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kUnlimited;
  std::istringstream number(quota);
  double value = 0;
  return number >> value && value > 0 ? value / period : kUnlimited;
}

double quota_v1(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return kUnlimited;
  return quota / period;
}

/// The smallest of `quota_of` over `mount`/path and every folder above it, down to `mount` itself.
template <typename QuotaOf>
double smallest(const std::string& mount, std::string path, QuotaOf quota_of) {
  double least = kUnlimited;
  while (true) {
    least = std::min(least, quota_of(mount + path));
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool lists_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

}  // namespace

double cgroup_cpu_quota(std::string_view membership, const std::string& root) {
  double least = kUnlimited;
  std::istringstream lines{std::string(membership)};
  for (std::string line; std::getline(lines, line);) {  // "hierarchy:controllers:path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers.empty()) {
      least = std::min(least, smallest(root, path, quota_v2));
    } else if (lists_controller(controllers, "cpu")) {
      for (const std::string& mount : {root + "/" + controllers, root + "/cpu"}) {
        least = std::min(least, smallest(mount, path, quota_v1));
      }
    }
  }
  return least;
}

}  // namespace lathe::runtime
