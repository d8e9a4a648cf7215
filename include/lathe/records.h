#pragma once
// The record store: one SQLite file that many processes write at once, and that production reads without
// tuning anything.
//
// Promises (docs/records.md has the schema, the text format and the reasons):
//   * What a call acknowledged survives `kill -9` of any process; what it did not acknowledge is absent as a
//   whole.
//   * A failed open leaves the file as it was, byte for byte.
//   * `lookup` serves a trial only under an equal key (program compared in full, target, semantics version),
//   only with a
//     verified time, and never one whose schedule a later trial refuted. Everything else is a Miss that says
//     which part of the key differs. `nearest` is for seeding a search and is never consulted by `lookup`.
//   * Times are compared within one regime and host class, never averaged; ties go to the earlier trial.
//
// Every function throws RecordError (LTH-R…). A store may be used by several threads (calls take turns), by
// several processes through one store each, and not across fork().

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lathe/error.h"
#include "lathe/record_types.h"

namespace lathe::records {

enum class OpenMode {
  ReadWrite,  ///< creates the file unless `create` is false
  ReadOnly,   ///< also in a read-only directory
  Memory,     ///< private, gone with the store
};

struct OpenOptions {
  OpenMode mode = OpenMode::ReadWrite;
  bool create = true;
  /// How long to wait for another writer. Below 10 s, two busy tuners do run into it.
  std::chrono::milliseconds busy_timeout{15'000};
  /// SQLite's locks and shared memory do not work over a network. Only for file systems known to do both.
  bool trust_file_system = false;
  /// Whether two programs of equal hash are the same up to names. Default: equal text.
  std::function<bool(const std::string& a, const std::string& b)> same_program;
};

// Looking up.

struct Query {
  Key key;
  /// Preferred, and by default that of sessions that were not asked for another: times of the other regime serve only where
  /// there are none of this one. So a short session with cold caches displaces no winner of a long one with warm ones.
  Regime regime = Regime::Warm;
  std::int64_t threads = 0;           ///< of parallel loops; times of as many are preferred likewise. 0: any
  std::string host_class;             ///< preferred likewise; empty: any
  bool accept_stale = true;           ///< a stale time does not make a schedule wrong
  std::optional<Provenance> current;  ///< versions of the caller, to say what is stale
};

struct Hit {
  Trial trial;
  bool stale = false;  ///< marked so, or measured with other versions than `Query::current`
  /// What is stale and why, naming versions; that regime or threads are not those asked for. Else empty.
  std::string note;
};

enum class MissReason {
  NoSuchProgram,   ///< never tuned
  OtherProgram,    ///< the hash is known, for a different program
  OtherTarget,     ///< tuned for other targets only
  OtherSemantics,  ///< tuned under other schedule-semantics versions only
  NoTrials,        ///< the key is known, nothing was tried
  OnlyFailures,
  OnlyRefuted,  ///< times exist, but every such schedule was later found wrong
  OnlyStale,    ///< and the query does not accept stale times
};
std::string_view to_string(MissReason reason);

/// One part of the key, and how the nearest records differ in it.
struct MissPart {
  std::string part;  ///< "program", "target", "semantics", "trials"
  bool fits = false;
  std::string text;  ///< one line or several
};

struct Miss {
  MissReason reason = MissReason::NoSuchProgram;
  std::vector<MissPart> parts;
  std::string text() const;
};

using Lookup = std::variant<Hit, Miss>;

/// A record under another key.
struct Neighbour {
  Workload workload;
  TargetRecord target;
  Trial trial;  ///< its best
  bool same_program = false, same_target = false;
  double distance = 0;  ///< sum of |log2| ratios of the sizes in the specs; 0 for the same program
};

/// What `trials`, `winners` and `export_lines` select. Everything unset: all.
struct Filter {
  std::string workload;  ///< name, whole spec, or at least 6 leading digits of the program hash
  std::string target;    ///< name, or at least 6 leading digits of the fingerprint
  std::optional<int> semantics;
  std::optional<Digest> session;
  bool timed_only = false, failed_only = false;
  std::int64_t limit = 0;  ///< 0: none
};

/// A workload on a target, with its winner.
struct Winner {
  Workload workload;
  TargetRecord target;
  Trial trial;
};

/// One line of `lathe db ls`.
struct KeySummary {
  Workload workload;  ///< without its program text
  std::vector<std::string>
      specs;  ///< by which it was tuned, each once: equal programs have one key, whatever their names
  TargetRecord target;
  KeyRef key;
  std::int64_t trials = 0, timed = 0, failed = 0;
  std::optional<double> best;  ///< p10 in seconds of the best winner
  Regime best_regime = Regime::Warm;
  bool best_stale = false;
};

struct Statistics {
  std::string path;
  int schema = 0;
  std::int64_t file_bytes = 0, log_bytes = 0;  ///< database; write-ahead log
  std::int64_t workloads = 0, targets = 0, sessions = 0, trials = 0, timed = 0, failed = 0, stale = 0,
               winners = 0;
  std::vector<std::pair<Failure, std::int64_t>> failures;  ///< by class
};

// Sessions.

struct Commit {
  std::vector<Digest> uids;     ///< of the trials, in order
  std::int64_t duplicates = 0;  ///< were there already
};

/// A candidate that has been measured under a key.
struct Measured {
  Digest candidate;
  Failure failure = Failure::None;
  double p10 = 0;
  bool stale = false;
};

// Upkeep.

struct PruneOptions {
  std::int64_t keep_top =
      0;  ///< timed trials kept per key, regime and host class; 0: all. Winners always stay.
  std::optional<std::int64_t> drop_failures_before_us;  ///< failures older than this go, refutations excepted
  Filter filter;                                        ///< workload, target and semantics only
  bool dry_run = false;
};

struct PruneReport {
  std::int64_t timed_removed = 0, failures_removed = 0, kept = 0;
};

struct ExportOptions {
  Filter filter;
  bool winners_only = false;  ///< what a project ships: one trial a key, regime and host class, no sessions
};

struct ImportReport {
  std::int64_t lines = 0, workloads = 0, targets = 0, sessions = 0, trials = 0;  ///< new ones
  std::int64_t known = 0;  ///< lines whose content was here already
};

struct ExportReport {
  std::int64_t lines = 0;
  Digest digest;  ///< of the text: equal text, equal digest
};

class RecordStore {
 public:
  /// Throws R001 (no such file or directory), R002 (not of Lathe), R003 (damaged), R004 (newer), R005 (older
  /// and read-only), R006 (read-only), R007 (network file system), R008 (disk full), R009 (locked), R010
  /// (system), R017 (unmerged log).
  static RecordStore open(const std::string& path, const OpenOptions& options = {});
  /// An empty private store.
  static RecordStore in_memory(const OpenOptions& options = {});
  /// A private store with the content of a text log; how production reads shipped winners without a database.
  static RecordStore from_text(std::istream& lines, const std::string& name, const OpenOptions& options = {});

