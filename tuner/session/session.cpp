#include "tuner/session/session.h"

#include <algorithm>
#include <set>

#include "support/error_codes/tuner.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/metrics.h"
#include "tuner/model/pretrained.h"
#include "tuner/search/model_guided_strategy.h"
#include "tuner/session/asked.h"
#include "tuner/session/shipped_model.h"
#include "tuner/session/task_scheduler.h"

namespace lathe::tuner {
namespace {

constexpr int HopelessAfter = 16;  // failures without a success
constexpr int SeedsOfSame = 8, SeedsOfSimilar = 8;
// Batches, and points, in a row that gave nothing new: the space is exhausted.
constexpr std::size_t FruitlessBatches = 8, FruitlessPoints = 64;
constexpr double HeartbeatSeconds = 60;
constexpr std::size_t Leaders =
    3;  // of a batch, compared with the best so far before one of them replaces it
constexpr double LongSeconds = 0.1;    // a time that averages over what disturbs it anyway
constexpr double LeaderMargin = 1.05;  // who is slower than the fastest by more is no leader
constexpr double Improvement = 0.99;   // of the best time, to count against the plateau
// A round's candidates are replayed and described at some 1,000 a second, and should take a tenth of what measuring takes.
constexpr std::size_t Population = 256;
constexpr int Generations = 3;

std::uint64_t low(const StructuralHash& hash) { return hash.low ^ hash.high; }

}  // namespace

std::vector<Rule> rules_for(const Workload& workload, const Target& target, const TuneOptions& options) {
  std::vector<Rule> rules;
  auto with_target = [&target](const SpaceRule& rule) {
    return [&target, rule](Schedule& s) { rule(s, target); };
  };
  if (options.library_rules) {
    if (workload.schedule) {
      rules.push_back([&](Schedule& s) { workload.apply_schedule(s, target, Choices::Open); });
    }
    rules.push_back([&target, parallel = options.parallel](Schedule& s) {
      apply_rules(s, target, {.choices = Choices::Open, .parallel = parallel});
    });
    if (options.parallel) {  // a small program may be faster on one thread
      rules.push_back(
          [&target](Schedule& s) { apply_rules(s, target, {.choices = Choices::Open, .parallel = false}); });
    }
  }
  for (const SpaceRule& rule : options.rules) rules.push_back(with_target(rule));
  return rules;
}

namespace {

/// What a session's gain is measured against: as parallel as its candidates may be.
Schedule default_for(const Workload& workload, const Target& target, const TuneOptions& options) {
  if (options.parallel || workload.schedule) return workload.default_schedule(target);
  Schedule s(workload.program);
  apply_rules(s, target, {.parallel = false});
  return s;
}

/// A candidate that cannot be measured is found out before anything is noted in the store.
const Workload& with_constant_sizes(const Workload& workload) {
  for (const Param& p : workload.program->params) {
    if (p.role != ParamRole::Size) continue;
    throw UserError(code::U020, "tune: \"" + workload.spec +
                                    "\" has a size that is known at run time only, \"" + p.name() +
                                    "\", and a measurement needs every size. Tune a workload with "
                                    "constant sizes; this one is built with its default schedule");
  }
  return workload;
}

ScheduleSpaceOptions space_options(const Workload& workload, const Target& target,
                                   const TuneOptions& options) {
  ScheduleSpaceOptions result;
  result.rules = rules_for(workload, target, options);
  for (const auto& [name, value] : options.pinned) result.pinned[name] = value;
  result.seed = options.seed;
  return result;
}

}  // namespace

Session::Session(const Workload& workload, const Target& target, const TuneOptions& options,
                 RecordStore& store, Measurer& measurer, const std::string& group)
    : workload_(with_constant_sizes(workload)),
      target_(target),
      options_(options),
      store_(store),
      measurer_(measurer),
      task_{workload.program, target},
      space_(workload.program, target, space_options(workload, target, options)),
      key_(store.intern(record_key(workload, target))) {
  result_.workload = workload_.spec;
  result_.space = space_.size();
  strategy_ = make_strategy();
  if (options_.session) {
    uid_ = *options_.session;
    take_up(store_.resume_session(uid_));
  } else {
    records::Session description;
    description.seed = options_.seed;
    description.budget_trials = options_.trials;
    description.budget_seconds = options_.seconds;
    description.provenance = this_provenance();
    description.options = asked_of(workload_, target_, options_, group);
    uid_ = store_.begin_session(description);
  }
  if (options_.resume || options_.session) learn_from_store();
}

Session::~Session() {
  if (over_) return;
  try {
    store_.end_session(uid_, records::SessionState::Failed, "an error ended it");
  } catch (const std::exception&) {
    // The store may be what failed. Then the session counts as interrupted once this process is gone.
  }
}

// ---- what the store knows ----------------------------------------------------------------------------------------

/// Goes on where the session was left: with its numbers, and the time it has spent.
void Session::take_up(const records::Session& left) {
  const Reached reached = reached_by(left);
  proposals_ = left.trials;
  rounds_ = reached.rounds;
  spent_before_ = reached.seconds;
  result_.default_ms = reached.default_seconds * 1e3;
}

double Session::spent() const { return spent_before_ + clock_.seconds(); }

/// Times of the other regime, of other hosts and of other versions are not comparable with those to come. Their schedules
/// are among the seeds, and are measured again.
bool Session::counts_here(const records::Trial& trial) const {
  const auto host_class = [](const records::Provenance& p) {
    return p.host_class.empty() ? p.host : p.host_class;
  };
  if (!(trial.key == key_) || trial.stale) return false;
  if (host_class(trial.provenance) != host_class(this_provenance())) return false;
  const records::Regime regime = options_.cold ? records::Regime::Cold : records::Regime::Warm;
  return trial.regime == regime || trial.failure != records::Failure::None;
}

void Session::learn_from_store() {
  std::vector<Observation> observations;
  std::optional<records::Trial> best;
  const records::Key key = record_key(workload_, target_);
  records::Filter filter;
  filter.workload = key.workload.program.hex();
  filter.target = key.target.fingerprint.hex();
  store_.for_each_trial(filter, [&](const records::Trial& trial) {
    if (!counts_here(trial)) return true;
    const std::optional<double> seconds =
        trial.failure == records::Failure::None ? std::optional(trial.p10) : std::nullopt;
    if (trial.scheduled) {
      auto [it, fresh] = measured_.emplace(low(*trial.scheduled), seconds);
      if (!fresh && seconds) it->second = it->second ? std::min(*it->second, *seconds) : *seconds;
    }
    if (seconds && (best_ == 0 || *seconds < best_)) {
      best_ = *seconds;
      best = trial;
    }
    ++result_.resumed;
    if (std::optional<Point> point = space_.point_of(Trace::from_json(trial.trace), false))
      observations.push_back({std::move(*point), seconds});
    return true;
  });
  result_.best_ms = plateau_best_ = 0;
  if (best) lead_with(*best);
  strategy_->observe(observations);
}

/// The best that is known is compared with those that seem to beat it.
void Session::lead_with(const records::Trial& trial) {
  result_.best_ms = best_ * 1e3;
  plateau_best_ = best_;
  Schedule s(workload_.program);
  try {
    s.replay(Trace::from_json(trial.trace));
  } catch (const UserError&) {
    return;  // of other primitives: its time still says what to beat
  }
  if (structural_hash(s.program()) == trial.scheduled) leader_ = {s.trace(), s.program(), *trial.scheduled};
}

/// Points of the best records: of this key, and of the nearest workloads, whose values are moved to the nearest options.
std::vector<Point> Session::seeds() const {
  std::vector<Point> points;
  const records::Key key = record_key(workload_, target_);
  auto add = [&](const records::Trial& trial) {
    if (std::optional<Point> point = space_.point_of(Trace::from_json(trial.trace), true))
      points.push_back(std::move(*point));
  };
  records::Query query;
  query.key = key;
  query.regime = options_.cold ? records::Regime::Cold : records::Regime::Warm;
  const int same = options_.strategy == SearchStrategy::Replay ? options_.trials : SeedsOfSame;
  for (const records::Trial& trial : store_.best(query, same)) add(trial);
  if (options_.strategy == SearchStrategy::Replay) return points;
  for (const records::Neighbour& near : store_.nearest(key, SeedsOfSimilar)) add(near.trial);
  return points;
}

std::unique_ptr<Strategy> Session::make_strategy() {
  switch (options_.strategy) {
    case SearchStrategy::Random: return random_strategy(space_, options_.seed);
    case SearchStrategy::Grid: return grid_strategy(space_);
    case SearchStrategy::Replay: return replay_strategy(space_, seeds());
    case SearchStrategy::Evolutionary: break;
  }
  ModelGuidedOptions guided;
  guided.seed = options_.seed;
  guided.seeds = seeds();
  guided.pool = 1024;
  guided.evolution.population = Population;
  guided.evolution.generations = Generations;
  if (!options_.model.empty()) {
    auto model = std::make_shared<PretrainedModel>(
        PretrainedModel::load(options_.model, statement_feature_set(), statement_feature_names().size()));
    guided.prior = [model](const FeatureTable& features) { return model->predict(features); };
    result_.prior = options_.model;
  } else if (auto model = options_.shipped_model && !options_.cold ? shipped_model(target_) : nullptr) {
    guided.prior = [model](const FeatureTable& features) { return model->predict(features); };
    result_.prior = "shipped";
  }
  return model_guided_strategy(space_, std::move(guided));
}

// ---- a round -----------------------------------------------------------------------------------------------------

bool Session::round(int trials) {
  if (over_) return false;
  const runtime::Timer searching;
  std::vector<Pick> picks;
  std::vector<Observation> observations;
  propose(trials, picks, observations);
  result_.searching_seconds += searching.seconds();
  if (picks.empty()) {
    strategy_->observe(observations);
    finish(options_.strategy == SearchStrategy::Replay ? "all records replayed"
                                                       : "the design space is exhausted",
           records::SessionState::Finished);
    return false;
  }
  measure(picks, observations);
  const runtime::Timer learning;
  strategy_->observe(observations);
  space_.forget();
  result_.filtered = space_.counts().by_name();
  result_.searching_seconds += learning.seconds();
  best_by_round_.push_back(best_);
  ++rounds_;
  if (result_.interrupted) {
    finish("stopped by the user", records::SessionState::Interrupted);
  } else if (options_.seconds > 0 && spent() > options_.seconds) {
    finish("the time is spent", records::SessionState::Finished);
  } else if (stop_if_hopeless()) {
    return false;
  } else if (options_.plateau > 0 && since_improvement_ >= options_.plateau) {
    finish("no improvement of 1 % in " + std::to_string(since_improvement_) + " trials",
           records::SessionState::Finished);
  }
  return !over_;
}

void Session::finish(const std::string& reason, records::SessionState state) {
  if (over_) return;
  over_ = true;
  result_.reason = reason;
  // Whatever used it up, a session that found nothing which works has failed.
  const bool in_vain = result_.measured > 0 && result_.failed == result_.measured && best_ == 0;
  if (in_vain && state == records::SessionState::Finished) state = records::SessionState::Failed;
  result_.filtered = space_.counts().by_name();
  store_.end_session(uid_, state, reason);
}

/// Nothing works: say so early, with the commonest error.
bool Session::stop_if_hopeless() {
  if (result_.failed < HopelessAfter || result_.failed < result_.measured || best_ > 0) return false;
  const auto commonest = std::max_element(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
    return a.second.first < b.second.first;
  });
  finish("the first " + std::to_string(result_.measured) + " candidates all failed, " +
             std::to_string(commonest->second.first) + " of them with \"" + commonest->first + "\"",
         records::SessionState::Failed);
  return true;
}

