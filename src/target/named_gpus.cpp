#include "target/named_gpus.h"

#include <algorithm>

namespace lathe {
namespace {

/// Limits that follow from the compute capability (CUDA C++ Programming Guide, "Compute Capabilities").
GpuTarget of_capability(std::int64_t capability) {
  GpuTarget gpu;
  gpu.compute_capability = capability;
  struct Limits {
    std::int64_t capability, threads, blocks, shared_kib, optin_kib, reserved;
  };
  static constexpr Limits kLimits[] = {
      {75, 1024, 16, 64, 64, 0},     {80, 2048, 32, 164, 163, 1024}, {86, 1536, 16, 100, 99, 1024},
      {89, 1536, 24, 100, 99, 1024}, {90, 2048, 32, 228, 227, 1024},
  };
  for (const Limits& limits : kLimits) {
    if (limits.capability != capability) continue;
    gpu.max_threads_per_sm = limits.threads;
    gpu.max_blocks_per_sm = limits.blocks;
    gpu.shared_per_sm = limits.shared_kib << 10;
    gpu.shared_per_block_optin = limits.optin_kib << 10;
    gpu.shared_reserved_per_block = limits.reserved;
  }
  return gpu;
}

/// What vendors publish of a model, in their units.
struct Sheet {
  std::string_view model;
  std::int64_t capability, multiprocessors, l2_mib, dram_gib;
  double clock_ghz, dram_gb_per_s, f32, tf32, f16, bf16, i8;
};

GpuTarget gpu(const Sheet& sheet) {
  GpuTarget gpu = of_capability(sheet.capability);
  gpu.model = sheet.model;
  gpu.multiprocessors = sheet.multiprocessors;
  gpu.l2_bytes = sheet.l2_mib << 20;
  gpu.dram_bytes = sheet.dram_gib << 30;
  gpu.clock_ghz = sheet.clock_ghz;
  gpu.dram_gb_per_s = sheet.dram_gb_per_s;
  gpu.f32_tflops = sheet.f32;
  gpu.tf32_tflops = sheet.tf32;
  gpu.f16_tflops = sheet.f16;
  gpu.bf16_tflops = sheet.bf16;
  gpu.i8_tops = sheet.i8;
  return gpu;
}

// Multiprocessors, sizes, clocks and rates: vendor data sheets and white papers (Turing, GA100, GA102, Ada,
// Hopper). Rates of tensor cores are those of dense operands with f32 accumulation.
const std::vector<NamedGpu> kGpus = {
    {"t4", {"sm_75"}, "NVIDIA T4", {"T4"}, gpu({"t4", 75, 40, 4, 16, 1.59, 320, 8.1, 0, 65, 0, 130})},
    {"a100",
     {"sm_80", "a100-80g"},
     "NVIDIA A100 SXM, 80 GB",
     {"A100", "80GB"},
     gpu({"a100-80g", 80, 108, 40, 80, 1.41, 2039, 19.5, 156, 312, 312, 624})},
    {"a100-40g",
     {},
     "NVIDIA A100 SXM, 40 GB",
     {"A100", "40GB"},
     gpu({"a100-40g", 80, 108, 40, 40, 1.41, 1555, 19.5, 156, 312, 312, 624})},
    {"rtx3090",
     {"sm_86"},
     "NVIDIA GeForce RTX 3090",
     {"RTX 3090"},
     gpu({"rtx3090", 86, 82, 6, 24, 1.695, 936, 35.6, 35.6, 71, 71, 284})},
    {"rtx4090",
     {"sm_89"},
     "NVIDIA GeForce RTX 4090",
     {"RTX 4090"},
     gpu({"rtx4090", 89, 128, 72, 24, 2.52, 1008, 82.6, 82.6, 165, 165, 660})},
    {"l4", {}, "NVIDIA L4", {"L4"}, gpu({"l4", 89, 58, 48, 24, 2.04, 300, 30.3, 60, 121, 121, 242})},
    {"h100",
     {"sm_90", "h100-sxm"},
     "NVIDIA H100 SXM",
     {"H100", "HBM3"},
     gpu({"h100-sxm", 90, 132, 50, 80, 1.98, 3350, 66.9, 495, 989, 989, 1979})},
    {"h200",
     {"h200-sxm"},
     "NVIDIA H200 SXM",
     {"H200"},
     gpu({"h200-sxm", 90, 132, 60, 141, 1.98, 4800, 66.9, 495, 989, 989, 1979})},
};

/// Whether `word` occurs in `text` between non-alphanumeric neighbours: "L4" is not in "L40S".
bool has_word(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

}  // namespace

const std::vector<NamedGpu>& named_gpus() { return kGpus; }

const NamedGpu* find_gpu(std::string_view name) {
  for (const NamedGpu& gpu : kGpus) {
    if (gpu.name == name || std::find(gpu.aliases.begin(), gpu.aliases.end(), name) != gpu.aliases.end())
      return &gpu;
  }
  return nullptr;
}

const NamedGpu* find_gpu_by_driver_name(std::string_view driver_name) {
  for (const NamedGpu& gpu : kGpus) {
    const auto occurs = [&](std::string_view part) { return has_word(driver_name, part); };
    if (std::all_of(gpu.driver_names.begin(), gpu.driver_names.end(), occurs)) return &gpu;
  }
  return nullptr;
}

}  // namespace lathe
