#include "lathe/target.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/error_codes/target.h"
#include "support/nearest.h"
#include "target/features.h"
#include "target/fields.h"

namespace lathe {

// ---- What follows from the features
// -----------------------------------------------------------------------------

bool CpuTarget::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}
bool CpuTarget::fma() const { return has("fma") || has("neon"); }
bool CpuTarget::converts_f16() const { return has("f16c") || has("neon"); }
bool CpuTarget::computes_f16() const { return has("avx512fp16") || has("fullfp16"); }
bool CpuTarget::computes_bf16() const { return has("avx512bf16") || has("bf16"); }

std::string CpuTarget::triple() const { return arch + "-unknown-linux-gnu"; }

std::string CpuTarget::llvm_features() const {
  std::string text;
  for (const std::string& feature : cpu_features(arch)) {
    text += (text.empty() ? "" : ",") + std::string(has(feature) ? "+" : "-") + feature;
  }
  return text;
}

// ---- Identity
// ---------------------------------------------------------------------------------------------------

std::string Target::identity() const {
  nlohmann::ordered_json json;
  json["kind"] = kind_of(*this);
  for (const FieldRef& field : fields_of(*this)) {
    if (field.role != Role::Identity) continue;
    std::visit([&](const auto* value) { json[field.path()] = *value; }, field.at);
  }
  return json.dump();
}

Digest Target::fingerprint() const { return digest_of(identity()); }

bool operator==(const Target& a, const Target& b) { return a.name == b.name && difference(a, b).empty(); }

// ---- Comparison
// -------------------------------------------------------------------------------------------------

namespace {

std::string list_without(const std::vector<std::string>& from, const std::vector<std::string>& removed) {
  std::string text;
  for (const std::string& item : from) {
    if (std::find(removed.begin(), removed.end(), item) == removed.end())
      text += (text.empty() ? "" : ", ") + item;
  }
  return text;
}

TargetDifference compare(const FieldRef& left, const FieldRef& right) {
  TargetDifference found{left.path(), value_text(left), value_text(right), left.role == Role::Identity};
  auto* const* left_list = std::get_if<std::vector<std::string>*>(&left.at);
  auto* const* right_list = std::get_if<std::vector<std::string>*>(&right.at);
  if (left_list != nullptr && right_list != nullptr) {
    found.left = list_without(**left_list, **right_list);
    found.right = list_without(**right_list, **left_list);
  }
  return found;
}

}  // namespace

std::vector<TargetDifference> difference(const Target& a, const Target& b) {
  if (a.is_cpu() != b.is_cpu()) return {{"kind", std::string(kind_of(a)), std::string(kind_of(b)), true}};
  const std::vector<FieldRef> left = fields_of(a), right = fields_of(b);
  std::vector<TargetDifference> differences;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool equal = std::visit(
        [&](const auto* value) {
          using Pointer = std::remove_cv_t<std::remove_pointer_t<decltype(value)>>*;
          return *value == *std::get<Pointer>(right[i].at);
        },
        left[i].at);
    if (!equal) differences.push_back(compare(left[i], right[i]));
  }
  std::stable_partition(differences.begin(), differences.end(),
                        [](const TargetDifference& d) { return d.identifies; });
  return differences;
}

std::string to_text(const std::vector<TargetDifference>& differences) {
  std::string text;
  for (const TargetDifference& d : differences) {
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("(none)") : value; };
    text += d.field + ": " + shown(d.left) + " | " + shown(d.right);
    text += d.identifies ? "\n" : "   (does not matter for records)\n";
  }
  return text;
}

// ---- For people
// -------------------------------------------------------------------------------------------------

namespace {

std::string size_text(std::int64_t bytes) {
  if (bytes == 0) return "none";
  static constexpr std::pair<int, const char*> kUnits[] = {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}};
  for (const auto& [shift, unit] : kUnits) {
    if (bytes >= std::int64_t{1} << shift && bytes % (std::int64_t{1} << (shift - 10)) == 0) {
      std::string text =
          std::to_string(static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << shift));
      text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.') text.pop_back();
      return text + unit;
    }
  }
  return std::to_string(bytes) + " B";
}

std::string rounded(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find('.') + 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// The features that say most about speed.
std::string highlights(const CpuTarget& cpu) {
  static constexpr std::string_view kShown[] = {
      "sse4.2",     "avx",        "avx2",     "avx512f", "fma", "f16c", "avx512vnni",
      "avx512bf16", "avx512fp16", "amx-tile", "neon",    "sve", "sve2", "bf16"};
  std::string text;
  for (std::string_view feature : kShown) {
    const bool implied = (feature == "sse4.2" && cpu.has("avx")) || (feature == "avx" && cpu.has("avx2")) ||
                         (feature == "avx2" && cpu.has("avx512f")) || (feature == "sve" && cpu.has("sve2"));
    if (cpu.has(feature) && !implied) text += (text.empty() ? "" : " + ") + std::string(feature);
  }
  return text.empty() ? "no vector extension" : text;
}

std::string describe_cpu(const CpuTarget& cpu) {
  return cpu.microarchitecture + " (" + cpu.arch + "), " + std::to_string(cpu.cores) +
         (cpu.cores == 1 ? " core, " : " cores, ") + highlights(cpu) + ", " +
         std::to_string(cpu.vector_registers) + " vector registers of " + std::to_string(cpu.vector_bits) +
         " bits, caches " + size_text(cpu.l1_bytes) + " / " + size_text(cpu.l2_bytes) + " / " +
         size_text(cpu.l3_bytes) + ", lines of " + std::to_string(cpu.line_bytes) + " B";
}

std::string describe_gpu(const GpuTarget& gpu) {
  std::string text = gpu.model + " (" + gpu.architecture() + "), " + std::to_string(gpu.multiprocessors) +
                     " SMs, shared memory " + size_text(gpu.shared_per_block) + " a block (" +
                     size_text(gpu.shared_per_block_optin) + " with opt-in), " +
                     size_text(gpu.shared_per_sm) + " an SM, L2 " + size_text(gpu.l2_bytes);
  if (gpu.dram_gb_per_s > 0) text += ", DRAM " + rounded(gpu.dram_gb_per_s) + " GB/s";
  if (gpu.f32_tflops > 0) text += ", f32 " + rounded(gpu.f32_tflops) + " TFLOP/s";
  if (gpu.f16_tflops > 0) text += ", f16 " + rounded(gpu.f16_tflops) + " TFLOP/s";
  return text;
}

std::string describe_options(const TargetOptions& options) {
  std::string text;
  if (!options.contract) text += ", no fma formed";
  if (options.nnan && !options.fast_math) text += ", no NaN assumed";
  if (options.fast_math) text += ", fast math";
  return text;
}

}  // namespace

