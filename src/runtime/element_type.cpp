#include "lathe/runtime/element_type.h"

#include <array>

namespace lathe::runtime {
namespace {

struct Named {
  std::string_view name;
  DLDataType type;
};

constexpr std::array<Named, 13> kTypes = {{{"f64", {kDLFloat, 64, 1}},
                                           {"f32", {kDLFloat, 32, 1}},
                                           {"f16", {kDLFloat, 16, 1}},
                                           {"bf16", {kDLBfloat, 16, 1}},
                                           {"i64", {kDLInt, 64, 1}},
                                           {"i32", {kDLInt, 32, 1}},
                                           {"i16", {kDLInt, 16, 1}},
                                           {"i8", {kDLInt, 8, 1}},
                                           {"u64", {kDLUInt, 64, 1}},
                                           {"u32", {kDLUInt, 32, 1}},
                                           {"u16", {kDLUInt, 16, 1}},
                                           {"u8", {kDLUInt, 8, 1}},
                                           {"bool", {kDLBoolCode, 8, 1}}}};

}  // namespace

std::string to_string(DLDataType type) {
  const std::string lanes = type.lanes == 1 ? "" : "x" + std::to_string(type.lanes);
  for (const Named& named : kTypes) {
    if (named.type.code == type.code && named.type.bits == type.bits) return std::string(named.name) + lanes;
  }
  return "(code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits)" + lanes;
}

std::optional<DLDataType> element_type(std::string_view name) {
  for (const Named& named : kTypes) {
    if (named.name == name) return named.type;
  }
  return std::nullopt;
}

bool is_element_type(DLDataType type) {
  for (const Named& named : kTypes) {
    if (same(named.type, type)) return true;
  }
  return false;
}

}  // namespace lathe::runtime
