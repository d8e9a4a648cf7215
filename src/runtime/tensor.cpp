#include "lathe/runtime/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "lathe/error.h"
#include "lathe/runtime/c_api.h"
#include "support/error_codes/runtime.h"
#include "support/half.h"
#include "support/shape_text.h"

namespace lathe::runtime {

/// Memory behind one or more handles: our own block, or another library's tensor.
struct Tensor::Memory {
  unsigned char* block = nullptr;
  std::uint64_t guard = 0, used = 0;
  TensorOptions options;
  DLManagedTensor* managed = nullptr;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    std::free(block);
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
};

namespace {

[[noreturn]] void refuse(DLDataType type, const std::vector<std::int64_t>& shape, const std::string& why) {
  throw UserError(code::X001, "tensor " + to_string(type) + " " + shape_text(shape) + ": " + why);
}

/// Elements of a shape that a tensor may have.
std::int64_t checked_size(DLDataType type, const std::vector<std::int64_t>& shape) {
  if (!is_element_type(type)) refuse(type, shape, "tensors cannot have this element type");
  std::int64_t size = 1, bytes = 0;
  bool overflow = false;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (std::int64_t extent : shape) {
    if (extent < 0) refuse(type, shape, "an extent is negative");
    overflow |= !empty && __builtin_mul_overflow(size, extent, &size);
  }
  if (empty) return 0;
  overflow |= __builtin_mul_overflow(size, static_cast<std::int64_t>(element_bytes(type)), &bytes);
  if (overflow || bytes > std::numeric_limits<std::int64_t>::max() / 4)
    refuse(type, shape, "is larger than any address space");
  return size;
}

/// A byte that nobody writes by chance, different for neighbours.
unsigned char guard_byte(std::uint64_t offset) { return static_cast<unsigned char>(0xC3 ^ (offset * 0x9D)); }

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Offsets, within a zone, of its first and last changed byte.
struct Damage {
  std::uint64_t first, last, count;
};

std::optional<Damage> damage(const unsigned char* zone, std::uint64_t bytes, std::uint64_t start) {
  std::optional<Damage> found;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (zone[i] == guard_byte(start + i)) continue;
    if (!found) found = Damage{i, i, 0};
    found->last = i;
    ++found->count;
  }
  return found;
}

}  // namespace

Tensor::Tensor(DLDataType type, std::vector<std::int64_t> shape, TensorOptions options)
    : memory_(std::make_shared<Memory>()),
      type_(type),
      shape_(std::move(shape)),
      size_(checked_size(type, shape_)) {
  if (options.alignment == 0 || (options.alignment & (options.alignment - 1)) != 0) {
    refuse(type_, shape_, "alignment " + std::to_string(options.alignment) + " is no power of two");
  }
  const std::uint64_t align = std::max<std::uint64_t>(options.alignment, alignof(std::max_align_t));
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 61;
  if (align > kLimit || options.guard_bytes > kLimit)
    refuse(type_, shape_, "is larger than any address space");
  const std::uint64_t guard = round_up(options.guard_bytes, align);
  const std::uint64_t total = round_up(std::max<std::uint64_t>(1, bytes()) + 2 * guard, align);
  memory_->options = options;
  memory_->guard = guard;
  memory_->used = bytes();
  memory_->block = static_cast<unsigned char*>(std::aligned_alloc(align, total));
  if (memory_->block == nullptr) {
    throw UserError(code::X002,
                    "tensor " + to_string(*this) + ": no memory for " + std::to_string(total) + " bytes");
  }
  data_ = memory_->block + guard;
  std::memset(data_, 0, bytes());
  for (std::uint64_t i = 0; i < guard; ++i) {
    memory_->block[i] = guard_byte(i);
    memory_->block[guard + bytes() + i] = guard_byte(guard + i);
  }
}

Tensor Tensor::view(void* data, DLDataType type, std::vector<std::int64_t> shape) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.shape_ = std::move(shape);
  tensor.size_ = checked_size(type, tensor.shape_);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::from_dlpack(DLManagedTensor* managed) {
  const auto fail = [](const std::string& why) {
    throw UserError(code::X003, "tensor from another library: " + why);
  };
  if (managed == nullptr) fail("is null");
  const DLTensor& from = managed->dl_tensor;
  if (from.ndim < 0 || (from.ndim > 0 && from.shape == nullptr)) fail("has no shape");
  DLDataType type = from.dtype;
  if (type.code == kDLUInt && type.bits == 1) type = {kDLBoolCode, 8, type.lanes};
  if (!is_element_type(type)) fail("its element type is " + to_string(from.dtype));
  // The check for kernels is ours too: any extents, no alignment beyond the element's own.
  const std::vector<std::int64_t> any(static_cast<std::size_t>(from.ndim), -1);
  const lathe_tensor_spec spec{"", type, from.ndim, any.data(), kDLCPU, element_bytes(type), 0};
  if (lathe_check_tensor(&from, &spec, "", 0) != LATHE_OK) {
    const std::string text = lathe_last_error();
    fail(text.substr(text.find("\": ") + 3));
  }
  Tensor tensor = view(lathe_tensor_data(&from), type, {from.shape, from.shape + from.ndim});
  tensor.memory_ = std::make_shared<Memory>();
  tensor.memory_->managed = managed;
  return tensor;
}

