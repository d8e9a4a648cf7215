#include "target/cpuid.h"

#include <algorithm>
#include <cstring>

#include "target/features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lathe {
namespace {

bool bit(std::uint64_t word, int index) { return (word >> index & 1) != 0; }

#if defined(__x86_64__)
struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// All zero for a leaf the CPU does not have.
Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

std::uint64_t read_xcr0() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

/// Intel's leaf 4 and AMD's 0x8000001D have one layout.
std::vector<CpuidAnswers::Cache> read_caches(std::uint32_t leaf) {
  std::vector<CpuidAnswers::Cache> caches;
  for (std::uint32_t i = 0; i < 16; ++i) {
    const Registers r = cpuid(leaf, i);
    const std::uint32_t type = r.eax & 31;
    if (type == 0) break;
    const std::int64_t line = (r.ebx & 0xFFF) + 1;
    const std::int64_t partitions = (r.ebx >> 12 & 0x3FF) + 1, ways = (r.ebx >> 22) + 1;
    const std::int64_t sets = std::int64_t{r.ecx} + 1;
    caches.push_back({static_cast<int>(r.eax >> 5 & 7), type != 2, line * partitions * ways * sets, line});
  }
  return caches;
}
#endif

struct Known {
  std::string_view vendor;
  int family, first_model, last_model;
  std::string_view name;
};

// Models as in the vendors' revision guides and in LLVM's and GCC's own tables.
constexpr Known kKnown[] = {
    {"AuthenticAMD", 0x17, 0x00, 0x2F, "znver1"},      {"HygonGenuine", 0x18, 0x00, 0xFF, "znver1"},
    {"AuthenticAMD", 0x17, 0x30, 0xFF, "znver2"},      {"AuthenticAMD", 0x19, 0x00, 0x0F, "znver3"},
    {"AuthenticAMD", 0x19, 0x10, 0x1F, "znver4"},      {"AuthenticAMD", 0x19, 0x20, 0x5F, "znver3"},
    {"AuthenticAMD", 0x19, 0x60, 0xAF, "znver4"},      {"AuthenticAMD", 0x1A, 0x00, 0x7F, "znver5"},
    {"GenuineIntel", 6, 0x3C, 0x3C, "haswell"},        {"GenuineIntel", 6, 0x3F, 0x3F, "haswell"},
    {"GenuineIntel", 6, 0x45, 0x46, "haswell"},        {"GenuineIntel", 6, 0x3D, 0x3D, "broadwell"},
    {"GenuineIntel", 6, 0x47, 0x47, "broadwell"},      {"GenuineIntel", 6, 0x4F, 0x4F, "broadwell"},
    {"GenuineIntel", 6, 0x56, 0x56, "broadwell"},      {"GenuineIntel", 6, 0x4E, 0x4E, "skylake"},
    {"GenuineIntel", 6, 0x5E, 0x5E, "skylake"},        {"GenuineIntel", 6, 0x8E, 0x8E, "skylake"},
    {"GenuineIntel", 6, 0x9E, 0x9E, "skylake"},        {"GenuineIntel", 6, 0xA5, 0xA6, "skylake"},
    {"GenuineIntel", 6, 0x55, 0x55, "skylake-avx512"}, {"GenuineIntel", 6, 0x7D, 0x7E, "icelake-client"},
    {"GenuineIntel", 6, 0x6A, 0x6A, "icelake-server"}, {"GenuineIntel", 6, 0x6C, 0x6C, "icelake-server"},
    {"GenuineIntel", 6, 0xA7, 0xA7, "rocketlake"},     {"GenuineIntel", 6, 0x8C, 0x8D, "tigerlake"},
    {"GenuineIntel", 6, 0x97, 0x97, "alderlake"},      {"GenuineIntel", 6, 0x9A, 0x9A, "alderlake"},
    {"GenuineIntel", 6, 0xB7, 0xB7, "raptorlake"},     {"GenuineIntel", 6, 0xBA, 0xBA, "raptorlake"},
    {"GenuineIntel", 6, 0xBF, 0xBF, "raptorlake"},     {"GenuineIntel", 6, 0xAA, 0xAA, "meteorlake"},
    {"GenuineIntel", 6, 0x8F, 0x8F, "sapphirerapids"}, {"GenuineIntel", 6, 0xCF, 0xCF, "emeraldrapids"},
    {"GenuineIntel", 6, 0xAD, 0xAD, "graniterapids"},
};

std::string level_name(const std::vector<std::string>& features) {
  for (int level = 4; level > 1; --level) {
    const std::vector<std::string> needed = x86_level(level);
    if (std::includes(features.begin(), features.end(), needed.begin(), needed.end())) {
      return "x86-64-v" + std::to_string(level);
    }
  }
  return "x86-64";
}

}  // namespace

int CpuidAnswers::family() const {
  const int base = static_cast<int>(signature >> 8 & 15);
  return base == 15 ? base + static_cast<int>(signature >> 20 & 255) : base;
}

int CpuidAnswers::model() const {
  const int base = static_cast<int>(signature >> 4 & 15), base_family = static_cast<int>(signature >> 8 & 15);
  return base_family == 15 || base_family == 6 ? base + (static_cast<int>(signature >> 16 & 15) << 4) : base;
}