std::string Target::describe() const {
  const std::string prefix = name.empty() ? "" : name + ": ";
  return prefix + (is_cpu() ? describe_cpu(cpu()) : describe_gpu(gpu())) + describe_options(options);
}

// ---- Validity
// ---------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void bad_value(const std::string& what) { throw TargetError(code::T004, "target: " + what); }

void check_range(const FieldRef& field) {
  const auto outside = [&](auto value) {
    return !(value >= static_cast<decltype(value)>(field.low) &&
             value <= static_cast<decltype(value)>(field.high));
  };
  bool wrong = false;
  if (auto* const* number = std::get_if<std::int64_t*>(&field.at)) wrong = outside(**number);
  if (auto* const* number = std::get_if<double*>(&field.at)) wrong = outside(**number);
  if (wrong) {
    bad_value("field \"" + std::string(field.name) + "\" is " + value_text(field) + ", allowed are " +
              std::to_string(field.low) + " to " + std::to_string(field.high));
  }
}

void check_features(const CpuTarget& cpu) {
  for (const std::string& feature : cpu.features) {
    const std::vector<std::string>& known = cpu_features(cpu.arch);
    if (!std::binary_search(known.begin(), known.end(), feature)) {
      throw TargetError(code::T003, "target: unknown feature \"" + feature + "\" of " + cpu.arch +
                                        did_you_mean(feature, known));
    }
  }
  if (!std::is_sorted(cpu.features.begin(), cpu.features.end()) ||
      std::adjacent_find(cpu.features.begin(), cpu.features.end()) != cpu.features.end()) {
    bad_value("features must be in alphabetical order, each once");
  }
  for (const FeatureInfo& info : feature_table(cpu.arch)) {
    if (!cpu.has(info.name)) continue;
    for (std::string_view needed : info.needs) {
      if (cpu.has(needed)) continue;
      throw TargetError(code::T008, "target: feature \"" + std::string(info.name) +
                                        "\" cannot be without \"" + std::string(needed) + "\"");
    }
  }
}

void check_cpu(const CpuTarget& cpu) {
  if (cpu.arch != "x86_64" && cpu.arch != "aarch64") {
    bad_value("architecture is \"" + cpu.arch + "\", known are x86_64 and aarch64");
  }
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
  };
  if (cpu.microarchitecture.empty() ||
      !std::all_of(cpu.microarchitecture.begin(), cpu.microarchitecture.end(), plain)) {
    bad_value("microarchitecture is \"" + cpu.microarchitecture + "\", expected a name such as znver3");
  }
  check_features(cpu);
  const std::int64_t widest = widest_vector(cpu.arch, cpu.features);
  if (cpu.vector_bits > widest || (cpu.vector_bits & (cpu.vector_bits - 1)) != 0) {
    throw TargetError(code::T008, "target: vector_bits is " + std::to_string(cpu.vector_bits) +
                                      ", but its features have vectors of " + std::to_string(widest) +
                                      " bits at most (and widths are powers of two)");
  }
  const std::int64_t registers = vector_register_count(cpu.arch, cpu.features);
  if (cpu.vector_registers > registers) {
    throw TargetError(code::T008, "target: vector_registers is " + std::to_string(cpu.vector_registers) +
                                      ", but its features have " + std::to_string(registers));
  }
}

void check_gpu(const GpuTarget& gpu) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (gpu.model.empty() || !std::all_of(gpu.model.begin(), gpu.model.end(), printable)) {
    bad_value("model must be a text of printable ASCII characters");
  }
  const auto in_order = [](const char* small, std::int64_t a, const char* large, std::int64_t b) {
    if (a <= b) return;
    throw TargetError(code::T008, std::string("target: ") + small + " is " + std::to_string(a) +
                                      ", more than " + large + ", which is " + std::to_string(b));
  };
  in_order("shared_per_block", gpu.shared_per_block, "shared_per_block_optin", gpu.shared_per_block_optin);
  in_order("shared_per_block_optin", gpu.shared_per_block_optin, "shared_per_sm", gpu.shared_per_sm);
  in_order("max_threads_per_block", gpu.max_threads_per_block, "max_threads_per_sm", gpu.max_threads_per_sm);
}

}  // namespace

void Target::validate() const {
  for (const FieldRef& field : fields_of(*this)) check_range(field);
  if (is_cpu()) check_cpu(cpu());
  if (is_gpu()) check_gpu(gpu());
}

}  // namespace lathe
