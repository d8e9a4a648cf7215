#include "target/features.h"

#include <algorithm>
#include <map>

#include "lathe/target.h"

namespace lathe {
namespace {

const std::vector<FeatureInfo> kX86 = {
    {"sse2", {}},
    {"sse3", {"sse2"}},
    {"ssse3", {"sse3"}},
    {"sse4.1", {"ssse3"}},
    {"sse4.2", {"sse4.1"}},
    {"popcnt", {}},
    {"bmi", {}},
    {"bmi2", {}},
    {"lzcnt", {}},
    {"movbe", {}},
    {"avx", {"sse4.2"}},
    {"f16c", {"avx"}},
    {"fma", {"avx"}},
    {"avx2", {"avx"}},
    {"avxvnni", {"avx2"}},
    {"avx512f", {"avx2", "fma", "f16c"}},
    {"avx512bw", {"avx512f"}},
    {"avx512cd", {"avx512f"}},
    {"avx512dq", {"avx512f"}},
    {"avx512vl", {"avx512f"}},
    {"avx512ifma", {"avx512f"}},
    {"avx512vbmi", {"avx512bw"}},
    {"avx512vbmi2", {"avx512bw"}},
    {"avx512vnni", {"avx512f"}},
    {"avx512bitalg", {"avx512bw"}},
    {"avx512vpopcntdq", {"avx512f"}},
    {"avx512bf16", {"avx512bw"}},
    {"avx512fp16", {"avx512bw", "avx512dq", "avx512vl"}},
    {"amx-tile", {}},
    {"amx-int8", {"amx-tile"}},
    {"amx-bf16", {"amx-tile"}},
};

const std::vector<FeatureInfo> kArm = {
    {"neon", {}},       {"dotprod", {"neon"}}, {"fullfp16", {"neon"}}, {"bf16", {"neon"}},
    {"i8mm", {"neon"}}, {"sve", {"fullfp16"}}, {"sve2", {"sve"}},
};

bool contains(const std::vector<std::string>& features, std::string_view name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

const FeatureInfo* find(std::string_view arch, std::string_view name) {
  for (const FeatureInfo& info : feature_table(arch)) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace

const std::vector<FeatureInfo>& feature_table(std::string_view arch) {
  static const std::vector<FeatureInfo> none;
  return arch == "x86_64" ? kX86 : arch == "aarch64" ? kArm : none;
}

const std::vector<std::string>& cpu_features(std::string_view arch) {
  static const auto names_of = [](std::string_view arch) {
    std::vector<std::string> names;
    for (const FeatureInfo& info : feature_table(arch)) names.emplace_back(info.name);
    std::sort(names.begin(), names.end());
    return names;
  };
  static const std::vector<std::string> x86 = names_of("x86_64"), arm = names_of("aarch64"), none;
  return arch == "x86_64" ? x86 : arch == "aarch64" ? arm : none;
}

void add_feature(std::vector<std::string>& features, std::string_view arch, std::string_view name) {
  const FeatureInfo* info = find(arch, name);
  if (info == nullptr || contains(features, name)) return;
  for (std::string_view needed : info->needs) add_feature(features, arch, needed);
  features.insert(std::lower_bound(features.begin(), features.end(), name), std::string(name));
}

void remove_feature(std::vector<std::string>& features, std::string_view arch, std::string_view name) {
  std::erase(features, name);
  for (const FeatureInfo& info : feature_table(arch)) {
    const bool needs_it = std::find(info.needs.begin(), info.needs.end(), name) != info.needs.end();
    if (needs_it && contains(features, info.name)) remove_feature(features, arch, info.name);
  }
}

std::vector<std::string> x86_level(int level) {
  static const std::vector<std::vector<std::string_view>> added = {
      {"sse2"},
      {"sse4.2", "popcnt"},
      {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
      {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
  };
  std::vector<std::string> features;
  for (int i = 0; i < level; ++i) {
    for (std::string_view name : added[static_cast<std::size_t>(i)]) add_feature(features, "x86_64", name);
  }
  return features;
}

std::int64_t widest_vector(std::string_view arch, const std::vector<std::string>& features) {
  if (arch != "x86_64") return 128;
  return contains(features, "avx512f") ? 512 : contains(features, "avx") ? 256 : 128;
}

std::int64_t vector_register_count(std::string_view arch, const std::vector<std::string>& features) {
  return arch == "x86_64" && !contains(features, "avx512f") ? 16 : 32;
}

}  // namespace lathe
