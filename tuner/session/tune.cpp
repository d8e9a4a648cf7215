// The public entry points of tuning: one workload, or several that share a budget.

#include <algorithm>

#include "lathe/tuner.h"
#include "tuner/session/session.h"
#include "tuner/session/task_scheduler.h"

namespace lathe {

namespace {

constexpr std::pair<SearchStrategy, const char*> kStrategies[] = {
    {SearchStrategy::Evolutionary, "evolutionary"},
    {SearchStrategy::Random, "random"},
    {SearchStrategy::Grid, "grid"},
    {SearchStrategy::Replay, "replay"}};

}  // namespace

const char* spelling(SearchStrategy strategy) { return kStrategies[static_cast<int>(strategy)].second; }

std::optional<SearchStrategy> search_strategy_named(const std::string& text) {
  for (const auto& [strategy, name] : kStrategies) {
    if (text == name) return strategy;
  }
  return std::nullopt;
}

TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store) {
  return tuner::tune(workload, target, options, store, *tuner::child_measurer(options.worker_command));
}

std::vector<TuneResult> tune_all(const std::vector<Workload>& workloads, const Target& target,
                                 const TuneOptions& options, RecordStore& store,
                                 const std::vector<double>& weights) {
  return tuner::tune_all(workloads, target, options, store, *tuner::child_measurer(options.worker_command),
                         weights);
}

TuneSpace tune_space(const Workload& workload, const Target& target, const TuneOptions& options) {
  return tuner::describe_space(workload, target, options);
}

namespace tuner {

int round_size(const TuneOptions& options) {
  if (options.round > 0) return options.round;
  return options.trials <= 96 ? 8 : 16;
}

TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store, Measurer& measurer) {
  Session session(workload, target, options, store, measurer);
  while (!session.over() && session.result().measured < options.trials) {
    session.round(std::min(round_size(options), options.trials - session.result().measured));
  }
  session.finish("all trials are spent", records::SessionState::Finished);
  return session.result();
}

std::vector<TuneResult> tune_all(const std::vector<Workload>& workloads, const Target& target,
                                 const TuneOptions& options, RecordStore& store, Measurer& measurer,
                                 const std::vector<double>& weights) {
  return TaskScheduler(workloads, target, options, store, measurer, weights).run();
}

}  // namespace tuner
}  // namespace lathe
