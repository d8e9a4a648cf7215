#include "runtime/cuda_driver.h"

#include <dlfcn.h>

namespace lathe::runtime {
namespace {

constexpr int kSuccess = 0, kNoDevice = 100;

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

CudaDriver::CudaDriver(const char* library) : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    const char* why = dlerror();
    problem_ = std::string("no CUDA driver (") + (why == nullptr ? library : why) + ")";
    return;
  }
  int (*init)(unsigned) = nullptr;
  int (*get_version)(int*) = nullptr;
  const bool complete =
      find(library_, "cuInit", init) && find(library_, "cuDriverGetVersion", get_version) &&
      find(library_, "cuDeviceGetCount", get_count_) && find(library_, "cuDeviceGet", get_device_) &&
      find(library_, "cuDeviceGetName", get_name_) && find(library_, "cuDeviceTotalMem_v2", get_memory_) &&
      find(library_, "cuDeviceGetAttribute", get_attribute_);
  if (!complete) {
    problem_ = std::string(library) + " lacks functions of the CUDA driver API";
    return;
  }
  const int code = init(0);
  if (code == kNoDevice) {
    problem_ = "the CUDA driver reports no device";
  } else if (code != kSuccess) {
    problem_ = "the CUDA driver could not be initialised (cuInit returned " + std::to_string(code) + ")";
  }
  if (get_version(&version_) != kSuccess) version_ = 0;
}

int CudaDriver::device_count() const {
  int count = 0;
  return usable() && get_count_(&count) == kSuccess ? count : 0;
}

std::optional<CudaDriver::DeviceHandle> CudaDriver::device(int index) const {
  int handle = 0;
  return get_device_(&handle, index) == kSuccess ? std::optional(handle) : std::nullopt;
}

std::string CudaDriver::name(DeviceHandle device) const {
  char text[256] = "";
  return get_name_(text, sizeof(text), device) == kSuccess ? text : "CUDA device";
}

std::int64_t CudaDriver::memory(DeviceHandle device) const {
  std::size_t bytes = 0;
  return get_memory_(&bytes, device) == kSuccess ? static_cast<std::int64_t>(bytes) : 0;
}

int CudaDriver::attribute(DeviceHandle device, Attribute attribute) const {
  int value = 0;
  return get_attribute_(&value, static_cast<int>(attribute), device) == kSuccess ? value : 0;
}

}  // namespace lathe::runtime
