#pragma once
// A 128-bit digest: the identity of a program, a target, a schedule or a record, equal on every platform.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathe {

/// 128 bits. All zero means "none".
struct Digest {
  std::uint64_t high = 0, low = 0;

  bool empty() const { return high == 0 && low == 0; }
  /// 32 lower-case hexadecimal digits, the high half first.
  std::string hex() const;
  /// The inverse of `hex`; nothing unless the text is exactly 32 hexadecimal digits.
  static std::optional<Digest> parse(std::string_view hex);

  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// FNV-1a over 128 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv). For identity among friends, not against
/// forgery. `so_far`: the digest of the bytes before these; its default is that of no bytes.
Digest digest_of(std::string_view bytes, Digest so_far = {0x6c62272e07bb0142ULL, 0x62b821756295c58dULL});

}  // namespace lathe
