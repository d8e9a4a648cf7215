#include "target/cpuid.h"

#include <algorithm>

#include "target/features.h"

namespace lathe {
namespace {

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

std::vector<std::string> features_of(const CpuidAnswers& cpu) {
  const std::vector<std::string_view> reported = runtime::reported_features(cpu);
  std::vector<std::string> features(reported.begin(), reported.end());
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