void Session::propose(int trials, std::vector<Pick>& picks, std::vector<Observation>& known) {
  waiting_.clear();
  if (!started_) {
    // The default schedule first: it is what every gain is measured against.
    started_ = true;
    const Schedule s = default_for(workload_, target_, options_);
    const StructuralHash hash = structural_hash(s.program());
    Point first = space_.first_point();
    const bool is_point = space_.scheduled_hash(first) == hash;
    const bool fresh =
        add(picks, known, is_point ? std::optional(std::move(first)) : std::nullopt, s.trace(), s.program());
    default_first_ = fresh;
    const auto it = measured_.find(low(hash));
    const bool timed = it != measured_.end() && it->second;
    if (timed && result_.default_ms == 0) result_.default_ms = *it->second * 1e3;
    if (fresh || timed) default_ = {s.trace(), s.program(), hash};
  }
  for (std::size_t batches = 0, fruitless = 0; static_cast<int>(picks.size()) < trials &&
                                               (batches < FruitlessBatches || fruitless < FruitlessPoints);) {
    const std::vector<Point> points = strategy_->propose(static_cast<std::size_t>(trials) - picks.size());
    if (points.empty()) break;
    const std::size_t before = picks.size();
    for (const Point& point : points) {
      const std::optional<StructuralHash> hash = space_.scheduled_hash(point);
      if (hash && measured_.count(low(*hash)) != 0) {
        known.push_back({point, measured_.at(low(*hash))});
        ++result_.known;
        continue;
      }
      add(picks, known, point, space_.trace(point), space_.schedule(point).program());
    }
    const bool in_vain = picks.size() == before;
    batches = in_vain ? batches + 1 : 0;
    fruitless = in_vain ? fruitless + points.size() : 0;
    // What was known already is news to the strategy.
    if (in_vain) {
      strategy_->observe(known);
      known.clear();
    }
  }
}

