#include "lathe/digest.h"

namespace lathe {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::uint64_t> parse_half(std::string_view hex) {
  std::uint64_t value = 0;
  for (char c : hex) {
    int digit = hex_value(c);
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  return value;
}

}  // namespace

std::string Digest::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = digits[high >> (4 * i) & 15];
    text[31 - i] = digits[low >> (4 * i) & 15];
  }
  return text;
}

std::optional<Digest> Digest::parse(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  auto high = parse_half(hex.substr(0, 16)), low = parse_half(hex.substr(16));
  if (!high || !low) return std::nullopt;
  return Digest{*high, *low};
}

Digest digest_of(std::string_view bytes, Digest so_far) {
  using Wide = unsigned __int128;
  const Wide prime = (Wide(1) << 88) + (Wide(1) << 8) + 0x3b;
  Wide hash = Wide(so_far.high) << 64 | so_far.low;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * prime;
  return {static_cast<std::uint64_t>(hash >> 64), static_cast<std::uint64_t>(hash)};
}

}  // namespace lathe
