#include "model_quality.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "tuner/model/metrics.h"
#include "tuner/model/session_model.h"
#include "xgboost_peer.h"

namespace lathe::bench {

using namespace tuner;

namespace {

struct Part {
  explicit Part(const Sweep& sweep)
      : points(sweep.decisions().size()), features(sweep.feature_width()), time() {}
  void add(const Sweep& sweep, std::size_t row) {
    points.add((*sweep.listed())[row]);
    features.append(sweep.feature_table(), row);
    time.push_back(sweep.time(row));
  }
  std::vector<float> embedding(const Sweep& sweep) const {
    std::vector<float> rows(points.size() * sweep.embedding_width());
    sweep.embed(points, rows);
    return rows;
  }
  // t_min/t with the part's own minimum, or with a known one.
  std::vector<float> label(double fastest = 0) const {
    if (fastest == 0) fastest = *std::min_element(time.begin(), time.end());
    std::vector<float> y;
    for (double t : time) y.push_back(static_cast<float>(fastest / t));
    return y;
  }
  PointSet points;
  FeatureTable features;
  std::vector<double> time;
};

std::vector<float> session_scores(const Sweep& sweep, const Part& train, const Part& test,
                                  SessionModelOptions options) {
  SessionModel model(options);
  const std::vector<float> train_embedding = train.embedding(sweep), test_embedding = test.embedding(sweep);
  model.fit({&train.features, train_embedding, {}}, train.label());
  return model.predict({&test.features, test_embedding, {}}).mean;
}

using Scores = std::function<std::vector<float>(const Sweep&, const Part&, const Part&, std::uint64_t seed)>;

std::vector<std::pair<std::string, Scores>> models() {
  auto session = [](bool trees, bool processes) {
    return [=](const Sweep& sweep, const Part& train, const Part& test, std::uint64_t seed) {
      SessionModelOptions options;
      options.seed = seed;
      options.processes = processes;
      if (!trees) options.bags = 0;
      return session_scores(sweep, train, test, options);
    };
  };
  std::vector<std::pair<std::string, Scores>> result = {
      {"ours", session(true, true)}, {"trees", session(true, false)}, {"processes", session(false, true)}};
  if (has_xgboost()) {
    for (bool ranking : {false, true}) {
      result.emplace_back(ranking ? "xgboost-rank" : "xgboost", [=](const Sweep&, const Part& train,
                                                                    const Part& test, std::uint64_t seed) {
        const Dataset data{train.features, train.label(), std::vector<std::uint64_t>(train.time.size(), 0)};
        return xgboost_scores(data, test.features, ranking, seed);
      });
    }
  }
  return result;
}

}  // namespace

std::vector<ModelQuality> model_quality(const Sweep& sweep, std::size_t samples, int seeds) {
  constexpr std::size_t TestRows = 4000;
  std::vector<ModelQuality> result;
  const auto all = models();
  for (const auto& [name, scores] : all) result.push_back({sweep.name(), name, samples});
  for (int seed = 0; seed < seeds; ++seed) {
    Random random(mix64(samples, seed));
    std::vector<std::size_t> rows(sweep.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    random.shuffle(std::span(rows));
    Part train(sweep), test(sweep);
    for (std::size_t i = 0; i < std::min(rows.size(), samples + TestRows); ++i) {
      (i < samples ? train : test).add(sweep, rows[i]);
    }
    const std::vector<float> y = test.label(sweep.best());
    for (std::size_t m = 0; m < all.size(); ++m) {
      const std::vector<float> s = all[m].second(sweep, train, test, seed);
      const double pairwise = pairwise_accuracy(y, s);
      result[m].pairwise += pairwise / seeds;
      result[m].worst_pairwise = std::min(result[m].worst_pairwise, pairwise);
      result[m].peak1 += peak_at(1, y, s) / seeds;
      result[m].peak5 += peak_at(5, y, s) / seeds;
    }
  }
  return result;
}

}  // namespace lathe::bench
