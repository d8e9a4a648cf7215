#pragma once
// JSON as text: the one form in which the store keeps it, and the writer of the text log.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lathe::records {

/// Text that is not JSON, or nests deeper than kMaxJsonDepth (support/json_depth.h).
struct JsonError : std::runtime_error {
  JsonError(const std::string& what, std::size_t column) : std::runtime_error(what), column(column) {}
  std::size_t column;  ///< byte, from 1
};

/// The same value in compact form, members in their order, numbers in their shortest exact form. Idempotent,
/// so that what was exported and imported again is byte for byte what was stored. Throws JsonError.
std::string canonical_json(std::string_view text);

/// Throws JsonError when brackets nest more than kMaxJsonDepth deep.
void check_depth(std::string_view text);

/// Valid UTF-8: bad bytes become U+FFFD; cut at a character boundary at `limit` bytes.
std::string clean_text(std::string_view text, std::size_t limit = 64 * 1024);

/// Appends one object, member by member, in the order given.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  void close() { out_ += '}'; }

  void text(std::string_view name, std::string_view value);
  void integer(std::string_view name, std::int64_t value);
  void natural(std::string_view name, std::uint64_t value);
  void real(std::string_view name, double value);  ///< infinity as the text "inf"
  void truth(std::string_view name, bool value);
  void raw(std::string_view name, std::string_view json);

  static void append_text(std::string& out, std::string_view value);
  static void append_real(std::string& out, double value);

 private:
  void member(std::string_view name);
  std::string& out_;
  bool first_ = true;
};

}  // namespace lathe::records
