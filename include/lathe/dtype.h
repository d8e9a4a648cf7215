#pragma once
// Element types.
//
// Data types have a width and wrap (integers) or follow IEEE 754 (floats). `index_type` is a type of its own:
// the type of loop variables, extents and subscripts. It is 64 bits wide, its overflow is an error, and its
// division is floor division; rewrites that assume no overflow apply to it alone. Lowering narrows it to 32
// bits where that is proved safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathe {

enum class TypeCode : std::uint8_t { Bool, Int, UInt, Float, BFloat, Index };

/// An element type, or a vector of `lanes` elements (only lowering makes vectors).
struct DataType {
  TypeCode code = TypeCode::Index;
  std::uint8_t bits = 64;  ///< width of one element; 8 for Bool, which is stored as one byte holding 0 or 1
  std::uint16_t lanes = 1;

  friend constexpr bool operator==(DataType, DataType) = default;

  constexpr bool is_bool() const { return code == TypeCode::Bool; }
  constexpr bool is_index() const { return code == TypeCode::Index; }
  constexpr bool is_float() const { return code == TypeCode::Float || code == TypeCode::BFloat; }
  /// A wrapping data integer (not `index_type`, not Bool).
  constexpr bool is_data_int() const { return code == TypeCode::Int || code == TypeCode::UInt; }
  constexpr bool is_unsigned() const { return code == TypeCode::UInt; }
  constexpr bool is_integral() const { return is_data_int() || is_index(); }
  constexpr bool is_vector() const { return lanes > 1; }
  constexpr int bytes() const { return bits / 8; }  ///< of one element
  constexpr DataType element() const { return {code, bits, 1}; }
  constexpr DataType with_lanes(int n) const { return {code, bits, static_cast<std::uint16_t>(n)}; }

  /// "f32", "i8", "u64", "bf16", "bool", "index"; vectors as "f32x8".
  std::string str() const;
  static std::optional<DataType> parse(std::string_view text);
};

inline constexpr DataType f64{TypeCode::Float, 64}, f32{TypeCode::Float, 32}, f16{TypeCode::Float, 16};
inline constexpr DataType bf16{TypeCode::BFloat, 16};
inline constexpr DataType i8{TypeCode::Int, 8}, i16{TypeCode::Int, 16}, i32{TypeCode::Int, 32},
    i64{TypeCode::Int, 64};
inline constexpr DataType u8{TypeCode::UInt, 8}, u16{TypeCode::UInt, 16}, u32{TypeCode::UInt, 32},
    u64{TypeCode::UInt, 64};
inline constexpr DataType boolean{TypeCode::Bool, 8};
inline constexpr DataType index_type{TypeCode::Index, 64};

}  // namespace lathe
