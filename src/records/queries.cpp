// What `lathe db` and `lathe trial` show.

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The ids that begin with the digits of `head`; nothing where those are too few to be one, or no digits.
std::optional<std::pair<Digest, Digest>> range_of(const std::string& head) {
  if (head.size() < 6 || head.size() > 32) return std::nullopt;
  std::string low = head, high = head;
  low.resize(32, '0'), high.resize(32, 'f');
  const auto from = Digest::parse(low), to = Digest::parse(high);
  if (!from || !to) return std::nullopt;
  return std::pair(*from, *to);
}

// At most two: more do not matter to whom looks for one.
std::vector<std::int64_t> trials_with_head(RecordStore::Impl& impl, const std::string& head) {
  std::vector<std::int64_t> ids;
  const auto range = range_of(head);
  if (!range) return ids;
  Statement row(impl.db(), "SELECT id FROM trials WHERE uid BETWEEN ? AND ? LIMIT 2", range->first,
                range->second);
  while (row.step()) ids.push_back(row.integer(0));
  return ids;
}

// Ids of the trials that a filter selects, ascending.
std::vector<std::int64_t> select_trials(RecordStore::Impl& impl, const Filter& filter) {
  std::vector<std::int64_t> ids;
  bool all_keys = filter.workload.empty() && filter.target.empty() && !filter.semantics;
  if (all_keys) {
    Statement row(impl.db(), "SELECT id FROM trials ORDER BY id");
    while (row.step()) ids.push_back(row.integer(0));
    return ids;
  }
  for (const KeyRef& key : select_keys(impl, filter)) {
    Statement row(impl.db(), "SELECT id FROM trials WHERE workload = ? AND target = ? AND semantics = ?",
                  key.workload, key.target, key.semantics);
    while (row.step()) ids.push_back(row.integer(0));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

KeySummary summary_of(RecordStore::Impl& impl, const KeyRef& key) {
  KeySummary summary;
  summary.key = key;
  summary.workload = load_workload(impl, key.workload, false);
  Statement specs(impl.db(), "SELECT DISTINCT spec FROM workload_names WHERE workload = ? ORDER BY spec",
                  key.workload);
  while (specs.step()) summary.specs.push_back(specs.string(0));
  summary.target = load_target(impl, key.target);
  Statement all(impl.db(), "SELECT count(*) FROM trials WHERE workload = ? AND target = ? AND semantics = ?",
                key.workload, key.target, key.semantics);
  if (all.step()) summary.trials = all.integer(0);
  Statement failed(
      impl.db(),
      "SELECT count(*) FROM trials WHERE workload = ? AND target = ? AND semantics = ? AND failure <> 0",
      key.workload, key.target, key.semantics);
  if (failed.step()) summary.failed = failed.integer(0);
  summary.timed = summary.trials - summary.failed;
  if (std::int64_t id = winner_of(impl, {&key, 1}, Query{})) {
    Trial best = load_trial(impl, id);
    summary.best = best.p10;
    summary.best_regime = best.regime;
    summary.best_stale = best.stale;
  }
  return summary;
}

}  // namespace

std::vector<Winner> RecordStore::winners(const Filter& filter) const {
  Reading turn(*impl_);
  std::vector<Winner> result;
  for (const KeyRef& key : select_keys(*impl_, filter)) {
    Statement row(impl_->db(),
                  "SELECT trial FROM winners WHERE workload = ? AND target = ? AND semantics = ? ORDER BY "
                  "regime, host_class",
                  key.workload, key.target, key.semantics);
    while (row.step()) {
      if (filter.limit > 0 && static_cast<std::int64_t>(result.size()) >= filter.limit) return result;
      result.push_back({load_workload(*impl_, key.workload), load_target(*impl_, key.target),
                        load_trial(*impl_, row.integer(0))});
    }
  }
  return result;
}

std::vector<KeySummary> RecordStore::summary(const Filter& filter) const {
  Reading turn(*impl_);
  std::vector<KeySummary> result;
  for (const KeyRef& key : select_keys(*impl_, filter)) {
    if (filter.limit > 0 && static_cast<std::int64_t>(result.size()) >= filter.limit) break;
    result.push_back(summary_of(*impl_, key));
  }
  return result;
}

Trial RecordStore::trial(const std::string& id) const {
  Reading turn(*impl_);
  const std::vector<std::int64_t> found = trials_with_head(*impl_, id);
  // Leading digits of an id may all be decimal ones, so ids come first.
  if (found.empty() && is_number(id)) return load_trial(*impl_, std::stoll(id));
  if (found.size() == 1) return load_trial(*impl_, found[0]);
  if (!found.empty())
    throw RecordError(code::R013, "several trials of record store '" + path() +
                                      "' have an id that begins with " + id + ". Give more digits.");
  if (!range_of(id))
    throw RecordError(
        code::R013,
        "'" + id + "' names no trial: give its number, or at least the first 6 digits of its id.");
  throw RecordError(code::R013, "record store '" + path() + "' has no trial whose id begins with " + id +
                                    ". `lathe db best` shows ids.");
}

std::optional<Winner> RecordStore::trial_with_key(std::int64_t id) const {
  Reading turn(*impl_);
  Statement row(impl_->db(), "SELECT workload, target FROM trials WHERE id = ?", id);
  if (!row.step()) return std::nullopt;
  return Winner{load_workload(*impl_, row.integer(0)), load_target(*impl_, row.integer(1)),
                load_trial(*impl_, id)};
}

void RecordStore::for_each_trial(const Filter& filter, const std::function<bool(const Trial&)>& visit) const {
  Reading turn(*impl_);
  std::int64_t visited = 0;
  for (std::int64_t id : select_trials(*impl_, filter)) {
    Trial trial = load_trial(*impl_, id);
    if (filter.timed_only && trial.failure != Failure::None) continue;
    if (filter.failed_only && trial.failure == Failure::None) continue;
    if (filter.session && trial.session != filter.session) continue;
    if (!visit(trial)) return;
    if (++visited == filter.limit) return;
  }
}

Statistics RecordStore::statistics() const {
  Reading turn(*impl_);
  Connection& db = impl_->db();
  Statistics s;
  s.path = path();
  s.schema = static_cast<int>(db.integer("PRAGMA user_version"));
  s.file_bytes = db.integer("PRAGMA page_count") * db.integer("PRAGMA page_size");
  s.log_bytes = file_size(path() + "-wal");
  s.workloads = db.integer("SELECT count(*) FROM workloads");
  s.targets = db.integer("SELECT count(*) FROM targets");
  s.sessions = db.integer("SELECT count(*) FROM sessions WHERE state <> 4");
  s.trials = db.integer("SELECT count(*) FROM trials");
  s.stale = db.integer("SELECT count(*) FROM trials WHERE stale <> 0");
  s.winners = db.integer("SELECT count(*) FROM winners");
  Statement failures(
      db, "SELECT failure, count(*) FROM trials WHERE failure <> 0 GROUP BY failure ORDER BY failure");
  while (failures.step()) {
    s.failures.emplace_back(static_cast<Failure>(failures.integer(0)), failures.integer(1));
    s.failed += failures.integer(1);
  }
  s.timed = s.trials - s.failed;
  return s;
}

std::vector<Measured> RecordStore::measured(const KeyRef& key) const {
  Reading turn(*impl_);
  impl_->check_key(key);
  std::vector<Measured> result;
  Statement row(impl_->db(),
                "SELECT candidate, failure, p10, stale FROM trials WHERE workload = ? AND target = ? AND "
                "semantics = ? ORDER BY candidate, uid",
                key.workload, key.target, key.semantics);
  while (row.step())
    result.push_back({row.digest(0), static_cast<Failure>(row.integer(1)), row.real(2), row.integer(3) != 0});
  return result;
}

bool RecordStore::was_measured(const KeyRef& key, const Digest& candidate) const {
  Reading turn(*impl_);
  impl_->check_key(key);
  Statement row(impl_->db(),
                "SELECT 1 FROM trials WHERE workload = ? AND target = ? AND semantics = ? AND candidate = ? "
                "AND stale = 0 LIMIT 1",
                key.workload, key.target, key.semantics, candidate);
  return row.step();
}

}  // namespace lathe::records
