#pragma once
// Tensors in memory, for calling kernels.
//
// A Tensor is what a kernel takes: a compact row-major buffer, aligned, with an element type and a shape. It owns its
// memory, shares it, or looks at somebody else's; all through DLPack's structures, so that nothing is copied between
// Lathe and other libraries. Copies are said aloud: clone() copies the elements, share() gives a second handle to them.
//
// With `guard_bytes` there is a zone before the first and after the last element whose bytes are known. A kernel that
// writes there is found out by broken_guard().

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lathe/dtype.h"
#include "lathe/runtime/element_type.h"

namespace lathe::runtime {

struct TensorOptions {
  std::uint64_t alignment = 64;   ///< of the first element; a power of two
  std::uint64_t guard_bytes = 0;  ///< before and after; rounded up to the alignment
};

class Tensor {
 public:
  /// Zeros. Throws UserError X001 for a negative extent, a size that no address can have, a type that tensors cannot
  /// have, or an alignment that is no power of two; X002 when there is not enough memory.
  Tensor(DLDataType type, std::vector<std::int64_t> shape, TensorOptions options = {});
  Tensor(DataType type, std::vector<std::int64_t> shape, TensorOptions options = {})
      : Tensor(stored_as(type), std::move(shape), options) {}

  /// Looks at memory that outlives the tensor.
  static Tensor view(void* data, DLDataType type, std::vector<std::int64_t> shape);
  static Tensor view(void* data, DataType type, std::vector<std::int64_t> shape) {
    return view(data, stored_as(type), std::move(shape));
  }

  /// Takes over what another library exported; its deleter runs when the last handle goes. Throws UserError X003, and
  /// leaves `managed` to the caller, when it is not on the CPU, not compact and row-major, or of a foreign type.
  static Tensor from_dlpack(DLManagedTensor* managed);

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  /// A second handle to the same elements.
  Tensor share() const;
  /// A copy of the elements, with the same alignment and guards where this tensor owns its memory.
  Tensor clone() const;

  DLDataType type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size() const { return size_; }  ///< elements
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(size_) * element_bytes(type_); }
  void* data() { return data_; }
  const void* data() const { return data_; }

  /// The elements as a C++ type. f16 and bf16 are read as std::uint16_t, bool also as std::uint8_t. Throws UserError
  /// X004 for another type than the tensor's.
  template <typename T>
  std::span<T> as() {
    check_type(element_type_of<T>());
    return {static_cast<T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <typename T>
  std::span<const T> as() const {
    check_type(element_type_of<T>());
    return {static_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }

  /// Element number `i` in row-major order as a double: exact but for integers beyond 2^53.
  double value(std::int64_t i) const;
  /// Stores `value` rounded to the type: floats to nearest even, integers truncated and saturated, NaN to 0.
  void set_value(std::int64_t i, double value);

  /// For a kernel's DLPack entry; valid while this tensor is.
  DLTensor dlpack_view() const;
  /// For another library: keeps the elements alive until its deleter is called.
  DLManagedTensor* to_dlpack() const;

  /// Where bytes of a guard zone have changed: "8 bytes written 16 bytes past the end"; nothing when all are as they were.
  std::optional<std::string> broken_guard() const;

 private:
  struct Memory;
  Tensor() = default;
  void check_type(DLDataType wanted) const;

  std::shared_ptr<Memory> memory_;  ///< null for a view
  void* data_ = nullptr;
  DLDataType type_{};
  std::vector<std::int64_t> shape_;
  std::int64_t size_ = 0;
};

/// "f32 [2, 3, 4]".
std::string to_string(const Tensor& tensor);

}  // namespace lathe::runtime