/// Adds a pick unless its program is known, or is in the batch already, or breaks a condition on whole programs.
bool Session::add(std::vector<Pick>& picks, std::vector<Observation>& known, std::optional<Point> point,
                  Trace trace, const Program& program) {
  const StructuralHash hash = structural_hash(program);
  if (auto it = measured_.find(low(hash)); it != measured_.end()) {
    ++result_.known;
    if (point) known.push_back({std::move(*point), it->second});
    return false;
  }
  for (const Pick& pick : picks) {
    if (pick.candidate.hash != hash) continue;
    ++result_.known;
    if (point) waiting_.push_back({std::move(*point), std::nullopt});
    return false;
  }
  try {
    verify(program, target_);
  } catch (const ScheduleError&) {
    if (point) known.push_back({std::move(*point), std::nullopt});
    measured_[low(hash)] = std::nullopt;
    return false;
  }
  picks.push_back({std::move(point), {std::move(trace), program, hash}});
  return true;
}

void Session::measure(std::vector<Pick>& picks, std::vector<Observation>& observations) {
  PointSet points(space_.decisions().size());
  for (const Pick& pick : picks) {
    if (pick.point) points.add(*pick.point);
  }
  const std::vector<float> expected = strategy_->expect(points);

  MeasureOptions how;
  how.timeout = options_.trial_timeout;
  how.give_up_above = best_;
  how.cold = options_.cold;
  how.stop = [this] {
    if (options_.stop && options_.stop()) result_.interrupted = true;
    return result_.interrupted || (options_.seconds > 0 && spent() > options_.seconds);
  };
  how.on_result = [this](const Measurement& m) { tell(m); };
  std::vector<Candidate> candidates;
  for (const Pick& pick : picks) candidates.push_back(pick.candidate);
  const runtime::Timer timer;
  std::vector<Measurement> results = measurer_.measure(task_, candidates, how);
  settle(candidates, results, how);
  result_.measuring_seconds += timer.seconds();

  std::vector<records::Trial> batch;
  std::vector<float> label, score;
  std::size_t with_point = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool good = results[i].failure == records::Failure::None;
    const std::optional<double> seconds = good ? std::optional(results[i].p10()) : std::nullopt;
    measured_[low(picks[i].candidate.hash)] = seconds;
    record(picks[i], results[i], batch);
    if (!picks[i].point) continue;
    observations.push_back({*picks[i].point, seconds});
    if (with_point < expected.size() && seconds) {
      label.push_back(static_cast<float>(1 / *seconds));
      score.push_back(expected[with_point]);
    }
    ++with_point;
  }
  for (Observation& twin : waiting_) {
    const std::optional<StructuralHash> hash = space_.scheduled_hash(twin.point);
    if (!hash || measured_.count(low(*hash)) == 0) continue;  // its twin was not measured
    twin.seconds = measured_.at(low(*hash));
    observations.push_back(std::move(twin));
  }
  waiting_.clear();
  if (label.size() >= 2) {
    accuracy_pairs_ += static_cast<double>(label.size() * (label.size() - 1)) / 2;
    accuracy_right_ +=
        pairwise_accuracy(label, score) * static_cast<double>(label.size() * (label.size() - 1)) / 2;
    result_.model_accuracy = accuracy_right_ / accuracy_pairs_;
  }
  store_.commit(uid_, batch, text_of({rounds_ + 1, spent(), result_.default_ms / 1e3}));
  since_heartbeat_ = {};
}

