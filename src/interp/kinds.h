#pragma once
// How the element types sit in registers and memory: one struct a type, for templates over types.

#include <cstring>
#include <limits>
#include <type_traits>

#include "interp/bytecode.h"
#include "interp/half.h"
#include "ir/numbers.h"

namespace lathe::interp {

template <class T>
struct IntKind {  // data integers
  using Value = std::int64_t;
  using Stored = T;
  static constexpr DataType type{std::is_signed_v<T> ? TypeCode::Int : TypeCode::UInt, sizeof(T) * 8};
  static constexpr bool is_float = false;
  static Value get(Slot s) { return s.i; }
  static void set(Slot& s, Value v) { s.i = static_cast<std::int64_t>(static_cast<T>(v)); }
  static Slot from_memory(T v) { return {.i = static_cast<std::int64_t>(v)}; }
  static T to_memory(Slot s) { return static_cast<T>(s.i); }
};

struct BoolKind {
  using Value = std::int64_t;
  using Stored = std::uint8_t;
  static constexpr DataType type = boolean;
  static constexpr bool is_float = false;
  static Value get(Slot s) { return s.i; }
  static void set(Slot& s, Value v) { s.i = v != 0; }
  static Slot from_memory(std::uint8_t v) { return {.i = v != 0}; }
  static std::uint8_t to_memory(Slot s) { return s.i != 0; }
};

template <class T>
struct IndexKind {
  using Value = std::int64_t;
  using Stored = T;
  static constexpr DataType type{TypeCode::Index, sizeof(T) * 8};
  static constexpr bool is_float = false;
  static Value get(Slot s) { return s.i; }
  static void set(Slot& s, Value v) { s.i = static_cast<std::int64_t>(static_cast<T>(v)); }
  static Slot from_memory(T v) { return {.i = v}; }
  static T to_memory(Slot s) { return static_cast<T>(s.i); }
};

struct F64 {
  using Value = double;
  using Stored = double;
  static constexpr DataType type = f64;
  static constexpr bool is_float = true;
  static Value get(Slot s) { return s.d; }
  static void set(Slot& s, double v) { s.d = v; }
  static Slot from_memory(double v) { return {.d = v}; }
  static double to_memory(Slot s) { return s.d; }
};

struct F32 {
  using Value = float;
  using Stored = float;
  static constexpr DataType type = f32;
  static constexpr bool is_float = true;
  static Value get(Slot s) { return s.f; }
  static void set(Slot& s, float v) { s.f = v; }
  static void set(Slot& s, double v) { s.f = static_cast<float>(v); }
  static Slot from_memory(float v) { return {.f = v}; }
  static float to_memory(Slot s) { return s.f; }
};

struct F16 {  // computed in double, which holds every product and quotient well enough to round once more
  using Value = double;
  using Stored = std::uint16_t;
  static constexpr DataType type = f16;
  static constexpr bool is_float = true;
  static Value get(Slot s) { return s.f; }
  static void set(Slot& s, double v) { s.f = f16_to_float(float_to_f16(narrow_to_odd(v))); }
  static Slot from_memory(std::uint16_t v) { return {.f = f16_to_float(v)}; }
  static std::uint16_t to_memory(Slot s) { return float_to_f16(s.f); }
};

struct BF16 {
  using Value = double;
  using Stored = std::uint16_t;
  static constexpr DataType type = bf16;
  static constexpr bool is_float = true;
  static Value get(Slot s) { return s.f; }
  static void set(Slot& s, double v) { s.f = bf16_to_float(float_to_bf16(narrow_to_odd(v))); }
  static Slot from_memory(std::uint16_t v) { return {.f = bf16_to_float(v)}; }
  static std::uint16_t to_memory(Slot s) { return float_to_bf16(s.f); }
};

/// Calls `f` with the kind of the type as a template argument: f.template operator()<F32>(). Returns what it
/// returns, or a default value when the interpreter does not know the type.
template <class F>
auto with_kind(DataType t, F&& f) -> decltype(f.template operator()<F32>()) {
  switch (t.code) {
    case TypeCode::Bool: return f.template operator()<BoolKind>();
    case TypeCode::Float:
      if (t.bits == 64) return f.template operator()<F64>();
      if (t.bits == 32) return f.template operator()<F32>();
      if (t.bits == 16) return f.template operator()<F16>();
      break;
    case TypeCode::BFloat:
      if (t.bits == 16) return f.template operator()<BF16>();
      break;
    case TypeCode::Int:
      if (t.bits == 8) return f.template operator()<IntKind<std::int8_t>>();
      if (t.bits == 16) return f.template operator()<IntKind<std::int16_t>>();
      if (t.bits == 32) return f.template operator()<IntKind<std::int32_t>>();
      if (t.bits == 64) return f.template operator()<IntKind<std::int64_t>>();
      break;
    case TypeCode::UInt:
      if (t.bits == 8) return f.template operator()<IntKind<std::uint8_t>>();
      if (t.bits == 16) return f.template operator()<IntKind<std::uint16_t>>();
      if (t.bits == 32) return f.template operator()<IntKind<std::uint32_t>>();
      if (t.bits == 64) return f.template operator()<IntKind<std::uint64_t>>();
      break;
    case TypeCode::Index:
      if (t.bits == 32) return f.template operator()<IndexKind<std::int32_t>>();
      if (t.bits == 64) return f.template operator()<IndexKind<std::int64_t>>();
      break;
  }
  return {};
}

/// A register as a number for people and reports.
std::string number_text(DataType t, Slot s);

}  // namespace lathe::interp
