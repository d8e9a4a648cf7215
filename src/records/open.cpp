// Opening: what is refused, and that a refused open changes nothing.

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "records/file_state.h"
#include "records/schema.h"
#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

namespace fs = std::filesystem;

// Absolute, links resolved: SQLite puts the log beside the file that a link points to.
std::string resolve(const std::string& path) {
  if (path.empty())
    throw RecordError(code::R001,
                      "the path of the record store is empty. Name a file, for example 'records.db'.");
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::absolute(path).lexically_normal().string() : resolved.string();
}

void refuse_network(const std::string& path, const FileState& state, const OpenOptions& options) {
  if (options.trust_file_system) return;
  std::string place = state.exists ? path : fs::path(path).parent_path().string();
  refuse_file_system(path, network_file_system_of(place));
}

[[noreturn]] void refuse_not_lathe(const std::string& path) {
  throw RecordError(
      code::R002,
      "'" + path +
          "' is not a database; it was left untouched. Name a file made by Lathe, or a new one; a "
          "text log (.jsonl) is read with `lathe db import`.");
}

[[noreturn]] void refuse_cut(const std::string& path, std::int64_t bytes) {
  throw RecordError(code::R003, "record store '" + path + "' is damaged: it was cut to " +
                                    std::to_string(bytes) +
                                    " bytes. Restore it from a copy or a text log (`lathe db import`).");
}

// What the header alone decides. Another process may be writing that very page, so a doubtful reading is
// repeated.
std::optional<Header> identify(const std::string& path, const FileState& state) {
  if (state.bytes == 0) return std::nullopt;
  std::optional<Header> header;
  for (int attempt = 0; attempt < 3; ++attempt) {
    header = read_header(path);
    if (header && header->sqlite) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!header) refuse_cut(path, state.bytes);
  if (!header->sqlite) refuse_not_lathe(path);
  // A store's identity and tables arrive in one commit, before it is switched to WAL: the first page is an
  // empty database's or ours, even while a journal is hot.
  check_identity(path, header->application, header->version, !header->empty_schema, schema_version());
  return header;
}

void configure(Connection& connection) {
  connection.execute(
      "PRAGMA cell_size_check = ON; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY; PRAGMA "
      "foreign_keys = OFF");
}

void require_writable(const std::string& path, const FileState& state) {
  std::string what;
  if (state.exists && !state.file_writable) {
    what = "the file is read-only";
  } else if (!state.directory_writable) {
    what = "its directory is read-only, and SQLite keeps its log beside the file";
  } else {
    return;
  }
  throw RecordError(code::R006, "record store '" + path + "' cannot be opened for writing: " + what +
                                    ". Open it read-only, or copy it to a place that you can write.");
}

// Switching to WAL needs the file for itself for a moment, and does not wait through the busy handler in
// every case.
void enter_wal(Connection& connection, std::chrono::milliseconds patience) {
  auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::string mode;
    try {
      mode = connection.text("PRAGMA journal_mode = WAL");
    } catch (const RecordError& error) {
      if (error.code() != code::R009 || std::chrono::steady_clock::now() >= until) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    if (mode == "wal") return;
    throw RecordError(
        code::R010,
        "record store '" + connection.path() +
            "': this file system does not offer the shared memory that several writers need (journal mode '" +
            mode + "'). Keep the store on a local disk.");
  }
}

std::unique_ptr<Connection> open_for_writing(const std::string& path, const OpenOptions& options) {
  FileState state = look_at(path);
  refuse_network(path, state, options);
  if (!state.exists && !options.create) {
    throw RecordError(
        code::R001,
        "record store '" + path +
            "' does not exist. Correct the path, or make it with `lathe tune … --db` or `lathe db import`.");
  }
  if (state.exists) identify(path, state);
  require_writable(path, state);
  int flags = SQLITE_OPEN_READWRITE | (options.create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_FULLMUTEX;
  auto connection = std::make_unique<Connection>(path, flags, path, options.busy_timeout);
  if (connection->read_only()) connection->fail(SQLITE_READONLY);
  connection->merge_log_on_close(false);  // an open that fails from here on leaves the log to others
  configure(*connection);
  // NORMAL: a commit survives the death of any process; a power failure may take the last ones, never the
  // file. FULL costs 4 ms a commit and starves concurrent writers.
  // Merging the log into the file waits for the disk, so it happens every 16 MB rather than every 4.
  connection->execute(
      "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4000; "
      "PRAGMA secure_delete = OFF");
  migrate(*connection, migrations());
  enter_wal(*connection, options.busy_timeout);
  connection->merge_log_on_close(true);
  return connection;
}

void refuse_older(const std::string& path, std::int64_t version) {
  if (version == schema_version()) return;
  throw RecordError(code::R005,
                    "record store '" + path + "' has schema " + std::to_string(version) +
                        ", this Lathe reads " + std::to_string(schema_version()) +
                        ". Open it once for writing, which brings it up to date (`lathe db check`).");
}

std::unique_ptr<Connection> open_for_reading(const std::string& path, const OpenOptions& options) {
  FileState state = look_at(path);
  if (!state.exists)
    throw RecordError(
        code::R001,
        "record store '" + path +
            "' does not exist. Correct the path, or make it with `lathe tune … --db` or `lathe db import`.");
  refuse_network(path, state, options);
  std::optional<Header> header = identify(path, state);
  if (!header && !state.has_log && !state.has_journal) refuse_not_lathe(path);
  // Reading a WAL database normally needs the shared memory beside it. In a read-only directory there is none
  // to be made, and no other process can be writing: the file alone is the state, and is read without locks.
  for (int attempt = 0; state.has_journal && attempt < 50;
       ++attempt) {  // of a process that is creating the store just now
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    state = look_at(path);
  }
  bool immutable = !state.directory_writable && !(state.has_shared_memory && state.has_log_file);
  bool unmerged = state.has_journal || (immutable && state.has_log);
  if (unmerged) {
    throw RecordError(
        code::R017,
        "record store '" + path +
            "' was left by a process that died, with changes not yet merged into the file, and "
            "a read-only open cannot merge them. Open it once for writing, or copy all its files ('" +
            path + "*') to a place that you can write.");
  }
  auto connection = std::make_unique<Connection>(
      uri_of(path, immutable ? "mode=ro&immutable=1" : "mode=ro"),
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, path, options.busy_timeout);
  configure(*connection);
  connection->execute("PRAGMA query_only = ON");
  std::int64_t version = connection->integer("PRAGMA user_version");
  check_identity(path, connection->integer("PRAGMA application_id"), version, true, schema_version());
  refuse_older(path, version);
  return connection;
}

}  // namespace

