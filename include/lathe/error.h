#pragma once
// Errors.
//
// Three kinds never mix:
//   UserError      what the user did cannot be done; nothing was changed; the text says what, where, and the
//                  way out.
//   InternalError  a bug of Lathe. A user's mistake must never end in one.
//   (run time)     generated code returns an error code and a message; it never throws and never aborts.
//
// A user error carries a stable code such as `LTH-S012`, listed with cause and way out by `lathe explain
// CODE` and in docs/errors.md. Its text is rendered only when asked for: a search discards failed schedules
// by the million.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Stable identity of a user error. The enumerators are the entries of src/support/error_codes/; lathe::code names them.
enum class Code : std::uint16_t;

/// What docs/errors.md and `lathe explain` say about a code.
struct CodeInfo {
  Code code;
  std::string_view id;       ///< e.g. "LTH-S012"
  std::string_view title;    ///< one line
  std::string_view cause;    ///< why it happens
  std::string_view way_out;  ///< what to do instead
};

/// Every code, ordered by id.
const std::vector<CodeInfo>& error_catalogue();
/// The entry of `code`.
const CodeInfo& describe(Code code);
/// Looks an id up ("LTH-S012" or "S012", any case); null when unknown.
const CodeInfo* find_code(std::string_view id);

/// Where in the user's program something was asked for.
using Site = std::source_location;

/// Renders the text of an error when, and only when, somebody reads it.
using Message = std::function<std::string()>;

/// Base of every exception that Lathe throws.
class Error : public std::exception {
 public:
  /// The whole text; rendered at the first call and kept.
  const char* what() const noexcept override;

 protected:
  explicit Error(Message message);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The user asked for something that cannot be done. Nothing was changed.
class UserError : public Error {
 public:
  UserError(Code code, Message message);
  UserError(Code code, std::string message);
  Code code() const { return code_; }

 private:
  Code code_;
};

/// A schedule primitive was refused, or `verify` found the schedule unfit for its target. The schedule is as
/// before.
class ScheduleError : public UserError {
 public:
  using UserError::UserError;
};

/// A record store could not be opened, read or written, or has no fitting record.
class RecordError : public UserError {
 public:
  using UserError::UserError;
};

/// A target description is unknown, malformed, or not what this machine is.
class TargetError : public UserError {
 public:
  using UserError::UserError;
};

/// A bug of Lathe.
class InternalError : public Error {
 public:
  explicit InternalError(std::string message, Site site = Site::current());
};

/// Throws InternalError unless `condition`. For invariants of ours, never for what a user can bring about.
inline void internal_check(bool condition, const char* what, Site site = Site::current()) {
  if (!condition) throw InternalError(what, site);
}

}  // namespace lathe
