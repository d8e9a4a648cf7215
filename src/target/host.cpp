// The machine this runs on, as a target.

#include <fstream>

#include "lathe/runtime/affinity.h"
#include "lathe/runtime/device.h"
#include "lathe/target.h"
#include "support/error_codes/target.h"
#include "target/cpuid.h"
#include "target/features.h"
#include "target/host_caches.h"
#include "target/named_cpus.h"
#include "target/named_gpus.h"

namespace lathe {
namespace {

/// "32768K" as the kernel writes sizes.
std::int64_t size_of(const std::string& text) {
  std::int64_t value = 0;
  std::size_t at = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && value < (std::int64_t{1} << 40)) {
    value = value * 10 + (text[at++] - '0');
  }
  const char unit = at < text.size() ? text[at] : ' ';
  return value << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void note_cache(CacheSizes& sizes, int level, std::int64_t bytes, std::int64_t line) {
  std::int64_t* const places[] = {&sizes.l1, &sizes.l2, &sizes.l3};
  if (level < 1 || level > 3 || bytes <= 0) return;
  *places[level - 1] = bytes;
  if (line > 0) sizes.line = line;
}

CacheSizes caches_of(const CpuidAnswers& cpuid) {
  CacheSizes sizes;
  for (const CpuidAnswers::Cache& cache : cpuid.caches) {
    if (cache.data) note_cache(sizes, cache.level, cache.bytes, cache.line);
  }
  return sizes;
}

/// The kernel's word, then the CPU's own, then what is usual for the microarchitecture.
void set_caches(CpuTarget& cpu, const CpuidAnswers& cpuid) {
  const int first_cpu = runtime::process_cpus().front();
  CacheSizes sizes = read_cache_folder("/sys/devices/system/cpu/cpu" + std::to_string(first_cpu) + "/cache");
  if (sizes.l1 == 0) sizes = caches_of(cpuid);
  if (sizes.l1 == 0) {
    const NamedCpu* usual = find_microarchitecture(cpu.microarchitecture);
    if (usual == nullptr) usual = find_cpu(cpu.arch == "aarch64" ? "neoverse-n1" : "x86-64-v3");
    const Target target = make_target(*usual);
    sizes = {target.cpu().l1_bytes, target.cpu().l2_bytes, target.cpu().l3_bytes, target.cpu().line_bytes};
  }
  cpu.l1_bytes = sizes.l1;
  cpu.l2_bytes = sizes.l2;
  cpu.l3_bytes = sizes.l3;
  if (sizes.line > 0) cpu.line_bytes = sizes.line;
}

}  // namespace

CacheSizes read_cache_folder(const std::string& folder) {
  CacheSizes sizes;
  for (int i = 0; i < 16; ++i) {
    const std::string index = folder + "/index" + std::to_string(i);
    const std::string level = first_line(index + "/level"), type = first_line(index + "/type");
    if (level.size() != 1) break;
    if (type == "Instruction") continue;
    note_cache(sizes, level[0] - '0', size_of(first_line(index + "/size")),
               size_of(first_line(index + "/coherency_line_size")));
  }
  return sizes;
}

Target Target::host() {
  CpuTarget cpu;
  const CpuidAnswers cpuid = ask_cpuid();
#if defined(__aarch64__)
  cpu.arch = "aarch64";
  cpu.microarchitecture = "generic";
  add_feature(cpu.features, cpu.arch, "neon");
#else
  cpu.features = features_of(cpuid);
  cpu.microarchitecture = microarchitecture_of(cpuid, cpu.features);
#endif
  cpu.vector_bits = widest_vector(cpu.arch, cpu.features);
  cpu.vector_registers = vector_register_count(cpu.arch, cpu.features);
  cpu.cores = runtime::default_num_threads();
  set_caches(cpu, cpuid);
  return {"host", std::move(cpu), {}};
}

Target Target::cuda(int index) {
  const runtime::CudaDetection detection = runtime::detect_cuda();
  if (index < 0 || static_cast<std::size_t>(index) >= detection.devices.size()) {
    std::string why = detection.devices.empty() ? detection.reason
                                                : "there are " + std::to_string(detection.devices.size());
    throw TargetError(code::T007,
                      "no CUDA device " + std::to_string(index) + " on this machine: " + why +
                          "; to build for one that is elsewhere, name it (h100, a100, ...) or give a file");
  }
  const runtime::Device& device = detection.devices[static_cast<std::size_t>(index)];
  const runtime::CudaProperties& p = *device.cuda;
  GpuTarget gpu;
  const NamedGpu* known = find_gpu_by_driver_name(device.name);
  // A mobile or partitioned device may bear the name of a larger one.
  if (known != nullptr && known->gpu.multiprocessors == p.multiprocessors) gpu = known->gpu;
  if (gpu.model.empty()) {
    gpu.model = device.name;
    gpu.clock_ghz = p.clock_khz / 1e6;
    // Two transfers a clock, on every pin of the bus.
    gpu.dram_gb_per_s = 2.0 * p.memory_clock_khz * 1e3 * p.memory_bus_bits / 8 / 1e9;
  }
  gpu.compute_capability = p.compute_capability;
  gpu.multiprocessors = p.multiprocessors;
  gpu.warp_size = p.warp_size;
  gpu.max_threads_per_block = p.max_threads_per_block;
  gpu.max_threads_per_sm = p.max_threads_per_sm;
  if (p.max_blocks_per_sm > 0) gpu.max_blocks_per_sm = p.max_blocks_per_sm;
  gpu.registers_per_sm = p.registers_per_sm;
  gpu.shared_per_block = p.shared_per_block;
  gpu.shared_per_block_optin = p.shared_per_block_optin > 0 ? p.shared_per_block_optin : p.shared_per_block;
  gpu.shared_per_sm = p.shared_per_sm;
  gpu.shared_reserved_per_block = p.shared_reserved_per_block;
  gpu.l2_bytes = p.l2_bytes;
  gpu.dram_bytes = device.memory_bytes;
  return {"cuda:" + std::to_string(index), std::move(gpu), {}};
}

}  // namespace lathe
