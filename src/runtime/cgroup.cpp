#include "runtime/cgroup.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace lathe::runtime {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// A file of one number; anything else, "max" too, is no limit.
double number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value && value > 0 ? value : kUnlimited;
}

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
  const double quota = number_in(folder + "/cpu.cfs_quota_us"),
               period = number_in(folder + "/cpu.cfs_period_us");
  return quota == kUnlimited || period == kUnlimited ? kUnlimited : quota / period;
}

double memory_v2(const std::string& folder) { return number_in(folder + "/memory.max"); }
double memory_v1(const std::string& folder) { return number_in(folder + "/memory.limit_in_bytes"); }

/// The smallest of `quota_of` over `mount`/path and every folder above it, down to `mount` itself.
double smallest(const std::string& mount, std::string path, double (*quota_of)(const std::string&)) {
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

/// The smallest limit of the groups in `membership`, and of those that they are in.
double least_limit(std::string_view membership, const std::string& root, const std::string& controller,
                   double (*v2)(const std::string&), double (*v1)(const std::string&)) {
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
      least = std::min(least, smallest(root, path, v2));
    } else if (lists_controller(controllers, controller)) {
      for (const std::string& mount : {root + "/" + controllers, root + "/" + controller})
        least = std::min(least, smallest(mount, path, v1));
    }
  }
  return least;
}

}  // namespace

double cgroup_cpu_quota(std::string_view membership, const std::string& root) {
  return least_limit(membership, root, "cpu", quota_v2, quota_v1);
}

double cgroup_memory_quota(std::string_view membership, const std::string& root) {
  return least_limit(membership, root, "memory", memory_v2, memory_v1);
}

}  // namespace lathe::runtime
