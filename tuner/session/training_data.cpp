#include "tuner/session/training_data.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "lathe/replay.h"
#include "lathe/schedule.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/metrics.h"
#include "tuner/model/pretrained.h"
#include "tuner/model/random.h"

namespace lathe::tuner {

std::size_t TrainingData::workloads() const {
  return std::set<std::uint64_t>(data.workload.begin(), data.workload.end()).size();
}

namespace {

const std::string& class_of(const records::Provenance& p) {
  return p.host_class.empty() ? p.host : p.host_class;
}

records::Filter trials_of(const records::KeySummary& key) {
  records::Filter filter;
  filter.workload = key.workload.program.hex();
  filter.target = key.target.fingerprint.hex();
  return filter;
}

// How many trials of the target each class of hosts has.
std::map<std::string, std::int64_t> hosts_of(const RecordStore& store, const Digest& fingerprint) {
  std::map<std::string, std::int64_t> hosts;
  for (const records::KeySummary& key : store.summary()) {
    if (key.target.fingerprint != fingerprint) continue;
    store.for_each_trial(trials_of(key), [&](const records::Trial& trial) {
      if (trial.key == key.key) ++hosts[class_of(trial.provenance)];
      return true;
    });
  }
  return hosts;
}

// The part of a cross-validation that each sample is held out with. Workloads, or the samples of a single one, are dealt
// to the parts in a random order.
std::vector<std::size_t> parts(const TrainingData& all, bool by_workload, std::size_t folds,
                               std::uint64_t seed) {
  std::map<std::uint64_t, std::uint64_t> deck;  // a random number each -> workload or sample
  auto name = [&](std::size_t i) { return by_workload ? all.data.workload[i] : std::uint64_t{i}; };
  for (std::size_t i = 0; i < all.data.size(); ++i) deck.emplace(mix64(seed, name(i)), name(i));
  std::map<std::uint64_t, std::size_t> part;
  for (const auto& [number, dealt] : deck) part.emplace(dealt, part.size() % folds);
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < all.data.size(); ++i) result.push_back(part.at(name(i)));
  return result;
}

}  // namespace