/// Where a candidate seems to beat the best, the batch's leaders, the best so far and the default schedule are measured
/// again, in turns: a lucky moment of the machine makes nobody the best, and an unlucky one of the default no gain.
void Session::settle(const std::vector<Candidate>& candidates, std::vector<Measurement>& results,
                     const MeasureOptions& how) {
  std::vector<std::size_t> leaders;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].failure == records::Failure::None) leaders.push_back(i);
  }
  const auto faster = [&](std::size_t a, std::size_t b) { return results[a].p10() < results[b].p10(); };
  std::stable_sort(leaders.begin(), leaders.end(), faster);
  if (leaders.empty() || result_.interrupted) return;
  const double first = results[leaders[0]].p10();
  if ((best_ > 0 && first >= best_) || first > LongSeconds) return;
  const auto far = [&](std::size_t i) { return results[i].p10() > LeaderMargin * first; };
  leaders.erase(std::find_if(leaders.begin(), leaders.end(), far), leaders.end());
  leaders.resize(std::min(leaders.size(), Leaders));
  const auto is_default = [&](const Candidate& c) { return default_ && c.hash == default_->hash; };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool quick = results[i].failure == records::Failure::None && results[i].p10() <= LongSeconds;
    if (is_default(candidates[i]) && quick && std::ranges::count(leaders, i) == 0) leaders.push_back(i);
  }
  std::vector<Candidate> compared;
  for (std::size_t i : leaders) compared.push_back(candidates[i]);
  if (leader_) compared.push_back(*leader_);
  const double known = result_.default_ms / 1e3;
  if (default_ && known > 0 && known <= LongSeconds && std::ranges::none_of(compared, is_default))
    compared.push_back(*default_);
  MeasureOptions patient = how;
  patient.on_result = nullptr;
  const std::vector<Measurement> again = measurer_.compare(task_, compared, patient);
  for (std::size_t k = 0; k < leaders.size() && k < again.size(); ++k) results[leaders[k]] = again[k];
  for (std::size_t k = 0; k < again.size(); ++k) {
    if (!is_default(compared[k]) || again[k].failure != records::Failure::None) continue;
    // Its least: a machine that was busy at this time is no gain either.
    const double ms = again[k].p10() * 1e3;
    result_.default_ms = result_.default_ms > 0 ? std::min(result_.default_ms, ms) : ms;
  }
}