  RecordStore(RecordStore&&) noexcept;
  RecordStore& operator=(RecordStore&&) noexcept;
  ~RecordStore();

  const std::string& path() const;
  bool read_only() const;

  // Writing.

  /// Notes the workload and the target; later calls find them. Program and target JSON must be well-formed
  /// (R012).
  KeyRef intern(const Key& key);
  /// All or none, in one transaction. A trial without verification, with a non-finite time, or with malformed
  /// JSON is refused (R012) and nothing is written. A trial that is there already (same uid) is counted, not
  /// doubled.
  Commit insert(std::span<const Trial> trials);
  std::int64_t mark_stale_times(const Provenance& current);  ///< returns how many trials changed
  PruneReport prune(const PruneOptions& options);
  /// Rebuilds the file without free space; returns the bytes saved.
  std::int64_t compact();

  // Looking up.

  Lookup lookup(const Query& query) const;
  /// As `lookup`, but a miss is an error (R016) with the explanation as its text.
  Hit require(const Query& query) const;
  /// What `lookup` found, or why it missed, part by part.
  std::string why(const Query& query) const;
  /// The k best schedules under the key, each once: those that `lookup` might serve, best first.
  std::vector<Trial> best(const Query& query, int k) const;
  std::vector<Neighbour> nearest(const Key& key, int limit) const;
  std::vector<Winner> winners(const Filter& filter = {}) const;
  std::vector<KeySummary> summary(const Filter& filter = {}) const;
  /// By number in this file, or by (a leading part of at least 6 digits of) the uid. R013 when there is none
  /// or several.
  Trial trial(const std::string& id) const;
  std::optional<Winner> trial_with_key(std::int64_t id) const;
  /// In order of id; return false to stop.
  void for_each_trial(const Filter& filter, const std::function<bool(const Trial&)>& visit) const;
  Statistics statistics() const;

  // Sessions.

  /// Starts a session owned by this process; returns its uid.
  Digest begin_session(const Session& session);
  void heartbeat(const Digest& session);
  /// Trials and the session's state in one transaction: after a crash both are as of the same batch.
  Commit commit(const Digest& session, std::span<const Trial> trials, const std::string& progress_json);
  void end_session(const Digest& session, SessionState state, const std::string& reason = {});
  /// Takes over a session that is not running; R014 when its owner is alive.
  Session resume_session(const Digest& session);
  /// Newest first. A running session whose owner is gone is shown as interrupted.
  std::vector<Session> sessions() const;
  Session session(const Digest& session) const;
  /// Writes the interrupted state down; returns how many.
  std::int64_t detect_interrupted();
  /// What resuming need not measure again: every candidate tried under the key.
  std::vector<Measured> measured(const KeyRef& key) const;
  bool was_measured(const KeyRef& key, const Digest& candidate) const;

  // Text.

  /// JSON lines in byte order: the same content gives the same bytes. Throws R010 when `out` fails.
  ExportReport export_lines(std::ostream& out, const ExportOptions& options = {}) const;
  /// The digest of what `export_lines` would write: processes that must decide alike compare it.
  Digest digest(const ExportOptions& options = {.filter = {}, .winners_only = true}) const;
  /// All or nothing; importing twice changes nothing. `name` is for errors: R015 (bad line), R018 (newer
  /// format).
  ImportReport import_lines(std::istream& in, const std::string& name);

  // Trust.

  /// SQLite's integrity check and our invariants; the problems as sentences, empty when none.
  std::vector<std::string> check() const;

  /// While it lives, this store reads the state of one moment, whatever others commit.
  class Snapshot;
  Snapshot snapshot() const;

  struct Impl;  ///< defined in src/records

 private:
  explicit RecordStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Ends when destroyed; must not outlive its store.
class RecordStore::Snapshot {
 public:
  Snapshot(Snapshot&& other) noexcept : impl_(other.impl_) { other.impl_ = nullptr; }
  Snapshot& operator=(Snapshot&&) = delete;
  ~Snapshot();

 private:
  friend class RecordStore;
  explicit Snapshot(Impl& impl) : impl_(&impl) {}
  Impl* impl_;
};

/// The version of the text format that this Lathe writes, and the newest it reads.
inline constexpr int kTextFormat = 1;

}  // namespace lathe::records

namespace lathe {
using records::RecordStore;
}
