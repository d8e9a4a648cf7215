#pragma once
// Element types as DLPack writes them, with the names that the rest of Lathe uses: f64 f32 f16 bf16, i8 to
// i64, u8 to u64, bool (one byte, 0 or 1).

#include <dlpack/dlpack.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "lathe/dtype.h"

namespace lathe::runtime {

/// DLPack's code for bool; headers before 0.8 lack the enumerator.
inline constexpr std::uint8_t kDLBoolCode = 6;

/// "f32", "bf16", "u8", "bool"; with lanes "f32x8"; what is none of ours by its numbers.
std::string to_string(DLDataType type);

/// The type of such a name, or nothing.
std::optional<DLDataType> element_type(std::string_view name);

/// Whether tensors of Lathe may have it: one of the names above, one lane.
bool is_element_type(DLDataType type);

/// Bytes that one element takes.
inline std::uint64_t element_bytes(DLDataType type) {
  return (std::uint64_t{type.bits} * type.lanes + 7) / 8;
}

inline bool is_float(DLDataType type) { return type.code == kDLFloat || type.code == kDLBfloat; }

inline bool same(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// The element type of a C++ type. f16 and bf16 have no standard C++ type: name them.
template <typename T>
constexpr DLDataType element_type_of() {
  static_assert(std::is_arithmetic_v<T>, "a C++ number or bool");
  constexpr auto bits = static_cast<std::uint8_t>(8 * sizeof(T));
  if constexpr (std::is_same_v<T, bool>) return {kDLBoolCode, 8, 1};
  if constexpr (std::is_floating_point_v<T>) return {kDLFloat, bits, 1};
  return {static_cast<std::uint8_t>(std::is_signed_v<T> ? kDLInt : kDLUInt), bits, 1};
}

/// How a type of the language is stored: `index` as i64, bool as one byte.
constexpr DLDataType stored_as(DataType type) {
  const auto code = [&]() -> std::uint8_t {
    switch (type.code) {
      case TypeCode::Bool: return kDLBoolCode;
      case TypeCode::UInt: return kDLUInt;
      case TypeCode::Float: return kDLFloat;
      case TypeCode::BFloat: return kDLBfloat;
      case TypeCode::Int:
      case TypeCode::Index: break;
    }
    return kDLInt;
  }();
  return {code, type.bits, type.lanes};
}

}  // namespace lathe::runtime
