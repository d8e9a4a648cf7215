// `lathe session`: what sessions a store has seen, what became of them, and going on with one.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <set>

#include "tuner/cli/tune.h"
#include "tuner/cli/verb.h"
#include "tuner/session/asked.h"

namespace lathe::command_line {
namespace {

/// By its uid, or by leading digits of it.
records::Session find(const RecordStore& store, const std::string& id) {
  std::vector<records::Session> found;
  for (records::Session& s : store.sessions()) {
    if (s.uid.hex().rfind(id, 0) == 0) found.push_back(std::move(s));
  }
  if (found.size() == 1 && !id.empty()) return found.front();
  throw std::runtime_error("session: " + std::string(found.empty() ? "none" : "more than one") + " of \"" +
                           store.path() + "\" begins with \"" + id + "\"; `lathe session ls` shows them");
}

/// What a session was about, as its trials tell.
struct Tuned {
  Workload workload;
  records::TargetRecord target;
  std::int64_t trials = 0, failed = 0;
  double best_ms = 0, default_ms = 0;
};

std::vector<Tuned> tuned_of(const RecordStore& store, const Digest& session) {
  std::map<records::KeyRef, Tuned> by_key;
  const double again = tuner::reached_by(store.session(session)).default_seconds;
  records::Filter filter;
  filter.session = session;
  store.for_each_trial(filter, [&](const records::Trial& t) {
    auto [at, fresh] = by_key.try_emplace(t.key);
    Tuned& s = at->second;
    if (fresh) {
      const records::Winner with_key = store.trial_with_key(t.id).value();
      s.workload.spec = with_key.workload.spec;
      s.workload.program = program_from_json(with_key.workload.program_json);
      s.target = with_key.target;
    }
    ++s.trials;
    if (t.failure != records::Failure::None) {
      ++s.failed;
      return true;
    }
    const double ms = t.p10 * 1e3;
    if (s.best_ms == 0 || ms < s.best_ms) s.best_ms = ms;
    if (t.proposal == 0) s.default_ms = again > 0 ? again * 1e3 : ms;
    return true;
  });
  std::vector<Tuned> all;
  for (auto& [key, tuned] : by_key) all.push_back(std::move(tuned));
  return all;
}

ordered_json as_json(const records::Session& s) {
  return {{"session", s.uid.hex()},
          {"state", records::to_string(s.state)},
          {"reason", s.reason},
          {"trials", s.trials},
          {"budget_trials", s.budget_trials},
          {"budget_seconds", s.budget_seconds},
          {"seed", s.seed},
          {"started", date(s.started_us)},
          {"updated", date(s.updated_us)},
          {"ended", date(s.ended_us)},
          {"host", s.provenance.host},
          {"pid", s.pid},
          {"options", ordered_json::parse(s.options)}};
}

int list(const Context& context) {
  const RecordStore store = open_to_read(context);
  ordered_json all = ordered_json::array();
  for (const records::Session& s : store.sessions()) {
    all.push_back(as_json(s));
    if (context.json) continue;
    std::printf("%s  %-11s  %s  %5lld trials  %s%s%s\n", s.uid.hex().substr(0, 12).c_str(),
                std::string(records::to_string(s.state)).c_str(), date(s.started_us).c_str(),
                static_cast<long long>(s.trials), tuner::workload_asked(s).c_str(),
                s.reason.empty() ? "" : ": ", s.reason.c_str());
  }
  if (context.json) print_json(all);
  return kDone;
}

int show(const Context& context, const std::string& id) {
  const RecordStore store = open_to_read(context);
  const records::Session s = find(store, id);
  ordered_json all = as_json(s);
  all["workloads"] = ordered_json::array();
  for (const Tuned& tuned : tuned_of(store, s.uid)) {
    all["workloads"].push_back({{"workload", tuned.workload.spec},
                                {"target", tuned.target.name},
                                {"trials", tuned.trials},
                                {"failed", tuned.failed},
                                {"best_ms", tuned.best_ms},
                                {"default_ms", tuned.default_ms}});
  }
  if (context.json) {
    print_json(all);
    return kDone;
  }
  for (const auto& [name, value] : all.items()) {
    if (value.is_array()) continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!text.empty()) std::printf("%-15s %s\n", name.c_str(), text.c_str());
  }
  for (const ordered_json& w : all["workloads"])
    std::printf("%s for %s: %s trials, %s failed, best %.4g ms, default %.4g ms\n",
                w["workload"].get<std::string>().c_str(), w["target"].get<std::string>().c_str(),
                w["trials"].dump().c_str(), w["failed"].dump().c_str(), w["best_ms"].get<double>(),
                w["default_ms"].get<double>());
  return kDone;
}

/// The workload of the library where it still is the same program, for its own schedule rules; else the stored program.
Workload named(const Tuned& tuned) {
  try {
    Workload w = Workload::parse(tuned.workload.spec);
    if (structural_equal(w.program, tuned.workload.program)) return w;
  } catch (const UserError&) {  // not in this build's library
  }
  return tuned.workload;
}

/// All sessions that share the budget of `s`, itself among them, in the order of their beginning.
std::vector<records::Session> sharing_with(const RecordStore& store, const records::Session& s) {
  const std::string group = tuner::group_of(s);
  if (group.empty()) return {s};
  std::vector<records::Session> all = store.sessions();  // the newest first
  std::erase_if(all, [&](const records::Session& other) { return tuner::group_of(other) != group; });
  std::reverse(all.begin(), all.end());
  return all;
}

/// What a session that is over was about, for going on with it on this target.
Workload workload_to_go_on(const RecordStore& store, const records::Session& s, const Target& target) {
  const std::string id = s.uid.hex().substr(0, 12);
  if (s.state == records::SessionState::Running)
    throw std::runtime_error("session " + id + " is running (process " + std::to_string(s.pid) + " on " +
                             s.provenance.host + "); interrupt that process first");
  for (const Tuned& tuned : tuned_of(store, s.uid)) {
    if (tuned.target.fingerprint != target.fingerprint())
      throw std::runtime_error("session " + id + " tuned for " + tuned.target.name + ", this is " +
                               target.name + "; say which with --target");
    return named(tuned);
  }
  // It may have ended before its first batch.
  const std::string spec = tuner::workload_asked(s);
  if (spec.empty())
    throw std::runtime_error("session " + id +
                             " has no trial to go on from; start it again with `lathe tune`");
  return Workload::parse(spec);
}

int resume(Context& context, const std::string& id, TuneVerb& options) {
  std::vector<Workload> workloads;
  std::vector<Digest> sessions;
  std::int64_t left = 0;
  {
    const RecordStore store = open_to_change(context);
    const records::Session s = find(store, id);
    const Target target = Target::parse(context.target);
    left = s.budget_trials;
    for (const records::Session& shared : sharing_with(store, s)) {
      workloads.push_back(workload_to_go_on(store, shared, target));
      sessions.push_back(shared.uid);
      left -= shared.trials;
    }
    options.tune = tuner::asked_of(s);
  }
  options.strategy = spelling(options.tune.strategy);
  options.tune.resume = true;
  if (sessions.size() == 1)
    options.tune.session = sessions.front();
  else
    options.tune.sessions = sessions;
  options.tune.trials = options.trials_left > 0 ? options.trials_left : static_cast<int>(left);
  if (options.tune.trials > 0) return tune(context, workloads, options);
  if (context.json) print_json(ordered_json::array());
  std::fprintf(stderr, "all trials of the session's budget are measured; --trials N adds more\n");
  return kDone;
}

}  // namespace

void add_session(CLI::App& app, Context& context) {
  struct Options {
    std::string id;
    TuneVerb tune;
  };
  auto options = std::make_shared<Options>();
  CLI::App* session = app.add_subcommand("session", "Tuning sessions: list, show, go on with one");
  session->require_subcommand(1);
  const auto verb = [&](const char* name, const char* about, bool of_one) {
    CLI::App* sub = session->add_subcommand(name, about);
    if (of_one)
      sub->add_option("id", options->id, "Leading digits of its id (`lathe session ls`)")->required();
    add_db(*sub, context);
    add_json(*sub, context);
    return sub;
  };
  context.does(*verb("ls", "All sessions, the newest first", false), [&context] { return list(context); });
  context.does(*verb("show", "What it was asked, how far it got, and why it ended", true),
               [&context, options] { return show(context, options->id); });
  CLI::App* again = verb("resume", "Measure what is left of its budget; nothing is measured again", true);
  add_target(*again, context);
  again->add_option("--trials", options->tune.trials_left, "So many more, instead of what is left")
      ->check(at_least(1));
  again->add_option("--log", options->tune.log, "Append events as JSON lines to this file");
  context.does(*again, [&context, options] { return resume(context, options->id, options->tune); });
}

}  // namespace lathe::command_line
