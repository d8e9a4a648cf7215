#include "tuner/session/asked.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lathe/runtime/affinity.h"
#include "support/json_depth.h"

namespace lathe::tuner {
namespace {

/// Leaves `value` alone where there is no such member, or one of another type.
template <class T>
void take(const nlohmann::json& all, const char* name, T& value) {
  if (!all.is_object() || !all.contains(name)) return;
  try {
    all[name].get_to(value);
  } catch (const nlohmann::json::exception&) {
  }
}

nlohmann::json parsed(const std::string& text) {
  return too_deep(text) ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
}

}  // namespace

std::string asked_of(const Workload& workload, const Target& target, const TuneOptions& options,
                     const std::string& group) {
  nlohmann::json asked = {{"workload", workload.spec},
                          {"target", target.name},
                          {"strategy", spelling(options.strategy)},
                          {"parallel", options.parallel},
                          {"threads", options.parallel ? runtime::default_num_threads() : 1},
                          {"cold", options.cold},
                          {"plateau", options.plateau},
                          {"round", options.round},
                          {"timeout", options.trial_timeout},
                          {"model", options.model},
                          {"shipped_model", options.shipped_model},
                          {"pinned", options.pinned}};
  if (!group.empty()) asked["group"] = group;
  return asked.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TuneOptions asked_of(const records::Session& session) {
  TuneOptions options;
  options.seed = session.seed;
  options.trials = static_cast<int>(session.budget_trials);
  options.seconds = session.budget_seconds;
  const nlohmann::json asked = parsed(session.options);
  std::string strategy;
  take(asked, "strategy", strategy);
  options.strategy = search_strategy_named(strategy).value_or(options.strategy);
  take(asked, "parallel", options.parallel);
  take(asked, "cold", options.cold);
  take(asked, "plateau", options.plateau);
  take(asked, "round", options.round);
  take(asked, "timeout", options.trial_timeout);
  take(asked, "model", options.model);
  take(asked, "shipped_model", options.shipped_model);
  take(asked, "pinned", options.pinned);
  return options;
}

std::string workload_asked(const records::Session& session) {
  std::string spec;
  take(parsed(session.options), "workload", spec);
  return spec;
}

int threads_of(const records::Session& session) {
  int threads = 0;
  take(parsed(session.options), "threads", threads);
  return std::max(0, threads);
}

std::string group_of(const records::Session& session) {
  std::string group;
  take(parsed(session.options), "group", group);
  return group;
}

std::string text_of(const Reached& reached) {
  return nlohmann::json{
      {"rounds", reached.rounds}, {"seconds", reached.seconds}, {"default_seconds", reached.default_seconds}}
      .dump();
}

Reached reached_by(const records::Session& session) {
  Reached reached;
  const nlohmann::json progress = parsed(session.progress);
  take(progress, "rounds", reached.rounds);
  take(progress, "seconds", reached.seconds);
  take(progress, "default_seconds", reached.default_seconds);
  return reached;
}

}  // namespace lathe::tuner