TrainingData training_data(const RecordStore& store, const Target& target, std::string host_class) {
  TrainingData result;
  result.other_hosts = hosts_of(store, target.fingerprint());
  if (host_class.empty()) host_class = class_of(this_provenance());
  auto chosen = result.other_hosts.find(host_class);
  if (chosen == result.other_hosts.end()) {
    chosen = std::max_element(result.other_hosts.begin(), result.other_hosts.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
  }
  if (chosen != result.other_hosts.end()) {
    result.host_class = chosen->first;
    result.other_hosts.erase(chosen);
  }
  result.data.features = FeatureTable(statement_feature_names().size());
  const CpuModel cpu(target);
  const Digest fingerprint = target.fingerprint();
  for (const records::KeySummary& key : store.summary()) {
    if (key.target.fingerprint != fingerprint) {
      result.other_targets += key.trials;
      continue;
    }
    std::optional<Program> program;
    std::map<Digest, double> seen;  // a schedule that was measured several times is one sample, its best time
    std::vector<records::Trial> trials;
    store.for_each_trial(trials_of(key), [&](const records::Trial& trial) {
      if (!(trial.key == key.key) || !trial.scheduled || trial.regime != records::Regime::Warm) return true;
      if (class_of(trial.provenance) != result.host_class) return true;
      const double seconds = trial.failure == records::Failure::None ? trial.p10 : 0;
      auto [it, fresh] = seen.emplace(*trial.scheduled, seconds);
      if (fresh) trials.push_back(trial);
      if (seconds > 0 && (it->second == 0 || seconds < it->second)) it->second = seconds;
      return true;
    });
    double best = 0;
    for (const auto& [hash, seconds] : seen) {
      if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
    }
    for (const records::Trial& trial : trials) {
      if (!program) program = program_from_json(store.trial_with_key(trial.id)->workload.program_json);
      Schedule s(*program);
      try {
        s.replay(Trace::from_json(trial.trace));
      } catch (const UserError&) {
        ++result.not_replayed;
        continue;
      }
      const ProgramView seen_program = view(s.program());
      add_features(seen_program, cpu, result.data.features);
      const double seconds = seen.at(*trial.scheduled);
      result.seconds.push_back(seconds);
      result.data.label.push_back(seconds > 0 ? static_cast<float>(best / seconds) : 0);
      result.data.workload.push_back(key.workload.program.low ^ key.workload.program.high);
      result.draft.push_back(static_cast<float>(1e6 / std::max(1.0, cost(seen_program, cpu))));
    }
  }
  return result;
}

ModelMetrics model_metrics(const std::string& name, const TrainingData& all,
                           std::span<const std::size_t> test, std::span<const float> score) {
  ModelMetrics m;
  m.model = name;
  std::map<std::uint64_t, std::vector<std::size_t>> by_workload;  // positions in `test`
  for (std::size_t i = 0; i < test.size(); ++i) by_workload[all.data.workload[test[i]]].push_back(i);
  std::vector<TopK> top1, top5;
  for (const auto& [workload, members] : by_workload) {
    std::vector<float> label, mine;
    for (std::size_t i : members) {
      label.push_back(all.data.label[test[i]]);
      mine.push_back(score[i]);
    }
    if (*std::max_element(label.begin(), label.end()) == *std::min_element(label.begin(), label.end()))
      continue;
    ++m.workloads;
    m.programs += members.size();
    m.pairwise += pairwise_accuracy(label, mine);
    m.peak1 += peak_at(1, label, mine);
    m.peak5 += peak_at(5, label, mine);
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return mine[a] > mine[b]; });
    double best = 0, found1 = 0, found5 = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const double t = all.seconds[test[members[order[k]]]];
      if (t <= 0) continue;
      if (best == 0 || t < best) best = t;
      if (k < 1 && (found1 == 0 || t < found1)) found1 = t;
      if (k < 5 && (found5 == 0 || t < found5)) found5 = t;
    }
    // A pick that failed found nothing: as if ten times slower.
    top1.push_back({best, found1 > 0 ? found1 : 10 * best, 1});
    top5.push_back({best, found5 > 0 ? found5 : 10 * best, 1});
  }
  if (m.workloads == 0) return m;
  const double n = static_cast<double>(m.workloads);
  m.pairwise /= n;
  m.peak1 /= n;
  m.peak5 /= n;
  m.top1 = top_k_score(top1);
  m.top5 = top_k_score(top5);
  return m;
}

CrossValidation cross_validate(const TrainingData& all, int folds, std::uint64_t seed) {
  CrossValidation result;
  const std::size_t workloads = all.workloads(), most = static_cast<std::size_t>(folds);
  result.by_workload = workloads >= 2;
  if (all.data.size() < most) return result;
  const std::size_t count = result.by_workload ? std::min(most, workloads) : most;
  const std::vector<std::size_t> part = parts(all, result.by_workload, count, seed);
  std::vector<float> trees(all.data.size()), networks(all.data.size());
  std::vector<std::size_t> judged;
  for (std::size_t fold = 0; fold < count; ++fold) {
    std::vector<std::size_t> train, test;
    for (std::size_t i = 0; i < part.size(); ++i) (part[i] == fold ? test : train).push_back(i);
    if (train.empty() || test.empty()) continue;
    judged.insert(judged.end(), test.begin(), test.end());
    const Dataset training = subset(all.data, train), testing = subset(all.data, test);
    PretrainOptions options;
    options.seed = seed;
    auto judge = [&](std::vector<float>& score) {
      const std::vector<float> y = PretrainedModel::train(training, options).predict(testing.features);
      for (std::size_t i = 0; i < test.size(); ++i) score[test[i]] = y[i];
    };
    judge(trees);
    options.networks = 1;
    judge(networks);
  }
  std::sort(judged.begin(), judged.end());
  auto metrics = [&](const std::string& name, const std::vector<float>& score) {
    std::vector<float> chosen;
    for (std::size_t i : judged) chosen.push_back(score[i]);
    return model_metrics(name, all, judged, chosen);
  };
  result.models = {metrics("draft", all.draft), metrics("trees", trees),
                   metrics("trees and network", networks)};
  return result;
}

}  // namespace lathe::tuner
