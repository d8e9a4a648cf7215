// Looking up: what is served under a key, and what may seed a search.

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "records/spec_distance.h"
#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

// A trial that may be served, and how well it fits: the wanted regime, the wanted number of threads, the wanted host
// class, then the time, then age.
struct Candidate {
  bool other_regime, other_threads, other_class;
  double p10;
  std::int64_t created_us;
  Digest uid, schedule;
  std::int64_t id;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.other_regime, a.other_threads, a.other_class, a.p10, a.created_us, a.uid) <
           std::tie(b.other_regime, b.other_threads, b.other_class, b.p10, b.created_us, b.uid);
  }
};

bool is_stale(RecordStore::Impl& impl, const Query& wanted, bool marked, std::int64_t provenance) {
  return marked || (wanted.current && !same_versions(impl.provenance(provenance), *wanted.current));
}

// The trials of a key that may be compared with one another.
struct Group {
  KeyRef key;
  Regime regime;
  std::int64_t host_class;
  std::string class_name;
};

std::vector<Group> groups_of(RecordStore::Impl& impl, const KeyRef& key) {
  std::vector<Group> groups;
  Statement row(
      impl.db(),
      "SELECT w.regime, w.host_class, c.name FROM winners w JOIN host_classes c ON c.id = w.host_class "
      "WHERE w.workload = ? AND w.target = ? AND w.semantics = ?",
      key.workload, key.target, key.semantics);
  while (row.step())
    groups.push_back({key, static_cast<Regime>(row.integer(0)), row.integer(1), row.string(2)});
  return groups;
}

// The first `limit` schedules of one group in the order of their times, each once.
void best_of_group(RecordStore::Impl& impl, const Group& group, const Query& wanted, std::size_t limit,
                   std::vector<Candidate>& out) {
  const KeyRef& key = group.key;
  const bool other_threads = wanted.threads > 0 && threads_of(group.class_name) != wanted.threads;
  const bool other_class = !wanted.host_class.empty() && group.class_name != wanted.host_class;
  Statement row(
      impl.db(),
      "SELECT p10, created_us, uid, candidate, id, stale, provenance FROM trials WHERE workload = ? AND "
      "target = ? AND "
      "semantics = ? AND regime = ? AND host_class = ? AND servable = 1 ORDER BY p10, created_us, uid",
      key.workload, key.target, key.semantics, static_cast<int>(group.regime), group.host_class);
  std::set<Digest> seen;
  while (seen.size() < limit && row.step()) {
    if (!wanted.accept_stale && is_stale(impl, wanted, row.integer(5) != 0, row.integer(6))) continue;
    Digest schedule = row.digest(3);
    if (!seen.insert(schedule).second) continue;
    out.push_back({group.regime != wanted.regime, other_threads, other_class, row.real(0), row.integer(1),
                   row.digest(2), schedule, row.integer(4)});
  }
}

