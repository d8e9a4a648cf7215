#include "records/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/json_depth.h"

namespace lathe::records {

namespace {

constexpr int kMaxDepth = 200;

// Length of the well-formed UTF-8 sequence at the head of `text` (RFC 3629: no overlong forms, no
// surrogates); 0 if none.
std::size_t sequence_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto tail = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
    return 4;
  }
  return 0;
}

template <class T>
void append_number(std::string& out, T value) {
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

// Recognises canonical form without building a value: what our own writers make is in it already, and each inserted trial
// passes here. It may miss texts that are canonical (fractions, escapes, objects of many members), never accept one that
// is not.
class CanonicalForm {
 public:
  explicit CanonicalForm(std::string_view text) : text_(text) {}

  bool recognised() { return value(0) && at_ == text_.size(); }

 private:
  static constexpr std::size_t kMaxMembers = 16;

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) { return next() == c ? ++at_, true : false; }
  bool word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }

  bool number() {
    bool negative = take('-');
    if (take('0')) return !negative && !digit(next()) && integral();
    std::size_t begin = at_;
    while (digit(next())) ++at_;
    return at_ > begin && at_ - begin <= 18 && integral();
  }
  bool integral() const { return next() != '.' && next() != 'e' && next() != 'E'; }

  bool string() {
    if (!take('"')) return false;
    while (next() >= ' ' && next() < 0x7f && next() != '"' && next() != '\\') ++at_;
    return take('"');
  }

  bool array(int depth) {
    if (take(']')) return true;
    do {
      if (!value(depth)) return false;
    } while (take(','));
    return take(']');
  }

  // Members of one name fold into one when the text is read: such a text is not canonical.
  bool object(int depth) {
    if (take('}')) return true;
    std::array<std::string_view, kMaxMembers> names;
    std::size_t count = 0;
    do {
      std::size_t begin = at_;
      if (count == kMaxMembers || !string()) return false;
      std::string_view name = text_.substr(begin, at_ - begin);
      if (std::find(names.begin(), names.begin() + count, name) != names.begin() + count) return false;
      names[count++] = name;
      if (!take(':') || !value(depth)) return false;
    } while (take(','));
    return take('}');
  }

  bool value(int depth) {
    if (depth >= kMaxDepth) return false;
    switch (next()) {
      case '[': return ++at_, array(depth + 1);
      case '{': return ++at_, object(depth + 1);
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

void check_depth(std::string_view text) {
  if (const std::size_t at = bracket_deeper_than(text, kMaxDepth))
    throw JsonError("brackets nest more than 200 deep", at);
}

std::string canonical_json(std::string_view text) {
  if (CanonicalForm(text).recognised()) return std::string(text);
  check_depth(text);
  try {
    return nlohmann::ordered_json::parse(text).dump();
  } catch (const nlohmann::json::parse_error& error) {
    throw JsonError("not JSON", error.byte == 0 ? 1 : error.byte);
  } catch (const nlohmann::json::exception&) {  // a number beyond double
    throw JsonError("a number that does not fit", 1);
  }
}

std::string clean_text(std::string_view text, std::size_t limit) {
  std::string out;
  out.reserve(std::min(text.size(), limit));
  while (!text.empty()) {
    std::size_t length = sequence_length(text);
    std::string_view piece = length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    if (out.size() + piece.size() > limit) break;
    out += piece;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

void JsonObject::member(std::string_view name) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += '"';
  out_ += name;
  out_ += "\":";
}

void JsonObject::append_text(std::string& out, std::string_view value) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (char c : value) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\\u00";
          out += digits[static_cast<unsigned char>(c) >> 4];
          out += digits[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void JsonObject::append_real(std::string& out, double value) {
  if (std::isinf(value)) {
    out += "\"inf\"";
  } else {
    append_number(out, value);
  }
}

void JsonObject::text(std::string_view name, std::string_view value) {
  member(name), append_text(out_, value);
}
void JsonObject::integer(std::string_view name, std::int64_t value) {
  member(name), append_number(out_, value);
}
void JsonObject::natural(std::string_view name, std::uint64_t value) {
  member(name), append_number(out_, value);
}
void JsonObject::real(std::string_view name, double value) { member(name), append_real(out_, value); }
void JsonObject::truth(std::string_view name, bool value) { member(name), out_ += value ? "true" : "false"; }
void JsonObject::raw(std::string_view name, std::string_view json) { member(name), out_ += json; }

}  // namespace lathe::records
