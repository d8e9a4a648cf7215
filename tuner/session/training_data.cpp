#include "tuner/session/training_data.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "lathe/schedule.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/metrics.h"
#include "tuner/model/pretrained.h"
#include "tuner/model/random.h"

namespace lathe::tuner {

std::size_t TrainingData::workloads() const {
  return std::set<std::uint64_t>(data.workload.begin(), data.workload.end()).size();
}

TrainingData training_data(const RecordStore& store, const Target& target) {
  TrainingData result;
  result.data.features = FeatureTable(statement_feature_names().size());
  const CpuModel cpu(target);
  const Digest fingerprint = target.fingerprint();
  for (const records::KeySummary& key : store.summary()) {
    if (key.target.fingerprint != fingerprint) {
      result.other_targets += key.trials;
      continue;
    }
    records::Filter filter;
    filter.workload = key.workload.program.hex();
    filter.target = fingerprint.hex();
    std::optional<Program> program;
    std::map<Digest, double> seen;  // a schedule that was measured several times is one sample, its best time
    std::vector<records::Trial> trials;
    store.for_each_trial(filter, [&](const records::Trial& trial) {
      if (!(trial.key == key.key) || !trial.scheduled || trial.regime != records::Regime::Warm) return true;
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

std::vector<ModelMetrics> cross_validate(const TrainingData& all, int folds, std::uint64_t seed) {
  std::vector<std::size_t> everything(all.data.size());
  std::iota(everything.begin(), everything.end(), std::size_t{0});
  std::vector<float> trees(all.data.size()), networks(all.data.size());
  std::vector<std::size_t> judged;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<std::size_t> train, test;
    for (std::size_t i : everything) {
      const bool held_out = mix64(seed, all.data.workload[i]) % static_cast<std::uint64_t>(folds) ==
                            static_cast<std::uint64_t>(fold);
      (held_out ? test : train).push_back(i);
    }
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
  return {metrics("draft", all.draft), metrics("trees", trees), metrics("trees and network", networks)};
}

}  // namespace lathe::tuner
