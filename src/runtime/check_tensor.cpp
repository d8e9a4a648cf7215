// Checks on tensors that come from outside. Text is made only on failure.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "lathe/runtime/c_api.h"
#include "lathe/runtime/element_type.h"
#include "runtime/error_state.h"

namespace lathe::runtime {
namespace {

std::string list(const std::int64_t* values, std::int32_t count, bool negative_is_any = false) {
  std::string text = "[";
  for (std::int32_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += negative_is_any && values[i] < 0 ? "any" : std::to_string(values[i]);
  }
  return text + "]";
}

/// One parameter of one kernel; every failure names both.
struct Parameter {
  const lathe_tensor_spec& spec;
  const char* kernel;
  std::int32_t index;

  std::string name() const {
    return std::string(kernel == nullptr ? "kernel" : kernel) + ": parameter " + std::to_string(index) +
           " \"" + (spec.name == nullptr ? "" : spec.name) + "\"";
  }

  std::int32_t fail(std::int32_t code, const std::string& what) const {
    last_error().set(code, name() + ": " + what);
    return code;
  }
};

bool same_type(DLDataType expected, DLDataType got) {
  auto equals = [&](DLDataType type) {
    return type.code == got.code && type.bits == got.bits && type.lanes == got.lanes;
  };
  const bool is_bool = expected.code == kDLBoolCode && expected.bits == 8;
  return equals(expected) || (is_bool && equals({kDLUInt, 1, expected.lanes}));
}

/// Memory that code on `expected` may address.
bool same_device(DLDeviceType expected, DLDeviceType got) {
  if (expected == got) return true;
  if (expected == kDLCPU) return got == kDLCUDAHost || got == kDLCUDAManaged || got == kDLROCMHost;
  return expected == kDLCUDA && got == kDLCUDAManaged;
}

const char* device_name(DLDeviceType type) {
  switch (type) {
    case kDLCPU: return "cpu";
    case kDLCUDA: return "cuda";
    case kDLCUDAHost: return "cuda host memory";
    case kDLCUDAManaged: return "cuda managed memory";
    case kDLROCM: return "rocm";
    case kDLROCMHost: return "rocm host memory";
    case kDLMetal: return "metal";
    case kDLVulkan: return "vulkan";
    case kDLOpenCL: return "opencl";
    default: return "another device";
  }
}

/// Elements; -1 when an extent is negative or the product does not fit.
std::int64_t element_count(const DLTensor& tensor) {
  std::int64_t count = 1;
  bool overflow = false;
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] < 0) return -1;
    if (tensor.shape[i] == 0) return 0;
    overflow |= __builtin_mul_overflow(count, tensor.shape[i], &count);
  }
  return overflow ? -1 : count;
}

std::int32_t check_strides(const DLTensor& tensor, const Parameter& parameter) {
  if (tensor.strides == nullptr) return LATHE_OK;
  std::int64_t compact = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != compact) {
      return parameter.fail(
          LATHE_ERROR_STRIDES,
          "strides are " + list(tensor.strides, tensor.ndim) + " for shape " +
              list(tensor.shape, tensor.ndim) +
              ", expected those of a compact row-major tensor; copy it to a contiguous one first");
    }
    compact *= tensor.shape[i];
  }
  return LATHE_OK;
}

std::int32_t check_shape(const DLTensor& tensor, const Parameter& parameter) {
  const lathe_tensor_spec& spec = parameter.spec;
  if (tensor.ndim != spec.ndim) {
    return parameter.fail(LATHE_ERROR_NDIM, "has " + std::to_string(tensor.ndim) + " dimensions, expected " +
                                                std::to_string(spec.ndim) + " " +
                                                list(spec.shape, spec.ndim, true));
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    return parameter.fail(LATHE_ERROR_SHAPE, "has no shape, expected " + list(spec.shape, spec.ndim, true));
  }
  for (std::int32_t i = 0; i < spec.ndim; ++i) {
    const bool wrong = spec.shape[i] >= 0 ? tensor.shape[i] != spec.shape[i] : tensor.shape[i] < 0;
    if (wrong) {
      return parameter.fail(LATHE_ERROR_SHAPE, "shape is " + list(tensor.shape, tensor.ndim) + ", expected " +
                                                   list(spec.shape, spec.ndim, true));
    }
  }
  return LATHE_OK;
}

std::int32_t check_data(const DLTensor& tensor, const Parameter& parameter) {
  const std::uint64_t align = std::max<std::uint64_t>(1, parameter.spec.alignment);
  if (tensor.data == nullptr) return parameter.fail(LATHE_ERROR_NULL_TENSOR, "has no data");
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  if (address % align == 0) return LATHE_OK;
  std::string where = "first element is " + std::to_string(address % align) + " bytes past a multiple of " +
                      std::to_string(align) + ", expected alignment to " + std::to_string(align) + " bytes";
  if (tensor.byte_offset % align != 0)
    where += " (byte_offset is " + std::to_string(tensor.byte_offset) + ")";
  return parameter.fail(LATHE_ERROR_ALIGNMENT, where);
}

