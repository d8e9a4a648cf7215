#include "runtime/cpu_features.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lathe/runtime/c_api.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace lathe::runtime {
namespace {

// The numbers of the features: their positions. New ones are added at the end.
constexpr std::string_view kX86[] = {"sse2",         "sse3",
                                     "ssse3",        "sse4.1",
                                     "sse4.2",       "popcnt",
                                     "movbe",        "bmi",
                                     "bmi2",         "lzcnt",
                                     "avx",          "f16c",
                                     "fma",          "avx2",
                                     "avxvnni",      "avx512f",
                                     "avx512dq",     "avx512ifma",
                                     "avx512cd",     "avx512bw",
                                     "avx512vl",     "avx512vbmi",
                                     "avx512vbmi2",  "avx512vnni",
                                     "avx512bitalg", "avx512vpopcntdq",
                                     "avx512fp16",   "avx512bf16",
                                     "amx-bf16",     "amx-tile",
                                     "amx-int8"};
constexpr std::string_view kArm[] = {"neon", "dotprod", "fullfp16", "bf16", "i8mm", "sve", "sve2"};

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

/// What the hardware and the system have, as bits.
std::uint64_t detect() {
  std::uint64_t bits = 0;
#if defined(__x86_64__)
  for (std::string_view name : reported_features(ask_cpuid()))
    bits |= feature_bit("x86_64", name).value_or(0);
#elif defined(__aarch64__)
  // As asm/hwcap.h of the Linux kernel numbers them, in the order of kArm.
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  const bool present[] = {bit(first, 1),   bit(first, 20), bit(first, 10), bit(second, 14),
                          bit(second, 13), bit(first, 22), bit(second, 1)};
  for (std::size_t i = 0; i < std::size(present); ++i) bits |= std::uint64_t{present[i]} << i;
#endif
  return bits;
}

std::atomic<std::uint64_t> g_allowed{~std::uint64_t{0}};

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

std::vector<std::string_view> reported_features(const CpuidAnswers& cpu) {
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
  std::vector<std::string_view> present;
  for (const Answer& answer : answers)
    if (answer.present) present.push_back(answer.name);
  return present;
}

std::optional<std::uint64_t> feature_bit(std::string_view arch, std::string_view feature) {
  auto find = [&](const auto& table) -> std::optional<std::uint64_t> {
    const auto found = std::find(std::begin(table), std::end(table), feature);
    if (found == std::end(table)) return std::nullopt;
    return std::uint64_t{1} << (found - std::begin(table));
  };
  return arch == "x86_64" ? find(kX86) : arch == "aarch64" ? find(kArm) : std::nullopt;
}

}  // namespace lathe::runtime

extern "C" {

std::uint64_t lathe_cpu_features(void) {
  static const std::uint64_t detected = lathe::runtime::detect();
  return detected & lathe::runtime::g_allowed.load(std::memory_order_relaxed);
}

void lathe_limit_cpu_features(std::uint64_t allowed) {
  lathe::runtime::g_allowed.store(allowed, std::memory_order_relaxed);
}

const std::int32_t LATHE_RUNTIME_ABI_SYMBOL = LATHE_RUNTIME_ABI;

}  // extern "C"
