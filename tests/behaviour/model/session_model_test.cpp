#include "tuner/model/session_model.h"

#include <numeric>

#include "synthetic.h"
#include "tuner/model/metrics.h"

using namespace lathe::tuner;

namespace {

// The features double as the embedding.
struct Programs {
  explicit Programs(Dataset d) : data(std::move(d)) {
    embedding.assign(data.features.data(), data.features.data() + 4 * data.size());
  }
  Inputs inputs() const { return {&data.features, embedding, prior}; }
  Dataset data;
  std::vector<float> embedding, prior;
};

double mean(const std::vector<float>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / v.size(); }

}  // namespace

TEST_CASE("the session's model orders programs that it has not seen and keeps the scale of y") {
  const Programs train(synthetic(150, 1)), test(synthetic(300, 2));
  SessionModel model;
  model.fit(train.inputs(), train.data.label);
  const Prediction p = model.predict(test.inputs());
  CHECK(pairwise_accuracy(test.data.label, p.mean) > 0.88);
  double error = 0;
  for (std::size_t i = 0; i < 300; ++i) error += std::abs(p.mean[i] - test.data.label[i]) / 300;
  CHECK(error < 0.08);
}

TEST_CASE("the spread is smaller at what was measured than elsewhere") {
  const Programs train(synthetic(100, 1)), test(synthetic(200, 2));
  SessionModel model;
  model.fit(train.inputs(), train.data.label);
  CHECK(mean(model.predict(train.inputs()).spread) < 0.7 * mean(model.predict(test.inputs()).spread));
}

TEST_CASE("every kind of member works alone and with the others") {
  const Programs train(synthetic(150, 1)), test(synthetic(200, 2));
  for (const auto& [bags, processes, networks] :
       {std::tuple{1, false, 0}, {0, true, 0}, {0, false, 1}, {1, true, 1}}) {
    SessionModelOptions options;
    options.bags = bags;
    options.processes = processes;
    options.networks = networks;
    options.network.width = 32;
    options.network.batch = 32;
    SessionModel model(options);
    model.fit(train.inputs(), train.data.label);
    CHECK(pairwise_accuracy(test.data.label, model.predict(test.inputs()).mean) > 0.8);
  }
}

TEST_CASE("a model that is not fitted answers with the prior, or with a constant") {
  Programs programs(synthetic(5, 1));
  SessionModel model;
  const Prediction blind = model.predict(programs.inputs());
  CHECK(blind.mean == std::vector<float>(5, blind.mean[0]));
  programs.prior = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f};
  CHECK(model.predict(programs.inputs()).mean == programs.prior);
  model.fit({&programs.data.features, programs.embedding, programs.prior}, programs.data.label);
  CHECK(model.fitted());
}

TEST_CASE("a good prior is kept and a misleading one is overruled") {
  Programs train(synthetic(24, 1)), test(synthetic(300, 2));
  SessionModel alone;
  alone.fit(train.inputs(), train.data.label);
  const double without = pairwise_accuracy(test.data.label, alone.predict(test.inputs()).mean);

  auto with_prior = [&](auto prior, std::size_t samples) {
    Programs some(synthetic(samples, 1));
    for (float y : some.data.label) some.prior.push_back(prior(y));
    test.prior.clear();
    for (float y : test.data.label) test.prior.push_back(prior(y));
    SessionModel model;
    model.fit(some.inputs(), some.data.label);
    return pairwise_accuracy(test.data.label, model.predict(test.inputs()).mean);
  };
  const double good = with_prior([](float y) { return 0.8f * y + 0.05f; }, 24);
  CHECK(good > 0.95);
  CHECK(good > without);
  CHECK(with_prior([](float y) { return 1 - y; }, 24) > without - 0.1);
}

TEST_CASE("failures, equal labels and two samples are no trouble") {
  Programs programs(synthetic(30, 1));
  std::vector<float> label = programs.data.label;
  for (std::size_t i = 0; i < 30; i += 3) label[i] = 0;
  SessionModel model;
  model.fit(programs.inputs(), label);
  Prediction p = model.predict(programs.inputs());
  for (std::size_t i = 0; i < 30; ++i) REQUIRE(std::isfinite(p.mean[i] + p.spread[i]));
  CHECK(p.mean[0] < p.mean[std::max_element(label.begin(), label.end()) - label.begin()]);

  model.fit(programs.inputs(), std::vector<float>(30, 1.0f));
  p = model.predict(programs.inputs());
  CHECK(p.mean[3] == Approx(1).margin(0.01));
  model.fit(programs.inputs(), std::vector<float>(30, 0.0f));
  CHECK(std::isfinite(model.predict(programs.inputs()).mean[3]));

  const Programs two(synthetic(2, 1)), one(synthetic(1, 1));
  SessionModel few;
  few.fit(one.inputs(), one.data.label);
  CHECK_FALSE(few.fitted());
  few.fit(two.inputs(), two.data.label);
  CHECK(few.fitted());
  CHECK(std::isfinite(few.predict(two.inputs()).spread[1]));
}

TEST_CASE("the session's model is a function of its data and seed") {
  const Programs train(synthetic(60, 1)), test(synthetic(60, 2));
  auto answer = [&](std::uint64_t seed) {
    SessionModelOptions options;
    options.seed = seed;
    SessionModel model(options);
    model.fit(train.inputs(), train.data.label);
    return model.predict(test.inputs()).mean;
  };
  CHECK(answer(1) == answer(1));
  CHECK(answer(1) != answer(2));
}
