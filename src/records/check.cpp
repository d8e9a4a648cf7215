// The check of everything the store promises about its content.

#include <cmath>
#include <map>

#include "records/json_text.h"
#include "records/lines.h"
#include "records/store.h"

namespace lathe::records {

namespace {

using Problems = std::vector<std::string>;
constexpr std::size_t kEnough = 100;

void check_file(RecordStore::Impl& impl, Problems& problems) {
  Statement integrity(impl.db(), "PRAGMA integrity_check(100)");
  while (integrity.step()) {
    if (integrity.text(0) != "ok") problems.push_back("the file is damaged: " + integrity.string(0));
  }
  Statement keys(impl.db(), "PRAGMA foreign_key_check");
  while (keys.step() && problems.size() < kEnough) {
    problems.push_back("row " + std::to_string(keys.integer(1)) + " of " + keys.string(0) +
                       " refers to a row of " + keys.string(2) + " that is missing");
  }
}

bool is_json(std::string_view text) {
  try {
    return canonical_json(text) == text;
  } catch (const JsonError&) {
    return false;
  }
}

void check_texts(RecordStore::Impl& impl, Problems& problems) {
  Statement workload(impl.db(), "SELECT id, json FROM workloads");
  while (workload.step()) {
    if (!is_json(workload.text(1)))
      problems.push_back("the program of workload " + std::to_string(workload.integer(0)) +
                         " is not JSON in canonical form");
  }
  Statement target(impl.db(), "SELECT id, json FROM targets");
  while (target.step()) {
    if (!is_json(target.text(1)))
      problems.push_back("the description of target " + std::to_string(target.integer(0)) +
                         " is not JSON in canonical form");
  }
}

void check_trial(RecordStore::Impl& impl, std::int64_t id, Problems& problems) {
  auto report = [&](const std::string& problem) {
    problems.push_back("trial " + std::to_string(id) + " " + problem);
  };
  Trial trial = load_trial(impl, id);
  if (!is_json(trial.trace)) return report("has a trace that is not JSON in canonical form");
  bool timed = trial.failure == Failure::None;
  if (timed &&
      (trial.times.empty() || !std::isfinite(trial.p10) || trial.p10 <= 0 || !trial.verification.accepted)) {
    report("counts as timed without verified, finite times");
  }
  if (uid_of(impl.program_of(trial.key.workload), impl.fingerprint_of(trial.key.target), trial) !=
      trial.uid) {
    report("was changed after it was written (its id is not that of its content)");
  }
}

// The winners must be what the rule of trials.cpp makes of the trials.
void check_key(RecordStore::Impl& impl, const KeyRef& key, Problems& problems) {
  std::string name = "'" + load_workload(impl, key.workload, false).spec + "'";
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> expected, found;
  for (const Verdict& verdict : verdicts(impl, key)) {
    if (problems.size() >= kEnough) return;
    if (verdict.is != verdict.should)
      problems.push_back(
          "trial " + std::to_string(verdict.trial) +
          (verdict.is ? " is served though refuted or superseded" : " is not served though it may be"));
    check_trial(impl, verdict.trial, problems);
  }
  Statement best(impl.db(),
                 "SELECT regime, host_class, id FROM trials WHERE workload = ? AND target = ? AND semantics "
                 "= ? AND servable = 1 "
                 "ORDER BY regime, host_class, p10, created_us, uid",
                 key.workload, key.target, key.semantics);
  while (best.step()) expected.try_emplace({best.integer(0), best.integer(1)}, best.integer(2));
  Statement winner(
      impl.db(),
      "SELECT regime, host_class, trial FROM winners WHERE workload = ? AND target = ? AND semantics = ?",
      key.workload, key.target, key.semantics);
  while (winner.step()) found[{winner.integer(0), winner.integer(1)}] = winner.integer(2);
  if (found != expected) problems.push_back("the winners of " + name + " are not its best trials");
}

void check_orphans(RecordStore::Impl& impl, Problems& problems) {
  std::int64_t orphans = impl.db().integer(
      "SELECT count(*) FROM winners w WHERE NOT EXISTS (SELECT 1 FROM trials t WHERE t.id = w.trial AND "
      "t.workload = w.workload AND t.target = w.target AND t.semantics = w.semantics)");
  if (orphans > 0) problems.push_back(std::to_string(orphans) + " winners are no trials of their key");
}

}  // namespace

std::vector<std::string> RecordStore::check() const {
  Problems problems;
  try {
    Reading turn(*impl_);
    check_file(*impl_, problems);
    if (!problems.empty()) return problems;  // what follows would stumble over the same damage
    check_texts(*impl_, problems);
    check_orphans(*impl_, problems);
    for (const KeyRef& key : select_keys(*impl_, {})) check_key(*impl_, key, problems);
  } catch (const RecordError& error) {
    problems.push_back(error.what());
  }
  if (problems.size() > kEnough) problems.resize(kEnough);
  return problems;
}

}  // namespace lathe::records