void Session::record(const Pick& pick, const Measurement& m, std::vector<records::Trial>& batch) {
  const bool good = m.failure == records::Failure::None;
  records::Trial trial;
  trial.key = key_;
  trial.trace = pick.candidate.trace.to_json(true);
  trial.scheduled = pick.candidate.hash;
  trial.failure = m.failure;
  trial.error_code = m.error_code;
  trial.error_text = m.error_text;
  if (good) trial.times = m.seconds;
  trial.provenance = this_provenance();
  trial.binary = m.binary;
  trial.regime = options_.cold ? records::Regime::Cold : records::Regime::Warm;
  trial.seed = options_.seed;
  trial.round = rounds_;
  const bool is_default = default_ && pick.candidate.hash == default_->hash;
  trial.proposal = is_default ? 0 : ++proposals_;
  trial.verification = {good, m.max_error, 1.0, "unscheduled"};
  batch.push_back(std::move(trial));

  const double seconds = m.p10();
  if (good && is_default && result_.default_ms == 0) result_.default_ms = seconds * 1e3;
  ++result_.measured;
  ++since_improvement_;
  if (!good) {
    ++result_.failed;
    const std::string kind(records::to_string(m.failure));
    ++result_.failures[kind];
    auto& [count, text] = errors_[kind];
    if (count++ == 0) text = m.error_text;
    const auto commonest = std::max_element(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
      return a.second.first < b.second.first;
    });
    result_.first_error = commonest->second.second;
    return;
  }
  if (best_ == 0 || seconds < best_) {
    if (best_ == 0 || seconds < Improvement * plateau_best_) {
      since_improvement_ = 0;
      plateau_best_ = seconds;
    }
    best_ = seconds;
    leader_ = pick.candidate;
    result_.best_ms = best_ * 1e3;
  }
}

