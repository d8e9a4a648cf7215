#include "records/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

std::string seconds(std::chrono::milliseconds time) {
  auto tenths = time.count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// The system's error behind an I/O error. SQLite reports it for the whole connection only while it is fresh, but each file
// remembers its last one; a failed commit concerns the log as often as the database.
int system_error_of(sqlite3* db) {
  if (int error = sqlite3_system_errno(db)) return error;
  for (int file_of : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    int error = 0;
    if (sqlite3_file_control(db, "main", file_of, &file) != SQLITE_OK || !file || !file->pMethods) continue;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK && error != 0)
      return error;
  }
  return 0;
}

bool space_ran_out(int rc, int system_error) {
  if ((rc & 0xff) == SQLITE_FULL) return true;
  return (rc & 0xff) == SQLITE_IOERR &&
         (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG);
}

}  // namespace

Connection::Connection(const std::string& file, int flags, const std::string& shown,
                       std::chrono::milliseconds busy_timeout)
    : path_(shown), busy_timeout_(busy_timeout) {
  int rc = sqlite3_open_v2(file.c_str(), &db_, flags, nullptr);
  if (db_) sqlite3_extended_result_codes(db_, 1);
  if (rc == SQLITE_OK) {
    // A store may come from anywhere: no SQL of the file's own runs with our rights, and pages are checked as
    // they are read.
    sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_busy_handler(db_, &Connection::wait, this);
    return;
  }
  try {
    fail(rc);
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
}

Connection::~Connection() {
  for (auto& [sql, statements] : idle_) {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  }
  sqlite3_close(db_);
}

// SQLite's own handler sleeps up to 100 ms between attempts while a batch takes well under one: two writers
// would mostly sleep. Short, growing, randomised pauses keep them alternating.
int Connection::wait(void* self, int attempts) {
  auto& connection = *static_cast<Connection*>(self);
  auto now = std::chrono::steady_clock::now();
  if (attempts == 0) connection.waiting_since_ = now;
  if (now - connection.waiting_since_ >= connection.busy_timeout_) return 0;
  thread_local std::minstd_rand random(std::random_device{}());
  int longest = std::min(50 << std::min(attempts / 4, 7), 5'000);
  std::this_thread::sleep_for(std::chrono::microseconds(longest / 2 + static_cast<int>(random() % longest)));
  return 1;
}

bool Connection::read_only() const { return sqlite3_db_readonly(db_, "main") == 1; }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }
bool Connection::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}
void Connection::merge_log_on_close(bool merge) {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, merge ? 0 : 1, nullptr);
}
std::int64_t Connection::changes() const { return sqlite3_changes64(db_); }
std::int64_t Connection::last_id() const { return sqlite3_last_insert_rowid(db_); }

void Connection::execute(const char* sql) {
  if (int rc = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); rc != SQLITE_OK) fail(rc);
}

std::int64_t Connection::integer(const char* sql) {
  Statement query(*this, sql);
  return query.step() ? query.integer(0) : 0;
}

std::string Connection::text(const char* sql) {
  Statement query(*this, sql);
  return query.step() ? query.string(0) : std::string();
}

void Connection::fail(int rc) const {
  int primary = rc & 0xff;
  int system_error =
      db_ && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) ? system_error_of(db_) : 0;
  std::string detail = db_ && sqlite3_extended_errcode(db_) == rc ? sqlite3_errmsg(db_) : sqlite3_errstr(rc);
  std::string quoted = "record store '" + path_ + "'";
  if (space_ran_out(rc, system_error)) {
    throw RecordError(code::R008,
                      quoted +
                          ": no space left to write; the transaction was undone and the store is as before. "
                          "Free space on that file system, or lower what it holds with `lathe db prune`.");
  }
  switch (primary) {
    case SQLITE_NOMEM: throw std::bad_alloc();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw RecordError(
          code::R009, quoted + ": another process has kept it locked for " + seconds(busy_timeout_) +
                          "; nothing was written. Let that process finish (`lathe session ls` shows running "
                          "sessions), then try again, or raise the busy timeout.");
    case SQLITE_NOTADB:
      throw RecordError(
          code::R002,
          quoted +
              " is not a database. Name a file made by Lathe, or a new one; a text log (.jsonl) is "
              "read with `lathe db import`.");
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_ERROR:
      throw RecordError(
          code::R003,
          quoted + " is damaged (" + detail +
              "). Keep a copy; `lathe db check` says how far the damage goes, and what can still be "
              "read is saved by `lathe db export` and `lathe db import` into a new file.");
    case SQLITE_READONLY:
      throw RecordError(code::R006, quoted + " cannot be written (" + detail +
                                        "). Open it read-only, or copy it to a place that you can write.");
    default: break;
  }
  if (system_error != 0) detail += ": " + std::string(std::strerror(system_error));
  throw RecordError(code::R010, quoted + ": the system refused (" + detail +
                                    "). Check the path, its permissions and its device.");
}

