// Why a lookup missed, part by part of the key.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "records/json_text.h"
#include "records/store.h"

namespace lathe::records {

namespace {

std::string count(std::int64_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string shown(const Workload& workload) {
  if (!workload.spec.empty()) return workload.spec;
  return workload.name.empty() ? workload.program.hex() : workload.name;
}

std::string shown(const TargetRecord& target) {
  std::string digits = target.fingerprint.hex().substr(0, 8);
  return target.name.empty() ? digits : "'" + target.name + "' (" + digits + ")";
}

std::int64_t trials_under(RecordStore::Impl& impl, const KeyRef& key) {
  Statement row(impl.db(), "SELECT count(*) FROM trials WHERE workload = ? AND target = ? AND semantics = ?",
                key.workload, key.target, key.semantics);
  return row.step() ? row.integer(0) : 0;
}

std::int64_t failures_under(RecordStore::Impl& impl, const KeyRef& key) {
  Statement row(
      impl.db(),
      "SELECT count(*) FROM trials WHERE workload = ? AND target = ? AND semantics = ? AND failure <> 0",
      key.workload, key.target, key.semantics);
  return row.step() ? row.integer(0) : 0;
}

// "/caches/1/bytes" as people write it.
std::string dotted(const std::string& pointer) {
  std::string text = pointer.substr(pointer.empty() ? 0 : 1);
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

using Lists = std::map<std::string, std::set<std::string>>;

// Takes the lists of words (features) out of a description: they are compared as sets, not place by place.
void take_lists(nlohmann::json& value, const std::string& path, Lists& lists) {
  const auto is_word = [](const nlohmann::json& item) { return item.is_string(); };
  if (value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_word)) {
    for (const nlohmann::json& item : value) lists[path].insert(item.get<std::string>());
    value = nullptr;
  } else if (value.is_object()) {
    for (const auto& entry : value.items()) take_lists(entry.value(), path + "/" + entry.key(), lists);
  }
}

std::string only_in(const std::set<std::string>& these, const std::set<std::string>& those) {
  std::string text;
  for (const std::string& word : these)
    if (!those.contains(word)) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The fields in which two descriptions differ, one a line.
std::string differences(const std::string& here, const std::string& there) {
  nlohmann::json a, b;
  Lists a_lists, b_lists;
  try {
    check_depth(here), check_depth(there);
    a = nlohmann::json::parse(here), b = nlohmann::json::parse(there);
    take_lists(a, "", a_lists), take_lists(b, "", b_lists);
    a = a.flatten(), b = b.flatten();
  } catch (const std::exception&) {
    return "\n      (the descriptions cannot be compared)";
  }
  std::set<std::string> paths;
  for (const auto& entry : a.items()) paths.insert(entry.key());
  for (const auto& entry : b.items()) paths.insert(entry.key());
  for (const Lists* lists : {&a_lists, &b_lists})
    for (const auto& list : *lists) paths.insert(list.first);
  std::string text;
  int shown = 0, more = 0;
  for (const std::string& path : paths) {
    const auto here_value = a.find(path), there_value = b.find(path);
    bool in_a = here_value != a.end(), in_b = there_value != b.end();
    const bool is_list = a_lists.contains(path) || b_lists.contains(path);
    const std::string here_only = only_in(a_lists[path], b_lists[path]),
                      there_only = only_in(b_lists[path], a_lists[path]);
    if (is_list ? here_only.empty() && there_only.empty() : in_a && in_b && *here_value == *there_value)
      continue;
    if (++shown > 8) {
      ++more;
      continue;
    }
    text += "\n      " + dotted(path) + ": ";
    if (is_list) {
      text += here_only.empty() ? "" : "only here " + here_only;
      text += here_only.empty() || there_only.empty() ? "" : "; ";
      text += there_only.empty() ? "" : "only there " + there_only;
      continue;
    }
    text += (in_a ? here_value->dump() : "absent") + " here, " + (in_b ? there_value->dump() : "absent") +
            " there";
  }
  if (more > 0) text += "\n      and " + std::to_string(more) + " more";
  return text.empty() ? "\n      (the descriptions are equal; only the fingerprints differ)" : text;
}

MissPart program_part(RecordStore::Impl& impl, const Workload& asked, const ProgramRows& rows) {
  MissPart part{"program", !rows.same.empty(), ""};
  if (part.fits) {
    part.text = "known: " + shown(load_workload(impl, rows.same.front(), false));
    return part;
  }
  if (!rows.other.empty()) {
    part.text = "the hash " + asked.program.hex() + " is known, but for a different program (" +
                shown(load_workload(impl, rows.other.front(), false)) + "); its schedules are not served";
    return part;
  }
  part.text = "never tuned: no program with hash " + asked.program.hex();
  Statement named(impl.db(), "SELECT count(DISTINCT workload), min(spec) FROM workload_names WHERE name = ?",
                  asked.name);
  if (named.step() && named.integer(0) > 0) {
    part.text += "; " + count(named.integer(0), "other workload") + " named '" + asked.name +
                 "', for example " + named.string(1);
  }
  return part;
}

MissPart target_part(RecordStore::Impl& impl, const TargetRecord& asked, std::int64_t target,
                     const std::vector<KeyRef>& keys) {
  MissPart part{
      "target",
      std::any_of(keys.begin(), keys.end(), [&](const KeyRef& key) { return key.target == target; }), ""};
  if (part.fits) {
    part.text = "known: " + shown(asked);
    return part;
  }
  if (keys.empty()) {
    part.fits = target != 0;
    part.text = (part.fits ? "known: " : "not known: ") + shown(asked);
    return part;
  }
  std::set<std::int64_t> others;
  for (const KeyRef& key : keys) others.insert(key.target);
  part.text = "tuned for " + count(static_cast<std::int64_t>(others.size()), "other target") + ", not for " +
              shown(asked);
  int listed = 0;
  for (std::int64_t other : others) {
    if (++listed > 3) break;
    TargetRecord record = load_target(impl, other);
    std::int64_t trials = 0;
    for (const KeyRef& key : keys) trials += key.target == other ? trials_under(impl, key) : 0;
    part.text += "\n    " + shown(record) + ", " + count(trials, "trial") +
                 ", differs in:" + differences(asked.json, record.json);
  }
  return part;
}

MissPart semantics_part(int asked, const std::vector<KeyRef>& on_target) {
  std::set<int> versions;
  for (const KeyRef& key : on_target) versions.insert(key.semantics);
  MissPart part{"semantics", versions.contains(asked), "version " + std::to_string(asked)};
  if (!part.fits && !versions.empty()) {
    part.text += " here; the records were made under version";
    for (int version : versions) part.text += " " + std::to_string(version);
    part.text += ", in which primitives meant something else";
  }
  return part;
}

// What the trials under the very key came to, and why none of them is served.
MissPart trials_part(RecordStore::Impl& impl, const std::vector<KeyRef>& keys, MissReason& reason) {
  MissPart part{"trials", false, ""};
  std::int64_t all = 0, failed = 0, servable = 0;
  for (const KeyRef& key : keys) {
    all += trials_under(impl, key);
    failed += failures_under(impl, key);
    Statement winners(impl.db(),
                      "SELECT count(*) FROM winners WHERE workload = ? AND target = ? AND semantics = ?",
                      key.workload, key.target, key.semantics);
    servable += winners.step() ? winners.integer(0) : 0;
    Statement classes(impl.db(),
                      "SELECT failure, count(*) FROM trials WHERE workload = ? AND target = ? AND semantics "
                      "= ? AND failure <> 0 GROUP BY failure "
                      "ORDER BY count(*) DESC, failure",
                      key.workload, key.target, key.semantics);
    while (classes.step()) {
      part.text += "\n    " + std::string(to_string(static_cast<Failure>(classes.integer(0)))) + ": " +
                   std::to_string(classes.integer(1));
    }
  }
  if (all == failed) {
    reason = MissReason::OnlyFailures;
    part.text = count(all, "trial") + ", all failed:" + part.text;
  } else if (servable == 0) {
    reason = MissReason::OnlyRefuted;
    part.text = count(all, "trial") + "; every schedule that was timed was later found wrong:" + part.text;
  } else {
    reason = MissReason::OnlyStale;
    part.text =
        count(all, "trial") +
        "; all times are stale, and the query does not accept them. Measure again, or accept stale times.";
  }
  return part;
}

}  // namespace

Miss explain_miss(RecordStore::Impl& impl, const Query& query) {
  Miss miss;
  ProgramRows rows = find_program(impl, query.key.workload);
  std::int64_t target = find_target(impl, query.key.target.fingerprint);
  std::vector<KeyRef> keys, on_target, exact;
  for (std::int64_t workload : rows.same) {
    for (const KeyRef& key : keys_of(impl, workload)) keys.push_back(key);
  }
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(on_target),
               [&](const KeyRef& key) { return target != 0 && key.target == target; });
  std::copy_if(on_target.begin(), on_target.end(), std::back_inserter(exact),
               [&](const KeyRef& key) { return key.semantics == query.key.semantics; });

  miss.parts.push_back(program_part(impl, query.key.workload, rows));
  miss.parts.push_back(target_part(impl, query.key.target, target, keys));
  if (rows.same.empty()) {
    miss.reason = rows.other.empty() ? MissReason::NoSuchProgram : MissReason::OtherProgram;
  } else if (keys.empty()) {
    miss.reason = MissReason::NoTrials;
    miss.parts.push_back({"trials", false, "the program is known, but nothing was tried"});
  } else if (on_target.empty()) {
    miss.reason = MissReason::OtherTarget;
  } else {
    miss.parts.push_back(semantics_part(query.key.semantics, on_target));
    miss.reason = MissReason::OtherSemantics;
    if (!exact.empty()) miss.parts.push_back(trials_part(impl, exact, miss.reason));
  }
  return miss;
}

std::string Miss::text() const {
  std::string text = "no record fits (" + std::string(to_string(reason)) + ")\n";
  for (const MissPart& part : parts) {
    std::string name = part.part;
    name.resize(9, ' ');
    text += (part.fits ? "  = " : "  ! ") + name + " " + part.text + "\n";
  }
  return text;
}

std::string RecordStore::why(const Query& query) const {
  Lookup found = lookup(query);
  if (const Miss* miss = std::get_if<Miss>(&found)) return miss->text();
  const Hit& hit = std::get<Hit>(found);
  char time[40];
  std::snprintf(time, sizeof time, "%.6g us", hit.trial.p10 * 1e6);
  std::string text = "trial " + std::to_string(hit.trial.id) + " (" + hit.trial.uid.hex() + "): " + time +
                     " (p10 of " + count(static_cast<std::int64_t>(hit.trial.times.size()), "sample") + ", " +
                     std::string(to_string(hit.trial.regime)) + ", on " + hit.trial.provenance.host + ")\n";
  for (std::string part : {"program", "target", "semantics"}) {
    part.resize(9, ' ');
    text += "  = " + part + "\n";
  }
  if (!hit.note.empty()) text += "  ! time      " + hit.note + "\n";
  return text;
}

}  // namespace lathe::records