std::vector<Candidate> best_of(RecordStore::Impl& impl, std::span<const KeyRef> keys, const Query& wanted,
                               std::size_t limit) {
  std::vector<Candidate> found;
  for (const KeyRef& key : keys) {
    for (const Group& group : groups_of(impl, key)) best_of_group(impl, group, wanted, limit, found);
  }
  std::sort(found.begin(), found.end());
  std::set<Digest> seen;
  std::erase_if(found, [&](const Candidate& candidate) { return !seen.insert(candidate.schedule).second; });
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::vector<KeyRef> keys_asked(RecordStore::Impl& impl, const Key& key) {
  std::vector<KeyRef> keys;
  std::int64_t target = find_target(impl, key.target.fingerprint);
  if (target == 0) return keys;
  for (std::int64_t workload : find_program(impl, key.workload).same)
    keys.push_back({workload, target, key.semantics, impl.tag()});
  return keys;
}

std::string versions(const Provenance& p) {
  std::string text = "Lathe " + (p.lathe.empty() ? "?" : p.lathe);
  if (!p.llvm.empty()) text += ", LLVM " + p.llvm;
  if (!p.nvrtc.empty()) text += ", NVRTC " + p.nvrtc;
  if (!p.driver.empty()) text += ", driver " + p.driver;
  return text;
}

std::string counted(std::int64_t threads) {
  return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

Hit hit_of(Trial trial, const Query& wanted) {
  Hit hit;
  bool differs = wanted.current && !same_versions(trial.provenance, *wanted.current);
  hit.stale = trial.stale || differs;
  if (hit.stale) {
    hit.note = "the schedule replays; its time is stale: it was measured with " + versions(trial.provenance);
    hit.note += differs ? ", this is " + versions(*wanted.current) : ", and versions have changed since";
    hit.note += ". Measure it again with `lathe tune`.";
  }
  const std::int64_t threads = threads_of(trial.provenance.host_class);
  if (wanted.threads > 0 && threads > 0 && threads != wanted.threads) {
    hit.note += hit.note.empty() ? "" : " ";
    hit.note += "it was measured with " + counted(threads) + ", the target has " + counted(wanted.threads) +
                ": another schedule may be faster. Tune with `lathe tune` on as many.";
  }
  if (trial.regime != wanted.regime) {
    hit.note += hit.note.empty() ? "" : " ";
    hit.note += "its times are of " + std::string(to_string(trial.regime)) + " caches: there are none of " +
                std::string(to_string(wanted.regime)) + " ones.";
  }
  hit.trial = std::move(trial);
  return hit;
}

struct Near {
  KeyRef key;
  bool same_program, same_target;
  double distance;
};

}  // namespace

ProgramRows find_program(RecordStore::Impl& impl, const Workload& workload) {
  ProgramRows rows;
  std::string canonical;  // made only when the text as given is not what is stored
  Statement row(impl.db(), "SELECT id, json FROM workloads WHERE program = ? ORDER BY id", workload.program);
  while (row.step()) {
    bool same = row.text(1) == workload.program_json;
    if (!same) {
      if (canonical.empty()) canonical = require_json(workload.program_json, "the program of a workload");
      same = impl.same_program(row.string(1), canonical);
    }
    (same ? rows.same : rows.other).push_back(row.integer(0));
  }
  return rows;
}

std::int64_t find_target(RecordStore::Impl& impl, const Digest& fingerprint) {
  Statement row(impl.db(), "SELECT id FROM targets WHERE fingerprint = ?", fingerprint);
  return row.step() ? row.integer(0) : 0;
}

std::int64_t winner_of(RecordStore::Impl& impl, std::span<const KeyRef> keys, const Query& wanted) {
  std::vector<Candidate> best = best_of(impl, keys, wanted, 1);
  return best.empty() ? 0 : best.front().id;
}

Lookup RecordStore::lookup(const Query& query) const {
  Reading turn(*impl_);
  std::vector<KeyRef> keys = keys_asked(*impl_, query.key);
  if (std::int64_t id = winner_of(*impl_, keys, query)) return hit_of(load_trial(*impl_, id), query);
  return explain_miss(*impl_, query);
}

Hit RecordStore::require(const Query& query) const {
  Lookup found = lookup(query);
  if (Miss* miss = std::get_if<Miss>(&found)) {
    throw RecordError(code::R016,
                      "record store '" + path() + "': " + miss->text() +
                          "Tune the workload for this target, or build with the default schedule.");
  }
  return std::get<Hit>(std::move(found));
}

std::vector<Trial> RecordStore::best(const Query& query, int k) const {
  Reading turn(*impl_);
  std::vector<Trial> trials;
  if (k <= 0) return trials;
  std::vector<KeyRef> keys = keys_asked(*impl_, query.key);
  for (const Candidate& candidate : best_of(*impl_, keys, query, static_cast<std::size_t>(k))) {
    trials.push_back(load_trial(*impl_, candidate.id));
  }
  return trials;
}

std::vector<Neighbour> RecordStore::nearest(const Key& key, int limit) const {
  Reading turn(*impl_);
  std::int64_t target = find_target(*impl_, key.target.fingerprint);
  std::vector<std::int64_t> same = find_program(*impl_, key.workload).same;
  std::vector<Near> near;
  auto add = [&](std::int64_t workload, bool same_program, double distance) {
    for (const KeyRef& ref : keys_of(*impl_, workload)) {
      bool same_target = target != 0 && ref.target == target;
      if (ref.semantics == key.semantics && !(same_program && same_target))
        near.push_back({ref, same_program, same_target, distance});
    }
  };
  for (std::int64_t workload : same) add(workload, true, 0);
  std::set<std::int64_t> seen(same.begin(), same.end());
  Statement named(
      impl_->db(),
      "SELECT workload, min(spec) FROM workload_names WHERE name = ? GROUP BY workload ORDER BY workload",
      key.workload.name);
  while (named.step()) {
    if (seen.insert(named.integer(0)).second)
      add(named.integer(0), false, spec_distance(key.workload.spec, named.text(1)));
  }
  std::stable_sort(near.begin(), near.end(), [](const Near& a, const Near& b) {
    return std::tuple(!a.same_program, !a.same_target, a.distance) <
           std::tuple(!b.same_program, !b.same_target, b.distance);
  });
  std::vector<Neighbour> result;
  for (const Near& candidate : near) {
    if (static_cast<int>(result.size()) >= limit) break;
    std::int64_t id = winner_of(*impl_, {&candidate.key, 1}, Query{});
    if (id == 0) continue;
    result.push_back({load_workload(*impl_, candidate.key.workload),
                      load_target(*impl_, candidate.key.target), load_trial(*impl_, id),
                      candidate.same_program, candidate.same_target, candidate.distance});
  }
  return result;
}

}  // namespace lathe::records
