#include "lathe/dtype.h"

#include <array>
#include <charconv>

namespace lathe {
namespace {

struct Named {
  std::string_view name;
  DataType type;
};
constexpr std::array<Named, 14> kNames = {{{"f64", f64},
                                           {"f32", f32},
                                           {"f16", f16},
                                           {"bf16", bf16},
                                           {"i8", i8},
                                           {"i16", i16},
                                           {"i32", i32},
                                           {"i64", i64},
                                           {"u8", u8},
                                           {"u16", u16},
                                           {"u32", u32},
                                           {"u64", u64},
                                           {"bool", boolean},
                                           {"index", index_type}}};

// The narrow form of index_type, which only lowering makes.
constexpr std::string_view kNarrowIndex = "index32";

}  // namespace

std::string DataType::str() const {
  std::string name(kNarrowIndex);
  for (const Named& n : kNames) {
    if (n.type == element()) name = n.name;
  }
  return lanes == 1 ? name : name + "x" + std::to_string(lanes);
}

std::optional<DataType> DataType::parse(std::string_view text) {
  int lanes = 1;
  std::size_t x = text.rfind('x');
  if (x != text.npos && x + 1 < text.size()) {  // the x of "index" ends the text
    auto [end, error] = std::from_chars(text.data() + x + 1, text.data() + text.size(), lanes);
    if (error != std::errc()) {
      lanes = 1;
    } else {
      if (end != text.data() + text.size() || lanes < 2 || lanes > 65535) return std::nullopt;
      if (text.substr(0, x) != "inde")
        text = text.substr(0, x);  // "index32" is a name
      else
        lanes = 1;
    }
  }
  if (text == kNarrowIndex) return DataType{TypeCode::Index, 32, static_cast<std::uint16_t>(lanes)};
  for (const Named& n : kNames) {
    if (n.name == text) return n.type.with_lanes(lanes);
  }
  return std::nullopt;
}

}  // namespace lathe
