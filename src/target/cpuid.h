#pragma once
// What an x86 CPU says of itself.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lathe/target.h"

namespace lathe {

/// The parts of cpuid that matter here, as data, so that any CPU's answers can be tested on any other.
struct CpuidAnswers {
  std::string vendor;           ///< "AuthenticAMD", "GenuineIntel", ...
  std::uint32_t signature = 0;  ///< leaf 1, eax: family, model, stepping
  std::uint32_t leaf1_ecx = 0, leaf1_edx = 0;
  std::uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;    ///< leaf 7, subleaf 1
  std::uint32_t extended_ecx = 0;   ///< leaf 0x80000001
  std::uint64_t enabled_state = 0;  ///< XCR0: what the system saves on a task switch
  struct Cache {
    int level;
    bool data;  ///< data or unified
    std::int64_t bytes, line;
  };
  std::vector<Cache> caches;  ///< leaf 4 or 0x8000001D

  int family() const;
  int model() const;
  int stepping() const { return static_cast<int>(signature & 15); }
};

/// Asks the CPU this runs on; all empty where it is no x86.
CpuidAnswers ask_cpuid();

/// The features of feature_table("x86_64") that the CPU has and the system has enabled, sorted.
std::vector<std::string> features_of(const CpuidAnswers& cpu);

/// LLVM's name; the level of the psABI ("x86-64-v3") for a CPU that is not in our list.
std::string microarchitecture_of(const CpuidAnswers& cpu, const std::vector<std::string>& features);

}  // namespace lathe