Tensor Tensor::share() const {
  Tensor other;
  other.memory_ = memory_;
  other.data_ = data_;
  other.type_ = type_;
  other.shape_ = shape_;
  other.size_ = size_;
  return other;
}

Tensor Tensor::clone() const {
  Tensor copy(type_, shape_, memory_ != nullptr ? memory_->options : TensorOptions{});
  if (bytes() > 0) std::memcpy(copy.data_, data_, bytes());
  return copy;
}

void Tensor::check_type(DLDataType wanted) const {
  const bool bits_alike = wanted.code == kDLUInt && wanted.bits == type_.bits && type_.lanes == 1 &&
                          (type_.code == kDLBoolCode || (is_float(type_) && type_.bits == 16));
  if (same(wanted, type_) || bits_alike) return;
  throw UserError(code::X004, "tensor " + to_string(*this) + ": read as " + to_string(wanted));
}

namespace {

template <typename T>
double load(const void* data, std::int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

template <typename T>
void store(void* data, std::int64_t i, T value) {
  std::memcpy(static_cast<char*>(data) + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
}

/// Truncated and saturated; NaN to 0.
template <typename T>
T to_integer(double value) {
  if (std::isnan(value)) return 0;
  // The bounds as doubles: 2^(bits - 1) and such are exact, the largest integer itself may not be.
  const double above = std::ldexp(1, std::numeric_limits<T>::digits);
  if (value >= above) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <typename Visit>
auto by_integer_type(DLDataType type, Visit visit) {
  const bool is_signed = type.code == kDLInt;
  switch (type.bits) {
    case 8: return is_signed ? visit(std::int8_t{}) : visit(std::uint8_t{});
    case 16: return is_signed ? visit(std::int16_t{}) : visit(std::uint16_t{});
    case 32: return is_signed ? visit(std::int32_t{}) : visit(std::uint32_t{});
    default: return is_signed ? visit(std::int64_t{}) : visit(std::uint64_t{});
  }
}

}  // namespace

double Tensor::value(std::int64_t i) const {
  internal_check(i >= 0 && i < size_, "tensor element out of range");
  if (type_.code == kDLBfloat) return BFloat16::to(static_cast<std::uint16_t>(load<std::uint16_t>(data_, i)));
  if (type_.code == kDLFloat) {
    if (type_.bits == 16) return Float16::to(static_cast<std::uint16_t>(load<std::uint16_t>(data_, i)));
    return type_.bits == 32 ? load<float>(data_, i) : load<double>(data_, i);
  }
  return by_integer_type(type_, [&](auto kind) { return load<decltype(kind)>(data_, i); });
}

void Tensor::set_value(std::int64_t i, double value) {
  internal_check(i >= 0 && i < size_, "tensor element out of range");
  if (type_.code == kDLBfloat) return store(data_, i, BFloat16::from(value));
  if (type_.code == kDLFloat) {
    if (type_.bits == 16) return store(data_, i, Float16::from(value));
    return type_.bits == 32 ? store(data_, i, static_cast<float>(value)) : store(data_, i, value);
  }
  if (type_.code == kDLBoolCode) return store(data_, i, static_cast<std::uint8_t>(value != 0));
  by_integer_type(type_, [&](auto kind) { store(data_, i, to_integer<decltype(kind)>(value)); });
}

DLTensor Tensor::dlpack_view() const {
  return {data_,
          {kDLCPU, 0},
          static_cast<int>(shape_.size()),
          type_,
          const_cast<std::int64_t*>(shape_.data()),
          nullptr,
          0};
}

DLManagedTensor* Tensor::to_dlpack() const {
  struct Exported {
    DLManagedTensor managed{};
    Tensor tensor;
  };
  auto exported = std::make_unique<Exported>(Exported{{}, share()});
  exported->managed.dl_tensor = exported->tensor.dlpack_view();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &exported.release()->managed;
}

std::optional<std::string> Tensor::broken_guard() const {
  if (memory_ == nullptr || memory_->guard == 0) return std::nullopt;
  const std::uint64_t guard = memory_->guard;
  const auto plural = [](std::uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); };
  if (const auto before = damage(memory_->block, guard, 0)) {
    return plural(before->count) + " written " + plural(guard - before->last) + " before the first element";
  }
  if (const auto after = damage(memory_->block + guard + memory_->used, guard, guard)) {
    return plural(after->count) + " written " + plural(after->first) + " past the end";
  }
  return std::nullopt;
}

std::string to_string(const Tensor& tensor) {
  return to_string(tensor.type()) + " " + shape_text(tensor.shape());
}

}  // namespace lathe::runtime
