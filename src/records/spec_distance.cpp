#include "records/spec_distance.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace lathe::records {

namespace {

struct Spec {
  std::map<std::string_view, std::string_view> values;
  std::string_view dtype;
};

Spec parse(std::string_view text) {
  Spec spec;
  std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return spec;
  if (std::size_t colon = text.find(':', close); colon != std::string_view::npos)
    spec.dtype = text.substr(colon + 1);
  std::string_view inside = text.substr(open + 1, close - open - 1);
  while (!inside.empty()) {
    std::size_t comma = inside.find(',');
    std::string_view item = inside.substr(0, comma);
    std::size_t equals = item.find('=');
    spec.values[item.substr(0, equals)] =
        equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    inside = comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
  }
  return spec;
}

std::optional<double> number(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return static_cast<double>(value);
}

double value_distance(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  auto x = number(a), y = number(b);
  return x && y ? std::abs(std::log2((*x + 1) / (*y + 1))) : 1;
}

}  // namespace

double spec_distance(std::string_view a, std::string_view b) {
  Spec left = parse(a), right = parse(b);
  double distance = left.dtype == right.dtype ? 0 : 2;
  for (const auto& [key, value] : left.values) {
    auto other = right.values.find(key);
    distance += other == right.values.end() ? 1 : value_distance(value, other->second);
  }
  for (const auto& [key, value] : right.values) distance += left.values.contains(key) ? 0 : 1;
  return distance;
}

}  // namespace lathe::records
