#include <fstream>
#include <thread>

#include "harness/report.h"

namespace lathe::bench {

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::string features() {
  std::string text;
  if (__builtin_cpu_supports("avx512f")) text += " AVX-512";
  if (__builtin_cpu_supports("avx2")) text += " AVX2";
  if (__builtin_cpu_supports("fma")) text += " FMA";
  return text;
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu =
      cpu_model() + "," + features() + ", " + std::to_string(std::thread::hardware_concurrency()) + " CPUs";
  machine.peers = peer_versions();
  return machine;
}

}  // namespace lathe::bench