RecordStore::Impl::Impl(std::unique_ptr<Connection> connection, const OpenOptions& options, bool read_only)
    : connection(std::move(connection)), options(options), read_only(read_only), owner(::getpid()) {}

RecordStore::Impl::~Impl() {
  // In a forked child the connection is the parent's: closing it could merge and delete the log under the
  // parent's feet.
  if (::getpid() != owner) {
    [[maybe_unused]] const Connection* abandoned = connection.release();
  }
}

RecordStore::RecordStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordStore::RecordStore(RecordStore&&) noexcept = default;
RecordStore& RecordStore::operator=(RecordStore&&) noexcept = default;
RecordStore::~RecordStore() = default;

RecordStore RecordStore::open(const std::string& path, const OpenOptions& options) {
  if (options.mode == OpenMode::Memory) return in_memory(options);
  bool read_only = options.mode == OpenMode::ReadOnly;
  std::string resolved = resolve(path);
  auto connection = read_only ? open_for_reading(resolved, options) : open_for_writing(resolved, options);
  return RecordStore(std::make_unique<Impl>(std::move(connection), options, read_only));
}

RecordStore RecordStore::in_memory(const OpenOptions& options) {
  auto connection = std::make_unique<Connection>(
      ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, "(in memory)",
      options.busy_timeout);
  configure(*connection);
  migrate(*connection, migrations());
  return RecordStore(std::make_unique<Impl>(std::move(connection), options, false));
}

RecordStore RecordStore::from_text(std::istream& lines, const std::string& name, const OpenOptions& options) {
  RecordStore store = in_memory(options);
  store.import_lines(lines, name);
  return store;
}

const std::string& RecordStore::path() const { return impl_->connection->path(); }
bool RecordStore::read_only() const { return impl_->read_only; }

RecordStore::Snapshot::~Snapshot() {
  if (!impl_) return;
  std::lock_guard lock(impl_->mutex);
  if (--impl_->snapshots == 0 && impl_->db().in_transaction()) {
    sqlite3_exec(impl_->db().handle(), "COMMIT", nullptr, nullptr, nullptr);
  }
}

RecordStore::Snapshot RecordStore::snapshot() const {
  std::lock_guard lock(impl_->mutex);
  check_turn(*impl_, false);
  if (impl_->snapshots == 0) {
    impl_->db().execute("BEGIN");
    impl_->db().integer(
        "SELECT count(*) FROM winners WHERE trial < 0");  // a transaction begins with its first read
  }
  ++impl_->snapshots;
  return Snapshot(*impl_);
}

void check_turn(const RecordStore::Impl& impl, bool writing) {
  const std::string& path = impl.connection->path();
  if (::getpid() != impl.owner) {
    throw RecordError(code::R019, "record store '" + path + "' was opened by process " +
                                      std::to_string(impl.owner) +
                                      " and is used by its child; SQLite's locks do not survive fork(). Open "
                                      "the store again in the child.");
  }
  if (!writing) return;
  if (impl.read_only)
    throw RecordError(code::R011, "record store '" + path +
                                      "' was opened read-only; nothing was written. Open it for writing.");
  if (impl.snapshots > 0) {
    throw RecordError(code::R011,
                      "record store '" + path +
                          "' is held at a snapshot; nothing was written. Let the snapshot end first.");
  }
}

Reading::Reading(RecordStore::Impl& impl) : lock_(impl.mutex) {
  check_turn(impl, false);
  if (!impl.db().in_transaction()) transaction_.emplace(impl.db(), Transaction::Read);
}

Writing::Writing(RecordStore::Impl& impl) : lock_(impl.mutex), impl_(impl) {
  check_turn(impl, true);
  if (impl.writings == 0) {
    // Inside somebody's reading the transaction would end with the reading, and undo what was acknowledged.
    if (impl.db().in_transaction()) {
      throw RecordError(code::R011,
                        "record store '" + impl.db().path() +
                            "' was asked to write from within a visit of its records; nothing was "
                            "written. Collect what to write, and write after the visit.");
    }
    transaction_.emplace(impl.db(), Transaction::Immediate);
  }
  ++impl.writings;
}

Writing::~Writing() {
  --impl_.writings;
  if (!committed_) impl_.dictionary = {};
}

void Writing::commit() {
  if (transaction_) {
    if (impl_.db().has_moved()) {
      throw RecordError(code::R020,
                        "record store '" + impl_.db().path() +
                            "' was deleted, renamed or replaced while it was open; nothing was written, "
                            "since it would have been lost with the old file. Go on (`--resume`) with the "
                            "store where it is now, or with a new one.");
    }
    transaction_->commit();
  }
  committed_ = true;
}

}  // namespace lathe::records