struct Bytes {
  std::uint64_t begin, end;
};

Bytes bytes_of(const DLTensor& tensor) {
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  return {begin, begin + static_cast<std::uint64_t>(element_count(tensor)) * element_bytes(tensor.dtype)};
}

std::int32_t check_tensor(const DLTensor* tensor, const lathe_tensor_spec* spec, const char* kernel,
                          std::int32_t index) {
  const Parameter parameter{*spec, kernel, index};
  if (tensor == nullptr) return parameter.fail(LATHE_ERROR_NULL_TENSOR, "is NULL, expected a tensor");
  if (!same_device(spec->device_type, tensor->device.device_type)) {
    return parameter.fail(LATHE_ERROR_DEVICE, std::string("is on ") +
                                                  device_name(tensor->device.device_type) + ", expected " +
                                                  device_name(spec->device_type));
  }
  if (!same_type(spec->dtype, tensor->dtype)) {
    return parameter.fail(LATHE_ERROR_DTYPE, "element type is " + to_string(tensor->dtype) + ", expected " +
                                                 to_string(spec->dtype));
  }
  if (std::int32_t code = check_shape(*tensor, parameter)) return code;
  const std::int64_t count = element_count(*tensor);
  if (count < 0) {
    return parameter.fail(LATHE_ERROR_SHAPE, "shape " + list(tensor->shape, tensor->ndim) +
                                                 " has more elements than 64 bits can count");
  }
  if (count == 0) return LATHE_OK;
  if (std::int32_t code = check_strides(*tensor, parameter)) return code;
  return check_data(*tensor, parameter);
}

std::int32_t check_overlap(const DLTensor* const* tensors, const lathe_tensor_spec* specs, std::int32_t count,
                           const char* kernel) {
  for (std::int32_t out = 0; out < count; ++out) {
    if (specs[out].is_output == 0) continue;
    const Bytes written = bytes_of(*tensors[out]);
    for (std::int32_t other = 0; other < count; ++other) {
      const Bytes bytes = bytes_of(*tensors[other]);
      const bool disjoint = written.end <= bytes.begin || bytes.end <= written.begin;
      if (other == out || disjoint || written.begin == written.end || bytes.begin == bytes.end) continue;
      const Parameter second{specs[other], kernel, other};
      return Parameter{specs[out], kernel, out}.fail(
          LATHE_ERROR_OVERLAP, "output shares memory with parameter " + std::to_string(other) + " \"" +
                                   (second.spec.name == nullptr ? "" : second.spec.name) +
                                   "\"; give the kernel an output of its own");
    }
  }
  return LATHE_OK;
}

std::int32_t refuse_scalar(std::int64_t value, std::int64_t low, std::int64_t high, const char* name,
                           const char* kernel) {
  const std::string range = high == std::numeric_limits<std::int64_t>::max()
                                ? "at least " + std::to_string(low)
                                : std::to_string(low) + " to " + std::to_string(high);
  last_error().set(LATHE_ERROR_SCALAR, std::string(kernel == nullptr ? "kernel" : kernel) + ": scalar \"" +
                                           (name == nullptr ? "" : name) + "\" is " + std::to_string(value) +
                                           ", expected " + range);
  return LATHE_ERROR_SCALAR;
}

/// No exception leaves a C function: without memory for the text, the error is that.
template <typename Check>
std::int32_t reported(Check check) noexcept {
  try {
    return check();
  } catch (...) {
    last_error().set(LATHE_ERROR_OUT_OF_MEMORY, "a tensor was refused, and there is no memory to say why");
    return LATHE_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace
}  // namespace lathe::runtime

using namespace lathe::runtime;

extern "C" {

int32_t lathe_check_tensor(const DLTensor* tensor, const lathe_tensor_spec* spec, const char* kernel,
                           int32_t index) {
  return reported([&] { return check_tensor(tensor, spec, kernel, index); });
}

int32_t lathe_check_overlap(const DLTensor* const* tensors, const lathe_tensor_spec* specs, int32_t count,
                            const char* kernel) {
  return reported([&] { return check_overlap(tensors, specs, count, kernel); });
}

int32_t lathe_check_scalar(int64_t value, int64_t low, int64_t high, const char* name, const char* kernel) {
  if (low <= value && value <= high) return LATHE_OK;
  return reported([&] { return refuse_scalar(value, low, high, name, kernel); });
}

}  // extern "C"
