#pragma once
// The devices of this machine.
//
// A program built with Lathe runs on machines with and without a GPU: CUDA's driver is looked up at run time
// and its absence is an ordinary answer, not an error.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::runtime {

enum class DeviceKind { Cpu, Cuda };

/// What the CUDA driver tells of a device. Sizes in bytes; 0 where the driver does not say.
struct CudaProperties {
  int compute_capability = 0;  ///< 10 * major + minor
  int multiprocessors = 0;
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  std::int64_t shared_per_block = 0;
  std::int64_t shared_per_block_optin = 0;
  std::int64_t shared_per_sm = 0;
  std::int64_t shared_reserved_per_block = 0;
  std::int64_t l2_bytes = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
};

struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  int index = 0;     ///< among those of its kind
  std::string name;  ///< "AMD EPYC 7763", "NVIDIA H100 80GB HBM3"
  std::int64_t memory_bytes = 0;
  std::optional<CudaProperties> cuda;  ///< of a CUDA device

  /// "cpu:0", "cuda:1".
  std::string str() const;
};

/// The CPU, then the CUDA devices.
std::vector<Device> devices();

/// CUDA devices, and when there are none, why: no driver, a driver that fails, or no device.
struct CudaDetection {
  std::vector<Device> devices;
  int driver_version = 0;  ///< 1000 * major + 10 * minor, as the driver writes it
  std::string reason;      ///< empty when there are devices
};
CudaDetection detect_cuda();

}  // namespace lathe::runtime