CpuidAnswers ask_cpuid() {
  CpuidAnswers answers;
#if defined(__x86_64__)
  const Registers leaf0 = cpuid(0), leaf1 = cpuid(1), leaf7 = cpuid(7), extended = cpuid(0x80000001);
  char vendor[12];
  std::memcpy(vendor, &leaf0.ebx, 4);
  std::memcpy(vendor + 4, &leaf0.edx, 4);
  std::memcpy(vendor + 8, &leaf0.ecx, 4);
  answers.vendor.assign(vendor, 12);
  answers.signature = leaf1.eax;
  answers.leaf1_ecx = leaf1.ecx;
  answers.leaf1_edx = leaf1.edx;
  answers.leaf7_ebx = leaf7.ebx;
  answers.leaf7_ecx = leaf7.ecx;
  answers.leaf7_edx = leaf7.edx;
  if (leaf7.eax >= 1) answers.leaf7_1_eax = cpuid(7, 1).eax;
  answers.extended_ecx = extended.ecx;
  if (bit(leaf1.ecx, 27)) answers.enabled_state = read_xcr0();  // OSXSAVE
  answers.caches = read_caches(4);
  if (answers.caches.empty()) answers.caches = read_caches(0x8000001D);
#endif
  return answers;
}

std::vector<std::string> features_of(const CpuidAnswers& cpu) {
  constexpr std::uint64_t kYmm = 0x6, kZmm = 0xE6, kTiles = 0x60000;
  const bool ymm = (cpu.enabled_state & kYmm) == kYmm;
  const bool zmm = (cpu.enabled_state & kZmm) == kZmm;
  const bool tiles = (cpu.enabled_state & kTiles) == kTiles;
  struct Answer {
    std::string_view name;
    bool present;
  };
  const Answer answers[] = {
      {"sse2", bit(cpu.leaf1_edx, 26)},
      {"sse3", bit(cpu.leaf1_ecx, 0)},
      {"ssse3", bit(cpu.leaf1_ecx, 9)},
      {"sse4.1", bit(cpu.leaf1_ecx, 19)},
      {"sse4.2", bit(cpu.leaf1_ecx, 20)},
      {"popcnt", bit(cpu.leaf1_ecx, 23)},
      {"movbe", bit(cpu.leaf1_ecx, 22)},
      {"bmi", bit(cpu.leaf7_ebx, 3)},
      {"bmi2", bit(cpu.leaf7_ebx, 8)},
      {"lzcnt", bit(cpu.extended_ecx, 5)},
      {"avx", ymm && bit(cpu.leaf1_ecx, 28)},
      {"f16c", ymm && bit(cpu.leaf1_ecx, 29)},
      {"fma", ymm && bit(cpu.leaf1_ecx, 12)},
      {"avx2", ymm && bit(cpu.leaf7_ebx, 5)},
      {"avxvnni", ymm && bit(cpu.leaf7_1_eax, 4)},
      {"avx512f", zmm && bit(cpu.leaf7_ebx, 16)},
      {"avx512dq", zmm && bit(cpu.leaf7_ebx, 17)},
      {"avx512ifma", zmm && bit(cpu.leaf7_ebx, 21)},
      {"avx512cd", zmm && bit(cpu.leaf7_ebx, 28)},
      {"avx512bw", zmm && bit(cpu.leaf7_ebx, 30)},
      {"avx512vl", zmm && bit(cpu.leaf7_ebx, 31)},
      {"avx512vbmi", zmm && bit(cpu.leaf7_ecx, 1)},
      {"avx512vbmi2", zmm && bit(cpu.leaf7_ecx, 6)},
      {"avx512vnni", zmm && bit(cpu.leaf7_ecx, 11)},
      {"avx512bitalg", zmm && bit(cpu.leaf7_ecx, 12)},
      {"avx512vpopcntdq", zmm && bit(cpu.leaf7_ecx, 14)},
      {"avx512fp16", zmm && bit(cpu.leaf7_edx, 23)},
      {"avx512bf16", zmm && bit(cpu.leaf7_1_eax, 5)},
      {"amx-bf16", tiles && bit(cpu.leaf7_edx, 22)},
      {"amx-tile", tiles && bit(cpu.leaf7_edx, 24)},
      {"amx-int8", tiles && bit(cpu.leaf7_edx, 25)},
  };
  std::vector<std::string> features;
  for (const Answer& answer : answers) {
    if (answer.present) features.emplace_back(answer.name);
  }
  std::sort(features.begin(), features.end());
  // A hypervisor may show a feature without what it rests on: then it cannot be used either.
  for (const FeatureInfo& info : feature_table("x86_64")) {
    for (std::string_view needed : info.needs) {
      if (std::find(features.begin(), features.end(), needed) == features.end()) {
        remove_feature(features, "x86_64", info.name);
      }
    }
  }
  return features;
}

std::string microarchitecture_of(const CpuidAnswers& cpu, const std::vector<std::string>& features) {
  const auto has = [&](std::string_view name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  for (const Known& known : kKnown) {
    const bool matches = known.vendor == cpu.vendor && known.family == cpu.family() &&
                         known.first_model <= cpu.model() && cpu.model() <= known.last_model;
    if (!matches) continue;
    if (known.name == "skylake-avx512" && has("avx512bf16")) return "cooperlake";
    if (known.name == "skylake-avx512" && has("avx512vnni")) return "cascadelake";
    return std::string(known.name);
  }
  return level_name(features);
}

}  // namespace lathe
