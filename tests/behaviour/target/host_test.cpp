#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "lathe/target.h"
#include "target/cpuid.h"
#include "target/features.h"
#include "target/host_caches.h"
#include "target/named_gpus.h"

using namespace lathe;

namespace {

/// Answers of an imaginary CPU with every feature bit set, all state enabled.
CpuidAnswers everything(std::string vendor, std::uint32_t signature) {
  CpuidAnswers cpu;
  cpu.vendor = std::move(vendor);
  cpu.signature = signature;
  cpu.leaf1_ecx = cpu.leaf1_edx = cpu.leaf7_ebx = cpu.leaf7_ecx = cpu.leaf7_edx = cpu.leaf7_1_eax =
      cpu.extended_ecx = ~0u;
  cpu.enabled_state = ~0ull;
  return cpu;
}

#if defined(__x86_64__)
std::set<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}
#endif

}  // namespace

TEST_CASE("the host is a valid target, the same at every look") {
  const Target host = Target::host();
  CHECK_NOTHROW(host.validate());
  CHECK(host.cpu().cores >= 1);
  CHECK(host.cpu().l1_bytes >= 8 << 10);
  CHECK(Target::parse("host") == host);
  CHECK(Target::parse("cpu") == host);
  CHECK(Target::parse("cpu(cores=4)").cpu().cores == 4);
  CHECK(Target::from_json(host.to_json()) == host);
}

#if defined(__x86_64__)
TEST_CASE("cpuid and the kernel agree on the features of this machine") {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) return;
  const std::map<std::string, std::string> kernel_name = {
      {"sse3", "pni"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"bmi", "bmi1"},
      {"lzcnt", "abm"},
      {"avxvnni", "avx_vnni"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"},
      {"amx-tile", "amx_tile"},
      {"amx-int8", "amx_int8"},
      {"amx-bf16", "amx_bf16"},
  };
  const CpuTarget host = Target::host().cpu();
  for (const std::string& feature : cpu_features("x86_64")) {
    const auto found = kernel_name.find(feature);
    INFO(feature);
    CHECK(host.has(feature) == (flags.count(found == kernel_name.end() ? feature : found->second) == 1));
  }
}
#endif

TEST_CASE("features need what the operating system saves") {
  CpuidAnswers cpu = everything("GenuineIntel", 0x806F8);
  CHECK(features_of(cpu) == cpu_features("x86_64"));
  cpu.enabled_state = 0x7;  // no AVX-512 state, no tiles
  std::vector<std::string> features = features_of(cpu);
  CHECK(std::count(features.begin(), features.end(), "avx2") == 1);
  CHECK(std::none_of(features.begin(), features.end(),
                     [](const std::string& f) { return f.rfind("avx512", 0) == 0; }));
  CHECK(std::none_of(features.begin(), features.end(),
                     [](const std::string& f) { return f.rfind("amx", 0) == 0; }));
  cpu.enabled_state = 0x3;
  features = features_of(cpu);
  CHECK(std::none_of(features.begin(), features.end(),
                     [](const std::string& f) { return f.rfind("avx", 0) == 0; }));
  CHECK(std::count(features.begin(), features.end(), "sse4.2") == 1);
}

TEST_CASE("a feature that a hypervisor shows without its base is not used") {
  CpuidAnswers cpu = everything("GenuineIntel", 0x50654);
  cpu.leaf1_ecx &= ~(1u << 12);  // no fma
  const std::vector<std::string> features = features_of(cpu);
  CHECK(std::none_of(features.begin(), features.end(),
                     [](const std::string& f) { return f.rfind("avx512", 0) == 0; }));
  CHECK(std::count(features.begin(), features.end(), "avx2") == 1);
}

