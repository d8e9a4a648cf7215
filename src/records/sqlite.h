#pragma once
// A thin RAII layer over sqlite3: connection, cached prepared statements, transactions, errors as
// RecordError.
//
// Rules that the rest of the folder relies on:
//   * A statement comes from the connection's cache and goes back, reset and without bindings, when its
//   Statement ends.
//   * A write happens in an Immediate transaction, so that waiting for another writer happens in one place,
//   the BEGIN, and
//     never in the middle.
//   * An error closes nothing and leaves nothing open: the transaction's destructor rolls back.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lathe/digest.h"
#include "lathe/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lathe::records {

class Statement;

/// An open database. Neither copied nor moved: its address is the busy handler's context.
class Connection {
 public:
  /// `file`: a path or a `file:` URI; `shown`: the path as errors name it. Flags as sqlite3_open_v2.
  Connection(const std::string& file, int flags, const std::string& shown,
             std::chrono::milliseconds busy_timeout);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const { return db_; }
  const std::string& path() const { return path_; }
  bool read_only() const;
  bool in_transaction() const;
  /// Whether the file is no longer the one at its path.
  bool has_moved() const;
  /// Whether the last connection to close merges the write-ahead log into the file (SQLite's default) or
  /// leaves it.
  void merge_log_on_close(bool merge);

  /// Runs statements without parameters and results.
  void execute(const char* sql);
  /// The first column of the first row; 0 when there is none.
  std::int64_t integer(const char* sql);
  std::string text(const char* sql);
  /// Rows that the last statement changed.
  std::int64_t changes() const;
  std::int64_t last_id() const;

  /// Throws the RecordError that `rc` stands for.
  [[noreturn]] void fail(int rc) const;

 private:
  friend class Statement;
  static int wait(void* self, int attempts);

  sqlite3* db_ = nullptr;
  std::string path_;
  std::chrono::milliseconds busy_timeout_;
  std::chrono::steady_clock::time_point waiting_since_;
  std::unordered_map<std::string_view, std::vector<sqlite3_stmt*>>
      idle_;  ///< by statement text, which SQLite owns
};

/// One run of a statement. Bind in order, then step.
class Statement {
 public:
  template <class... Values>
  Statement(Connection& connection, const char* sql, const Values&... values)
      : Statement(connection, sql, Prepared{}) {
    (bind(values), ...);
  }
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Advances to the next row; false at the end.
  bool step();
  /// Runs to the end.
  void run() {
    while (step()) {
    }
  }

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  ///< until the next step
  std::string_view blob(int column) const;  ///< until the next step
  std::string string(int column) const { return std::string(text(column)); }
  Digest digest(int column) const;  ///< throws R003 unless 16 bytes
  std::optional<Digest> optional_digest(int column) const;
  std::optional<double> optional_real(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;

  struct Blob {
    std::string_view bytes;
  };

 private:
  struct Prepared {};
  Statement(Connection& connection, const char* sql, Prepared);
  void bind(std::int64_t value);
  void bind(int value) { bind(static_cast<std::int64_t>(value)); }
  void bind(bool value) { bind(static_cast<std::int64_t>(value)); }
  void bind(double value);
  void bind(std::string_view value);
  void bind(const std::string& value) { bind(std::string_view(value)); }
  void bind(const char* value) { bind(std::string_view(value)); }
  void bind(const Blob& value);
  void bind(const Digest& value);
  void bind(std::nullopt_t);
  template <class T>
  void bind(const std::optional<T>& value) {
    if (value) {
      bind(*value);
    } else {
      bind(std::nullopt);
    }
  }
  void checked(int rc);

  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// BEGIN … COMMIT, or ROLLBACK when it is left without `commit`.
class Transaction {
 public:
  enum Kind { Read, Immediate };
  Transaction(Connection& connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace lathe::records
