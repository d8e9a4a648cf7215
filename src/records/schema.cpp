#include "records/schema.h"

#include "records/file_state.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

// Version 1. STRICT tables, so that a crafted file cannot smuggle a text where a number is read. Of the three
// indexes of `trials`, each insert touches two: a trial is in `best` or in `failed`, never in both.
//
// `candidate` is the hash of the scheduled program (of the trace, where there is none). `uid` is the hash of
// the trial's line in the text log; unique together with the rest, which spares an index of its own.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE workloads(
  id INTEGER PRIMARY KEY,
  program BLOB NOT NULL CHECK(length(program) = 16),
  json TEXT NOT NULL
) STRICT;
CREATE INDEX workloads_by_program ON workloads(program);

CREATE TABLE workload_names(
  workload INTEGER NOT NULL REFERENCES workloads(id),
  name TEXT NOT NULL,
  spec TEXT NOT NULL,
  PRIMARY KEY(workload, name, spec)
) STRICT, WITHOUT ROWID;
CREATE INDEX workload_names_by_name ON workload_names(name);

CREATE TABLE targets(
  id INTEGER PRIMARY KEY,
  fingerprint BLOB NOT NULL UNIQUE CHECK(length(fingerprint) = 16),
  name TEXT NOT NULL,
  json TEXT NOT NULL
) STRICT;

CREATE TABLE provenances(
  id INTEGER PRIMARY KEY,
  lathe TEXT NOT NULL,
  llvm TEXT NOT NULL,
  nvrtc TEXT NOT NULL,
  driver TEXT NOT NULL,
  host TEXT NOT NULL,
  host_class TEXT NOT NULL,
  UNIQUE(lathe, llvm, nvrtc, driver, host, host_class)
) STRICT;

CREATE TABLE host_classes(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE sessions(
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK(length(uid) = 16),
  state INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  options TEXT NOT NULL,
  budget_trials INTEGER NOT NULL,
  budget_seconds REAL NOT NULL,
  progress TEXT NOT NULL,
  reason TEXT NOT NULL,
  trials INTEGER NOT NULL,
  started_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  ended_us INTEGER NOT NULL,
  provenance INTEGER REFERENCES provenances(id),
  owner TEXT NOT NULL,
  pid INTEGER NOT NULL,
  pid_started INTEGER NOT NULL
) STRICT;

CREATE TABLE trials(
  id INTEGER PRIMARY KEY,
  workload INTEGER NOT NULL REFERENCES workloads(id),
  target INTEGER NOT NULL REFERENCES targets(id),
  semantics INTEGER NOT NULL,
  candidate BLOB NOT NULL CHECK(length(candidate) = 16),
  uid BLOB NOT NULL CHECK(length(uid) = 16),
  failure INTEGER NOT NULL,
  servable INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  regime INTEGER NOT NULL,
  host_class INTEGER NOT NULL REFERENCES host_classes(id),
  p10 REAL,
  minimum REAL,
  created_us INTEGER NOT NULL,
  session INTEGER REFERENCES sessions(id),
  provenance INTEGER NOT NULL REFERENCES provenances(id),
  seed INTEGER NOT NULL,
  round INTEGER NOT NULL,
  proposal INTEGER NOT NULL,
  scheduled BLOB,
  binary BLOB,
  times BLOB,
  accepted INTEGER NOT NULL,
  max_error REAL,
  tolerance REAL,
  reference TEXT NOT NULL,
  core_mhz REAL,
  memory_mhz REAL,
  registers INTEGER,
  spill_bytes INTEGER,
  shared_bytes INTEGER,
  error_code TEXT NOT NULL,
  error_text TEXT NOT NULL,
  trace TEXT NOT NULL,
  CHECK((failure = 0) = (p10 IS NOT NULL) AND (p10 IS NULL OR p10 > 0)),
  CHECK(servable = 0 OR (failure = 0 AND accepted = 1))
) STRICT;
CREATE UNIQUE INDEX trials_identity ON trials(workload, target, semantics, candidate, uid);
CREATE INDEX trials_best ON trials(workload, target, semantics, regime, host_class, p10, created_us, uid) WHERE servable = 1;
CREATE INDEX trials_failed ON trials(workload, target, semantics, failure, created_us) WHERE failure <> 0;

CREATE TABLE winners(
  workload INTEGER NOT NULL,
  target INTEGER NOT NULL,
  semantics INTEGER NOT NULL,
  regime INTEGER NOT NULL,
  host_class INTEGER NOT NULL,
  trial INTEGER NOT NULL REFERENCES trials(id),
  PRIMARY KEY(workload, target, semantics, regime, host_class)
) STRICT, WITHOUT ROWID;
)sql";

constexpr Migration kMigrations[] = {{1, kVersion1}};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

void check_identity(const std::string& path, std::int64_t application, std::int64_t version, bool has_tables,
                    int newest) {
  if (application != kApplicationId && (application != 0 || has_tables || version != 0)) {
    throw RecordError(code::R002, "'" + path +
                                      "' is a database, but not a record store of Lathe (application id " +
                                      std::to_string(static_cast<std::uint32_t>(application)) +
                                      "); it was left untouched. Name another file.");
  }
  if (application == kApplicationId && version > newest) {
    throw RecordError(code::R004, "record store '" + path + "' has schema " + std::to_string(version) +
                                      ", this Lathe knows up to " + std::to_string(newest) +
                                      "; it was left untouched. Use the newer Lathe, or let it write a text "
                                      "log with `lathe db export`.");
  }
}

void migrate(Connection& connection, std::span<const Migration> steps) {
  int newest = steps.back().to;
  auto identify = [&] {
    std::int64_t version = connection.integer("PRAGMA user_version");
    check_identity(connection.path(), connection.integer("PRAGMA application_id"), version,
                   connection.integer("SELECT count(*) FROM sqlite_master") > 0, newest);
    return version;
  };
  if (identify() == newest) return;
  Transaction transaction(connection, Transaction::Immediate);
  std::int64_t version = identify();  // another process may have been faster
  for (const Migration& step : steps) {
    if (step.to <= version) continue;
    connection.execute(step.sql);
  }
  connection.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  connection.execute(("PRAGMA user_version = " + std::to_string(newest)).c_str());
  transaction.commit();
}

}  // namespace lathe::records
