#pragma once
// The inside of a RecordStore, shared by the files that implement its parts.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/records.h"
#include "records/sqlite.h"

namespace lathe::records {

/// Small integers of the texts that trials share. Filled from the tables on demand; forgotten when a
/// transaction is undone.
struct Dictionary {
  std::map<Provenance, std::int64_t> provenance_ids;
  std::map<std::int64_t, Provenance> provenances;
  std::map<std::string, std::int64_t, std::less<>> host_class_ids;
  std::map<Digest, std::int64_t> session_ids;
  std::map<std::int64_t, Digest> session_uids;
  std::map<std::int64_t, Digest> programs, fingerprints;  ///< by row of workloads, targets
};

struct RecordStore::Impl {
  Impl(std::unique_ptr<Connection> connection, const OpenOptions& options, bool read_only);
  ~Impl();

  std::unique_ptr<Connection> connection;
  OpenOptions options;
  bool read_only;
  std::int64_t owner;  ///< process; a store does not survive fork()
  std::recursive_mutex mutex;
  int snapshots = 0;
  int writings = 0;  ///< turns for writing that are open, one within the other
  Dictionary dictionary;
  std::int64_t last_created_us = 0;

  Connection& db() { return *connection; }
  /// Tells the keys of this store from another's: no two open stores share an address.
  std::uint64_t tag() const { return reinterpret_cast<std::uintptr_t>(this); }
  void check_key(const KeyRef& key) const;  ///< throws R012 for another store's

  std::int64_t provenance_id(const Provenance& provenance);  ///< adds it
  const Provenance& provenance(std::int64_t id);
  std::int64_t host_class_id(const std::string& name);    ///< adds it
  std::int64_t find_host_class(const std::string& name);  ///< 0 when there is none
  std::int64_t session_id(const Digest& uid);             ///< adds it as external
  Digest session_uid(std::int64_t id);
  Digest program_of(std::int64_t workload);
  Digest fingerprint_of(std::int64_t target);
  bool same_program(const std::string& a, const std::string& b) const;
  std::int64_t now_us();  ///< never twice the same
};

/// A turn at the store, for reading: one thread at a time, one state of the database throughout.
class Reading {
 public:
  explicit Reading(RecordStore::Impl& impl);

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  std::optional<Transaction> transaction_;
};

/// A turn for writing. Undone unless committed.
class Writing {
 public:
  explicit Writing(RecordStore::Impl& impl);
  ~Writing();
  void commit();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  RecordStore::Impl& impl_;
  std::optional<Transaction> transaction_;
  bool committed_ = false;
};

/// Checks without a transaction: for what SQLite runs only outside of one.
void check_turn(const RecordStore::Impl& impl, bool writing);

// Shared steps; all expect a turn to be held.
// -----------------------------------------------------------------------------

/// Why a trial cannot be stored.
struct Refusal {
  std::string problem, way_out;
};
/// Cleans texts, brings the trace into canonical form, computes p10 and minimum. Throws Refusal.
void normalise(Trial& trial);

/// A normalised trial with its uid.
struct ReadyTrial {
  Trial trial;
  Digest candidate;
};
/// Throws R012.
ReadyTrial make_ready(RecordStore::Impl& impl, const Trial& trial);
/// Inserts; false when the uid is there already (a stale mark is then taken over).
bool insert_ready(RecordStore::Impl& impl, const ReadyTrial& ready);
/// What the rule says of each of a key's trials, beside what is written.
struct Verdict {
  std::int64_t trial, regime, host_class;
  bool is, should;
};
std::vector<Verdict> verdicts(RecordStore::Impl& impl, const KeyRef& key);
/// Recomputes which of a key's trials are servable, and its winners.
void settle_key(RecordStore::Impl& impl, const KeyRef& key);

/// As `RecordStore::intern`, for texts that are canonical already.
std::int64_t intern_workload(RecordStore::Impl& impl, const Digest& program, const std::string& json);
void intern_name(RecordStore::Impl& impl, std::int64_t workload, const std::string& name,
                 const std::string& spec);
std::int64_t intern_target(RecordStore::Impl& impl, const Digest& fingerprint, const std::string& name,
                           const std::string& json);

Trial load_trial(RecordStore::Impl& impl, std::int64_t id);
Workload load_workload(RecordStore::Impl& impl, std::int64_t id, bool with_program = true);
TargetRecord load_target(RecordStore::Impl& impl, std::int64_t id);

/// Rows of workloads that have a program's hash: those that are the program, and those that only share its
/// hash.
struct ProgramRows {
  std::vector<std::int64_t> same, other;
};
ProgramRows find_program(RecordStore::Impl& impl, const Workload& workload);
/// 0 when there is none.
std::int64_t find_target(RecordStore::Impl& impl, const Digest& fingerprint);
/// The keys under which a workload has trials.
std::vector<KeyRef> keys_of(RecordStore::Impl& impl, std::int64_t workload);
/// The trial that `lookup` serves under a key; 0 when there is none.
std::int64_t winner_of(RecordStore::Impl& impl, std::span<const KeyRef> keys, const Query& wanted);
/// Why nothing was served.
Miss explain_miss(RecordStore::Impl& impl, const Query& query);

/// Rows that a filter's workload, target and semantics select; in order.
std::vector<KeyRef> select_keys(RecordStore::Impl& impl, const Filter& filter);

/// Canonical JSON, or R012 naming `what`.
std::string require_json(const std::string& text, const char* what);

}  // namespace lathe::records