/// Progress, as results come in; the search itself hears of them when the whole batch is done.
void Session::tell(const Measurement& m) {
  if (since_heartbeat_.seconds() > HeartbeatSeconds) {
    store_.heartbeat(uid_);
    since_heartbeat_ = {};
  }
  ++told_;
  const bool good = m.failure == records::Failure::None;
  if (!good) ++told_failed_;
  if (good && (told_best_ == 0 || m.p10() < told_best_)) told_best_ = m.p10();
  if (!options_.on_trial) return;
  TuneProgress p;
  p.workload = workload_.spec;
  p.trial = told_;
  p.trials = options_.trials;
  p.seconds = clock_.seconds();
  if (options_.seconds > 0) p.time_left = std::max(0.0, options_.seconds - spent());
  p.best_ms = (told_best_ > 0 && (best_ == 0 || told_best_ < best_) ? told_best_ : best_) * 1e3;
  if (told_ == 1 && good && default_first_ && result_.default_ms == 0) told_default_ = m.p10();
  p.default_ms = result_.default_ms > 0 ? result_.default_ms : told_default_ * 1e3;
  p.failures = told_failed_;
  p.failed = !good;
  p.last = good ? std::to_string(m.p10() * 1e3) + " ms" : std::string(records::to_string(m.failure));
  options_.on_trial(p);
}

TuneSpace describe_space(const Workload& workload, const Target& target, const TuneOptions& options) {
  const ScheduleSpace space(with_constant_sizes(workload).program, target,
                            space_options(workload, target, options));
  TuneSpace result;
  result.points = space.size();
  result.templates = static_cast<int>(space.templates().size());
  for (const ScheduleTemplate& made : space.templates()) {
    for (const OpenStep& open : made.open()) {
      auto known = std::find_if(result.decisions.begin(), result.decisions.end(),
                                [&](const TuneSpace::Decision& d) { return d.name == open.name; });
      if (known == result.decisions.end()) {
        known = result.decisions.insert(result.decisions.end(), TuneSpace::Decision{open.name, {}});
      }
      for (const Decided& value : open.values) {
        if (std::find(known->options.begin(), known->options.end(), value) == known->options.end())
          known->options.push_back(value);
      }
    }
  }
  return result;
}

}  // namespace lathe::tuner
