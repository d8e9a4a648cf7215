#pragma once
// What the CPU that this process runs on says of itself.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::runtime {

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

/// The features (in LLVM's spelling) that an x86 CPU has and its system has enabled; unsorted.
std::vector<std::string_view> reported_features(const CpuidAnswers& cpu);

/// The bit of a feature in `lathe_cpu_features()`; nothing for one that is not in the table. Generated objects contain
/// these numbers, so they never change.
std::optional<std::uint64_t> feature_bit(std::string_view arch, std::string_view feature);

}  // namespace lathe::runtime
