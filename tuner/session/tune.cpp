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

int round_size(const TuneOptions& options, int measured) {
  if (options.round > 0) return options.round;
  return static_cast<int>(usual_round(static_cast<std::size_t>(measured)));
}

TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store, Measurer& measurer) {
  Session session(workload, target, options, store, measurer);
  while (!session.over() && session.result().measured < options.trials) {
    const int measured = session.result().measured;
    session.round(std::min(round_size(options, measured), options.trials - measured));
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
