#include "target/named_cpus.h"

#include <algorithm>

#include "target/features.h"

namespace lathe {
namespace {

// Cache sizes are those of the common model of each; cores are a usual count. Whoever has another model
// writes `zen3(l3_bytes=96M)`, or uses "host" on it.
const std::vector<NamedCpu> kCpus = {
    {"x86-64", {"x86-64-v1"}, "any 64-bit x86 (SSE2)", "x86_64", "x86-64", 1, {}, 32, 256, 8192, 4},
    {"x86-64-v2", {}, "x86 with SSE4.2 (2009 on)", "x86_64", "x86-64-v2", 2, {}, 32, 256, 8192, 4},
    {"x86-64-v3", {}, "x86 with AVX2 and FMA (2013 on)", "x86_64", "x86-64-v3", 3, {}, 32, 512, 16384, 4},
    {"x86-64-v4", {}, "x86 with AVX-512", "x86_64", "x86-64-v4", 4, {}, 32, 1024, 16384, 4},

    {"haswell", {}, "Intel Core 4th generation", "x86_64", "haswell", 3, {}, 32, 256, 8192, 4},
    {"broadwell", {}, "Intel Core 5th generation", "x86_64", "broadwell", 3, {}, 32, 256, 8192, 4},
    {"skylake", {}, "Intel Core 6th to 10th generation", "x86_64", "skylake", 3, {}, 32, 256, 8192, 4},
    {"skylake-avx512",
     {"skx"},
     "Intel Xeon Scalable 1st generation",
     "x86_64",
     "skylake-avx512",
     4,
     {},
     32,
     1024,
     22528,
     16},
    {"cascadelake",
     {},
     "Intel Xeon Scalable 2nd generation",
     "x86_64",
     "cascadelake",
     4,
     {"avx512vnni"},
     32,
     1024,
     36608,
     24},
    {"icelake-server",
     {"icelake", "icx"},
     "Intel Xeon Scalable 3rd generation",
     "x86_64",
     "icelake-server",
     4,
     {"avx512vnni", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq"},
     48,
     1280,
     55296,
     32},
    {"sapphirerapids",
     {"spr"},
     "Intel Xeon Scalable 4th generation",
     "x86_64",
     "sapphirerapids",
     4,
     {"avx512vnni", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
      "avx512bf16", "avx512fp16", "avxvnni", "amx-int8", "amx-bf16"},
     48,
     2048,
     107520,
     48},
    {"alderlake",
     {},
     "Intel Core 12th generation",
     "x86_64",
     "alderlake",
     3,
     {"avxvnni"},
     48,
     1280,
     30720,
     8},

    {"zen1",
     {"znver1", "zen"},
     "AMD Zen (Ryzen 1000, EPYC 7001)",
     "x86_64",
     "znver1",
     3,
     {},
     32,
     512,
     8192,
     8},
    {"zen2", {"znver2"}, "AMD Zen 2 (Ryzen 3000, EPYC 7002)", "x86_64", "znver2", 3, {}, 32, 512, 16384, 8},
    {"zen3", {"znver3"}, "AMD Zen 3 (Ryzen 5000, EPYC 7003)", "x86_64", "znver3", 3, {}, 32, 512, 32768, 8},
    {"zen4",
     {"znver4"},
     "AMD Zen 4 (Ryzen 7000, EPYC 9004)",
     "x86_64",
     "znver4",
     4,
     {"avx512vnni", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
      "avx512bf16"},
     32,
     1024,
     32768,
     8},
    {"zen5",
     {"znver5"},
     "AMD Zen 5 (Ryzen 9000, EPYC 9005)",
     "x86_64",
     "znver5",
     4,
     {"avx512vnni", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
      "avx512bf16", "avxvnni"},
     48,
     1024,
     32768,
     8},

    {"neoverse-n1",
     {},
     "Arm Neoverse N1 (Graviton 2, Altra)",
     "aarch64",
     "neoverse-n1",
     0,
     {"dotprod", "fullfp16"},
     64,
     1024,
     32768,
     64},
    {"neoverse-v1",
     {},
     "Arm Neoverse V1 (Graviton 3), as 128-bit vectors",
     "aarch64",
     "neoverse-v1",
     0,
     {"dotprod", "fullfp16", "bf16", "i8mm", "sve"},
     64,
     1024,
     32768,
     64},
    {"neoverse-v2",
     {},
     "Arm Neoverse V2 (Graviton 4, Grace)",
     "aarch64",
     "neoverse-v2",
     0,
     {"dotprod", "fullfp16", "bf16", "i8mm", "sve2"},
     64,
     2048,
     36864,
     64},
};

}  // namespace

const std::vector<NamedCpu>& named_cpus() { return kCpus; }

const NamedCpu* find_cpu(std::string_view name) {
  for (const NamedCpu& cpu : kCpus) {
    if (cpu.name == name || std::find(cpu.aliases.begin(), cpu.aliases.end(), name) != cpu.aliases.end())
      return &cpu;
  }
  return nullptr;
}

const NamedCpu* find_microarchitecture(std::string_view name) {
  for (const NamedCpu& cpu : kCpus) {
    if (cpu.microarchitecture == name) return &cpu;
  }
  return nullptr;
}

Target make_target(const NamedCpu& named) {
  CpuTarget cpu;
  cpu.arch = named.arch;
  cpu.microarchitecture = named.microarchitecture;
  cpu.features = x86_level(named.x86_level);
  if (cpu.arch == "aarch64") add_feature(cpu.features, cpu.arch, "neon");
  for (std::string_view feature : named.extra) add_feature(cpu.features, cpu.arch, feature);
  cpu.vector_bits = widest_vector(cpu.arch, cpu.features);
  cpu.vector_registers = vector_register_count(cpu.arch, cpu.features);
  cpu.l1_bytes = named.l1_kib << 10;
  cpu.l2_bytes = named.l2_kib << 10;
  cpu.l3_bytes = named.l3_kib << 10;
  cpu.cores = named.cores;
  return {std::string(named.name), std::move(cpu), {}};
}

}  // namespace lathe
