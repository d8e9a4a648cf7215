#include "target/fields.h"

#include <charconv>

namespace lathe {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

void add_cpu(CpuTarget& cpu, std::vector<FieldRef>& fields) {
  using enum Role;
  const FieldRef own[] = {
      {"cpu", "arch", Identity, &cpu.arch},
      {"cpu", "microarchitecture", Identity, &cpu.microarchitecture},
      {"cpu", "features", Identity, &cpu.features},
      {"cpu", "vector_bits", Identity, &cpu.vector_bits, 64, 2048},
      {"cpu", "vector_registers", Identity, &cpu.vector_registers, 8, 64},
      {"cpu", "l1_bytes", Identity, &cpu.l1_bytes, 1024, kMaxBytes},
      {"cpu", "l2_bytes", Identity, &cpu.l2_bytes, 0, kMaxBytes},
      {"cpu", "l3_bytes", Identity, &cpu.l3_bytes, 0, kMaxBytes},
      {"cpu", "line_bytes", Identity, &cpu.line_bytes, 16, 1024},
      {"cpu", "cores", Information, &cpu.cores, 1, 1 << 16},
  };
  for (const FieldRef& field : own) fields.push_back(field);
}

void add_gpu(GpuTarget& gpu, std::vector<FieldRef>& fields) {
  using enum Role;
  const FieldRef own[] = {
      {"gpu", "model", Identity, &gpu.model},
      {"gpu", "compute_capability", Identity, &gpu.compute_capability, 50, 999},
      {"gpu", "multiprocessors", Identity, &gpu.multiprocessors, 1, 4096},
      {"gpu", "warp_size", Identity, &gpu.warp_size, 32, 32},
      {"gpu", "max_threads_per_block", Identity, &gpu.max_threads_per_block, 32, 1024},
      {"gpu", "max_threads_per_sm", Identity, &gpu.max_threads_per_sm, 32, 4096},
      {"gpu", "max_blocks_per_sm", Identity, &gpu.max_blocks_per_sm, 1, 1024},
      {"gpu", "registers_per_sm", Identity, &gpu.registers_per_sm, 1024, 1 << 20},
      {"gpu", "max_registers_per_thread", Identity, &gpu.max_registers_per_thread, 16, 255},
      {"gpu", "shared_per_block", Identity, &gpu.shared_per_block, 1024, 1 << 24},
      {"gpu", "shared_per_block_optin", Identity, &gpu.shared_per_block_optin, 1024, 1 << 24},
      {"gpu", "shared_per_sm", Identity, &gpu.shared_per_sm, 1024, 1 << 24},
      {"gpu", "shared_reserved_per_block", Identity, &gpu.shared_reserved_per_block, 0, 1 << 16},
      {"gpu", "l2_bytes", Identity, &gpu.l2_bytes, 0, kMaxBytes},
      {"gpu", "dram_bytes", Information, &gpu.dram_bytes, 0, kMaxBytes},
      {"gpu", "dram_gb_per_s", Information, &gpu.dram_gb_per_s, 0, 1000000},
      {"gpu", "clock_ghz", Information, &gpu.clock_ghz, 0, 100},
      {"gpu", "f32_tflops", Information, &gpu.f32_tflops, 0, 1000000},
      {"gpu", "tf32_tflops", Information, &gpu.tf32_tflops, 0, 1000000},
      {"gpu", "f16_tflops", Information, &gpu.f16_tflops, 0, 1000000},
      {"gpu", "bf16_tflops", Information, &gpu.bf16_tflops, 0, 1000000},
      {"gpu", "i8_tops", Information, &gpu.i8_tops, 0, 1000000},
  };
  for (const FieldRef& field : own) fields.push_back(field);
}

struct ToText {
  std::string operator()(const std::int64_t* value) const { return std::to_string(*value); }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const std::string* value) const { return *value; }
  std::string operator()(const double* value) const {
    char buffer[40];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), *value).ptr);
  }
  std::string operator()(const std::vector<std::string>* values) const {
    std::string text;
    for (const std::string& value : *values) text += (text.empty() ? "" : ", ") + value;
    return text;
  }
};

}  // namespace

std::vector<FieldRef> fields_of(Target& target) {
  std::vector<FieldRef> fields;
  if (auto* cpu = std::get_if<CpuTarget>(&target.device)) add_cpu(*cpu, fields);
  if (auto* gpu = std::get_if<GpuTarget>(&target.device)) add_gpu(*gpu, fields);
  TargetOptions& options = target.options;
  const FieldRef own[] = {
      {"options", "contract", Role::Identity, &options.contract},
      {"options", "nnan", Role::Identity, &options.nnan},
      {"options", "fast_math", Role::Identity, &options.fast_math},
  };
  for (const FieldRef& field : own) fields.push_back(field);
  return fields;
}

std::string value_text(const FieldRef& field) { return std::visit(ToText{}, field.at); }

}  // namespace lathe