Statement::Statement(Connection& connection, const char* sql, Prepared) : connection_(connection) {
  if (auto found = connection.idle_.find(sql); found != connection.idle_.end() && !found->second.empty()) {
    statement_ = found->second.back();
    found->second.pop_back();
    return;
  }
  checked(sqlite3_prepare_v3(connection.db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
}

Statement::~Statement() {
  if (!statement_) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  // The key must live as long as the entry: the text of a statement that stays in the list for good.
  auto found = connection_.idle_.find(sqlite3_sql(statement_));
  if (found == connection_.idle_.end()) {
    // The first statement of a text is the one whose copy of the text serves as the key; it is never
    // finalised before the end.
    connection_.idle_[sqlite3_sql(statement_)].push_back(statement_);
  } else {
    found->second.push_back(statement_);
  }
}

void Statement::checked(int rc) {
  if (rc != SQLITE_OK) connection_.fail(rc);
}

bool Statement::step() {
  int rc = sqlite3_step(statement_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  connection_.fail(rc);
}

void Statement::bind(std::int64_t value) { checked(sqlite3_bind_int64(statement_, ++bound_, value)); }
void Statement::bind(double value) { checked(sqlite3_bind_double(statement_, ++bound_, value)); }
void Statement::bind(std::nullopt_t) { checked(sqlite3_bind_null(statement_, ++bound_)); }

// Texts are copied (SQLITE_TRANSIENT) where they may be temporaries of the caller's expression.
void Statement::bind(std::string_view value) {
  checked(sqlite3_bind_text64(statement_, ++bound_, value.data() ? value.data() : "", value.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(const Blob& value) {
  checked(sqlite3_bind_blob64(statement_, ++bound_, value.bytes.data() ? value.bytes.data() : "",
                              value.bytes.size(), SQLITE_TRANSIENT));
}

// Big-endian, so that SQLite's order of blobs is the order of the digests and of their hexadecimal texts.
void Statement::bind(const Digest& value) {
  char bytes[16];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(value.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<char>(value.low >> (56 - 8 * i));
  }
  bind(Blob{std::string_view(bytes, sizeof bytes)});
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::text(int column) const {
  auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data ? std::string_view(data, sqlite3_column_bytes(statement_, column)) : std::string_view();
}

std::string_view Statement::blob(int column) const {
  auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data ? std::string_view(data, sqlite3_column_bytes(statement_, column)) : std::string_view();
}

Digest Statement::digest(int column) const {
  std::string_view bytes = blob(column);
  if (bytes.size() != 16) connection_.fail(SQLITE_CORRUPT);
  auto half = [&](int at) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  return {half(0), half(8)};
}

std::optional<Digest> Statement::optional_digest(int column) const {
  if (is_null(column)) return std::nullopt;
  return digest(column);
}
std::optional<double> Statement::optional_real(int column) const {
  if (is_null(column)) return std::nullopt;
  return real(column);
}
std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

Transaction::Transaction(Connection& connection, Kind kind) : connection_(connection) {
  Statement(connection, kind == Immediate ? "BEGIN IMMEDIATE" : "BEGIN").run();
}

Transaction::~Transaction() {
  // SQLite may have rolled back by itself (a full disk); then there is nothing to undo.
  if (open_ && connection_.in_transaction())
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  Statement(connection_, "COMMIT").run();
  open_ = false;
}

}  // namespace lathe::records
