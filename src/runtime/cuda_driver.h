#pragma once
// The few functions of CUDA's driver that tell what devices there are, looked up at run time. The signatures
// and numbers are those of the driver API's documentation; nothing of the toolkit is needed to build.

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::runtime {

class CudaDriver {
 public:
  using DeviceHandle = int;

  /// CUdevice_attribute.
  enum class Attribute : int {
    MaxThreadsPerBlock = 1,
    MaxSharedMemoryPerBlock = 8,
    WarpSize = 10,
    ClockRate = 13,
    MultiprocessorCount = 16,
    MemoryClockRate = 36,
    GlobalMemoryBusWidth = 37,
    L2CacheSize = 38,
    MaxThreadsPerMultiprocessor = 39,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    MaxSharedMemoryPerMultiprocessor = 81,
    MaxRegistersPerMultiprocessor = 82,
    MaxSharedMemoryPerBlockOptin = 97,
    MaxBlocksPerMultiprocessor = 106,
    ReservedSharedMemoryPerBlock = 111,
  };

  /// Opens and initialises the driver. `library`: for tests.
  explicit CudaDriver(const char* library = "libcuda.so.1");

  bool usable() const { return problem_.empty(); }
  /// Why it is not.
  const std::string& problem() const { return problem_; }
  int version() const { return version_; }

  int device_count() const;
  std::optional<DeviceHandle> device(int index) const;
  std::string name(DeviceHandle device) const;
  std::int64_t memory(DeviceHandle device) const;
  /// 0 where this driver does not know the attribute.
  int attribute(DeviceHandle device, Attribute attribute) const;

 private:
  // Never closed: the driver starts threads and registers exit handlers, and does not survive being unloaded.
  void* library_ = nullptr;
  std::string problem_;
  int version_ = 0;
  int (*get_count_)(int*) = nullptr;
  int (*get_device_)(int*, int) = nullptr;
  int (*get_name_)(char*, int, int) = nullptr;
  int (*get_memory_)(std::size_t*, int) = nullptr;
  int (*get_attribute_)(int*, int, int) = nullptr;
};

}  // namespace lathe::runtime
