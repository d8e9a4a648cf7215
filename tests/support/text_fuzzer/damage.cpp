#include "support/text_fuzzer/damage.h"

#include <algorithm>

namespace lathe::fuzz {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kNumbers = {"0",
                                           "-1",
                                           "1",
                                           "2",
                                           "127",
                                           "65535",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483649",
                                           "1099511627776",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "0.5",
                                           "1e308",
                                           "1e999",
                                           "-0.0",
                                           "00",
                                           "0x10",
                                           "NaN"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number of the text becomes another one.
void replace_number(std::string& text, Random& random) {
  std::size_t from = random.below(text.size());
  while (from < text.size() && !is_digit(text[from])) ++from;
  while (from > 0 && from < text.size() && is_digit(text[from - 1])) --from;
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  text.replace(from, end - from, random.pick(kNumbers));
}

void damage_once(std::string& text, const std::vector<std::string>& words, Random& random) {
  const std::size_t at = random.below(text.size() + 1), size = text.size();
  const std::size_t length = 1 + random.below(random.chance(80) ? 8 : 200);
  switch (random.below(11)) {
    case 0:
      if (at < size) text[at] = static_cast<char>(random.next());
      return;
    case 1: text.insert(at, 1, static_cast<char>(random.next())); return;
    case 2: text.insert(at, 1, "[]{}()\",:=+-x \n\\."[random.below(17)]); return;
    case 3: text.erase(at, length); return;
    case 4: text.insert(random.below(size + 1), text.substr(at, length)); return;
    case 5: text.resize(at); return;
    case 6: {
      const std::string piece = text.substr(at, length);
      text.erase(at, length);
      text.insert(random.below(text.size() + 1), piece);
      return;
    }
    case 7:
    case 8: replace_number(text, random); return;
    case 9:
      if (!words.empty()) text.insert(at, random.pick(words));
      return;
    default:
      if (random.chance(90)) return replace_number(text, random);
      text.insert(at, (random.chance(50) ? 200 : 100'000), "[{("[random.below(3)]);
  }
}

void collect(Json& element, std::vector<Json*>& all) {
  all.push_back(&element);
  if (!element.is_structured()) return;
  for (Json& child : element) collect(child, all);
}

}  // namespace

std::string damaged(std::string text, const std::vector<std::string>& words, Random& random) {
  for (std::size_t times = 1 + random.below(3); times > 0; --times) damage_once(text, words, random);
  return text;
}

void damage(Json& document, const std::vector<Json>& values, Random& random) {
  std::vector<Json*> all;
  collect(document, all);
  Json& target = *all[random.below(all.size())];
  const Json anywhere = *all[random.below(all.size())];
  const auto replacement = [&] {
    const std::size_t i = random.below(values.size() + 6);
    return i < values.size() ? values[i] : anywhere;
  };
  switch (random.below(5)) {
    case 0:
      if (target.is_array() && !target.empty()) target.erase(random.below(target.size()));
      return;
    case 1:
      if (target.is_object() && !target.empty())
        target.erase(std::next(target.begin(), static_cast<std::ptrdiff_t>(random.below(target.size()))));
      return;
    case 2:
      if (target.is_array()) target.push_back(replacement());
      return;
    case 3:
      if (target.is_number_integer() && target.get<std::int64_t>() < INT64_MAX - 2)
        target = target.get<std::int64_t>() + random.between(-2, 2);
      return;
    default: target = replacement();
  }
}

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {
      nullptr, true,      false,     0,          1,  -1,    2,   7,   1'000'000,     0.5,
      -1e300,  INT64_MIN, INT64_MAX, UINT64_MAX, "", "nan", "_", "l", Json::array(), Json::object()};
  return values;
}

}  // namespace lathe::fuzz
