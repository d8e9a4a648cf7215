// Stale times, pruning and compaction.

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "records/store.h"

namespace lathe::records {

namespace {

// Provenances whose times no longer hold under `current`.
std::set<std::int64_t> stale_provenances(RecordStore::Impl& impl, const Provenance& current) {
  std::set<std::int64_t> stale;
  Statement row(impl.db(), "SELECT id FROM provenances");
  while (row.step()) {
    if (!same_versions(impl.provenance(row.integer(0)), current)) stale.insert(row.integer(0));
  }
  return stale;
}

std::vector<std::pair<std::int64_t, bool>> wrong_marks(RecordStore::Impl& impl, const KeyRef& key,
                                                       const std::set<std::int64_t>& stale) {
  std::vector<std::pair<std::int64_t, bool>> changes;
  Statement row(
      impl.db(),
      "SELECT id, provenance, stale FROM trials WHERE workload = ? AND target = ? AND semantics = ?",
      key.workload, key.target, key.semantics);
  while (row.step()) {
    bool should = stale.contains(row.integer(1));
    if (should != (row.integer(2) != 0)) changes.emplace_back(row.integer(0), should);
  }
  return changes;
}

struct Prunable {
  std::int64_t id;
  Failure failure;
  bool servable;
  Regime regime;
  std::int64_t host_class, created_us;
  double p10;
  Digest uid;
};

std::vector<Prunable> prunable(RecordStore::Impl& impl, const KeyRef& key) {
  std::vector<Prunable> rows;
  Statement row(impl.db(),
                "SELECT id, failure, servable, regime, host_class, created_us, p10, uid FROM trials WHERE "
                "workload = ? AND target = ? AND "
                "semantics = ?",
                key.workload, key.target, key.semantics);
  while (row.step()) {
    rows.push_back({row.integer(0), static_cast<Failure>(row.integer(1)), row.integer(2) != 0,
                    static_cast<Regime>(row.integer(3)), row.integer(4), row.integer(5), row.real(6),
                    row.digest(7)});
  }
  std::sort(rows.begin(), rows.end(), [](const Prunable& a, const Prunable& b) {
    return std::tuple(!a.servable, a.p10, a.created_us, a.uid) <
           std::tuple(!b.servable, b.p10, b.created_us, b.uid);
  });
  return rows;
}

// Failures that refute a schedule stay: without them an older time of it would be served again.
bool drop(const Prunable& trial, const PruneOptions& options,
          std::map<std::pair<Regime, std::int64_t>, std::int64_t>& kept) {
  if (trial.failure != Failure::None) {
    return options.drop_failures_before_us && trial.created_us < *options.drop_failures_before_us &&
           !refutes(trial.failure);
  }
  if (options.keep_top <= 0) return false;
  return !trial.servable || ++kept[{trial.regime, trial.host_class}] > options.keep_top;
}

// Upkeep takes a transaction a key: other writers get their turn in between, and a crash leaves whole keys.
std::vector<KeyRef> all_keys(RecordStore::Impl& impl, const Filter& filter) {
  Reading turn(impl);
  return select_keys(impl, filter);
}

std::int64_t bytes_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
}

}  // namespace

std::int64_t RecordStore::mark_stale_times(const Provenance& current) {
  std::int64_t changed = 0;
  for (const KeyRef& key : all_keys(*impl_, {})) {
    Writing turn(*impl_);
    auto changes = wrong_marks(*impl_, key, stale_provenances(*impl_, current));
    if (changes.empty()) continue;
    for (auto [id, stale] : changes)
      Statement(impl_->db(), "UPDATE trials SET stale = ? WHERE id = ?", stale, id).run();
    settle_key(*impl_, key);
    turn.commit();
    changed += static_cast<std::int64_t>(changes.size());
  }
  return changed;
}

PruneReport RecordStore::prune(const PruneOptions& options) {
  PruneReport report;
  auto prune_key = [&](const KeyRef& key) {
    std::map<std::pair<Regime, std::int64_t>, std::int64_t> kept;
    bool removed = false;
    for (const Prunable& trial : prunable(*impl_, key)) {
      if (!drop(trial, options, kept)) {
        ++report.kept;
        continue;
      }
      ++(trial.failure == Failure::None ? report.timed_removed : report.failures_removed);
      removed = true;
      if (!options.dry_run) Statement(impl_->db(), "DELETE FROM trials WHERE id = ?", trial.id).run();
    }
    if (removed && !options.dry_run) settle_key(*impl_, key);
  };
  for (const KeyRef& key : all_keys(*impl_, options.filter)) {
    if (options.dry_run) {
      Reading turn(*impl_);
      prune_key(key);
    } else {
      Writing turn(*impl_);
      prune_key(key);
      turn.commit();
    }
  }
  return report;
}

std::int64_t RecordStore::compact() {
  std::lock_guard lock(impl_->mutex);
  check_turn(*impl_, true);
  auto bytes = [&] { return bytes_of(path()) + bytes_of(path() + "-wal"); };
  std::int64_t before = bytes();
  impl_->db().execute("VACUUM");
  Statement(impl_->db(), "PRAGMA wal_checkpoint(TRUNCATE)").run();
  return before - bytes();
}

}  // namespace lathe::records
