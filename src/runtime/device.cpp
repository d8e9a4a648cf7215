#include "lathe/runtime/device.h"

#include <unistd.h>

#include <fstream>

#include "runtime/cuda_driver.h"

namespace lathe::runtime {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, 10, "model name") != 0) continue;
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "CPU";
}

Device cpu_device() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::int64_t memory = pages > 0 && page > 0 ? static_cast<std::int64_t>(pages) * page : 0;
  return {DeviceKind::Cpu, 0, cpu_name(), memory, std::nullopt};
}

Device cuda_device(const CudaDriver& driver, int index, CudaDriver::DeviceHandle handle) {
  using Attribute = CudaDriver::Attribute;
  const auto get = [&](Attribute attribute) { return driver.attribute(handle, attribute); };
  CudaProperties p;
  p.compute_capability = 10 * get(Attribute::ComputeCapabilityMajor) + get(Attribute::ComputeCapabilityMinor);
  p.multiprocessors = get(Attribute::MultiprocessorCount);
  p.warp_size = get(Attribute::WarpSize);
  p.max_threads_per_block = get(Attribute::MaxThreadsPerBlock);
  p.max_threads_per_sm = get(Attribute::MaxThreadsPerMultiprocessor);
  p.max_blocks_per_sm = get(Attribute::MaxBlocksPerMultiprocessor);
  p.registers_per_sm = get(Attribute::MaxRegistersPerMultiprocessor);
  p.shared_per_block = get(Attribute::MaxSharedMemoryPerBlock);
  p.shared_per_block_optin = get(Attribute::MaxSharedMemoryPerBlockOptin);
  p.shared_per_sm = get(Attribute::MaxSharedMemoryPerMultiprocessor);
  p.shared_reserved_per_block = get(Attribute::ReservedSharedMemoryPerBlock);
  p.l2_bytes = get(Attribute::L2CacheSize);
  p.clock_khz = get(Attribute::ClockRate);
  p.memory_clock_khz = get(Attribute::MemoryClockRate);
  p.memory_bus_bits = get(Attribute::GlobalMemoryBusWidth);
  return {DeviceKind::Cuda, index, driver.name(handle), driver.memory(handle), p};
}

}  // namespace

std::string Device::str() const {
  return (kind == DeviceKind::Cpu ? "cpu:" : "cuda:") + std::to_string(index);
}

CudaDetection detect_cuda() {
  CudaDetection detection;
  CudaDriver driver;
  detection.driver_version = driver.version();
  if (!driver.usable()) {
    detection.reason = driver.problem();
    return detection;
  }
  const int count = driver.device_count();
  for (int i = 0; i < count; ++i) {
    if (const auto handle = driver.device(i)) detection.devices.push_back(cuda_device(driver, i, *handle));
  }
  if (detection.devices.empty()) detection.reason = "the CUDA driver reports no device";
  return detection;
}

std::vector<Device> devices() {
  std::vector<Device> all{cpu_device()};
  for (Device& device : detect_cuda().devices) all.push_back(std::move(device));
  return all;
}

}  // namespace lathe::runtime