TEST_CASE("signatures name the microarchitecture") {
  struct Case {
    const char* vendor;
    std::uint32_t signature;
    const char* name;
  };
  const Case cases[] = {
      {"AuthenticAMD", 0x00800F12, "znver1"},  // EPYC 7001
      {"AuthenticAMD", 0x00830F10, "znver2"},  // EPYC 7002
      {"AuthenticAMD", 0x00A00F11, "znver3"},  // EPYC 7003
      {"AuthenticAMD", 0x00A20F10, "znver3"},  // Ryzen 5000
      {"AuthenticAMD", 0x00A10F11, "znver4"},  // EPYC 9004
      {"AuthenticAMD", 0x00A60F12, "znver4"},  // Ryzen 7000
      {"AuthenticAMD", 0x00B00F21, "znver5"},  // EPYC 9005
      {"GenuineIntel", 0x000306C3, "haswell"},        {"GenuineIntel", 0x000406F1, "broadwell"},
      {"GenuineIntel", 0x000906EA, "skylake"},        {"GenuineIntel", 0x000606A6, "icelake-server"},
      {"GenuineIntel", 0x000806F8, "sapphirerapids"}, {"GenuineIntel", 0x00090672, "alderlake"},
  };
  for (const Case& c : cases) {
    const CpuidAnswers cpu = everything(c.vendor, c.signature);
    INFO(c.name);
    CHECK(microarchitecture_of(cpu, features_of(cpu)) == c.name);
  }
}

TEST_CASE("one signature of Xeon is three microarchitectures, told apart by their features") {
  CpuidAnswers cpu = everything("GenuineIntel", 0x50657);
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "cooperlake");
  cpu.leaf7_1_eax = 0;
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "cascadelake");
  cpu.leaf7_ecx = 0;
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "skylake-avx512");
}

TEST_CASE("an unknown CPU is the level that its features reach") {
  CpuidAnswers cpu = everything("ImaginaryCPU", 0x00F00FFF);
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "x86-64-v4");
  cpu.enabled_state = 7;
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "x86-64-v3");
  cpu.leaf7_ebx = 0;
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "x86-64-v2");
  cpu.leaf1_ecx = 0;
  CHECK(microarchitecture_of(cpu, features_of(cpu)) == "x86-64");
}

TEST_CASE("cache sizes come from the kernel's folders, instruction caches left out") {
  const auto root = std::filesystem::temp_directory_path() / ("lathe_cache_" + std::to_string(::getpid()));
  const auto index = [&](int i, const char* level, const char* type, const char* size) {
    const auto folder = root / ("index" + std::to_string(i));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << "\n";
    std::ofstream(folder / "type") << type << "\n";
    std::ofstream(folder / "size") << size << "\n";
    std::ofstream(folder / "coherency_line_size") << "128\n";
  };
  index(0, "1", "Data", "48K");
  index(1, "1", "Instruction", "64K");
  index(2, "2", "Unified", "1280K");
  index(3, "3", "Unified", "54M");
  CacheSizes sizes = read_cache_folder(root.string());
  CHECK(sizes.l1 == 48 << 10);
  CHECK(sizes.l2 == 1280 << 10);
  CHECK(sizes.l3 == 54 << 20);
  CHECK(sizes.line == 128);
  index(0, "x", "", "");
  CHECK(read_cache_folder(root.string()).l1 == 0);
  std::filesystem::remove_all(root);
  CHECK(read_cache_folder(root.string()).l1 == 0);
}

TEST_CASE("the driver's name of a GPU is matched by whole words") {
  const auto name_of = [](const char* driver_name) {
    const NamedGpu* gpu = find_gpu_by_driver_name(driver_name);
    return gpu == nullptr ? std::string() : std::string(gpu->name);
  };
  CHECK(name_of("NVIDIA H100 80GB HBM3") == "h100");
  CHECK(name_of("NVIDIA H100 PCIe") == "");
  CHECK(name_of("NVIDIA H200") == "h200");
  CHECK(name_of("NVIDIA A100-SXM4-80GB") == "a100");
  CHECK(name_of("NVIDIA A100-SXM4-40GB") == "a100-40g");
  CHECK(name_of("NVIDIA GeForce RTX 4090") == "rtx4090");
  CHECK(name_of("NVIDIA L4") == "l4");
  CHECK(name_of("NVIDIA L40S") == "");
  CHECK(name_of("Tesla T4") == "t4");
}

TEST_CASE("features bring what they need, and take along what needs them") {
  std::vector<std::string> features;
  add_feature(features, "x86_64", "avx512fp16");
  CHECK(std::is_sorted(features.begin(), features.end()));
  for (const char* needed : {"avx512bw", "avx512f", "avx2", "fma", "sse2"}) {
    CHECK(std::count(features.begin(), features.end(), needed) == 1);
  }
  remove_feature(features, "x86_64", "avx");
  CHECK(std::none_of(features.begin(), features.end(),
                     [](const std::string& f) { return f.rfind("avx", 0) == 0; }));
  CHECK(std::count(features.begin(), features.end(), "sse4.2") == 1);
}
