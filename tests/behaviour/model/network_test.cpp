#include "tuner/model/network.h"

#include <cmath>

#include "synthetic.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model_file.h"

using namespace lathe::tuner;

namespace {

std::vector<float> scores(const Network& network, const FeatureTable& features) {
  std::vector<float> result(features.programs(), 0);
  network.predict(features, result);
  return result;
}

NetworkOptions small() {
  NetworkOptions options;
  options.width = 32;
  options.batch = 32;
  options.epochs = 40;
  return options;
}

}  // namespace

TEST_CASE("a network orders programs that it has not seen, by either loss") {
  const Dataset train = synthetic(500, 1), test = synthetic(300, 2);
  for (auto loss : {NetworkOptions::Loss::SquaredError, NetworkOptions::Loss::Rank}) {
    NetworkOptions options = small();
    options.loss = loss;
    Network network;
    network.fit(train, options);
    CHECK(pairwise_accuracy(test.label, scores(network, test.features)) > 0.88);
  }
}

TEST_CASE("a network sees a program as a set of rows") {
  Network network;
  network.fit(synthetic(100, 1), small());
  const float a[] = {0.5f, -1, 0.25f, 1}, b[] = {-0.5f, 1, 0, 0};
  FeatureTable table(4);
  auto add = [&](const float* row) { std::copy_n(row, 4, table.add_row().begin()); };
  add(a), add(b), table.end_program();
  add(b), add(a), table.end_program();
  add(a), table.end_program();
  table.end_program();
  const std::vector<float> s = scores(network, table);
  CHECK(s[0] == Approx(s[1]).epsilon(1e-4));
  CHECK(s[0] != Approx(s[2]).epsilon(1e-4));
  CHECK(std::isfinite(s[3]));
}

TEST_CASE("a network's answer does not depend on the batch it is asked in") {
  Network network;
  const Dataset data = synthetic(300, 1);
  network.fit(data, small());
  const std::vector<float> together = scores(network, data.features);
  for (std::size_t i = 0; i < data.size(); i += 37) {
    FeatureTable one(4);
    one.append(data.features, i);
    REQUIRE(scores(network, one)[0] == Approx(together[i]).margin(1e-5));
  }
}

TEST_CASE("training goes on from the weights that are there") {
  const Dataset data = synthetic(300, 1);
  NetworkOptions options = small();
  options.loss = NetworkOptions::Loss::SquaredError;
  options.epochs = 30;
  auto error = [&](const Network& network) {
    double sum = 0;
    const std::vector<float> s = scores(network, data.features);
    for (std::size_t i = 0; i < s.size(); ++i) sum += (s[i] - data.label[i]) * (s[i] - data.label[i]);
    return sum;
  };
  Network network;
  network.fit(data, options);
  options.epochs = 2;
  Network fresh;
  fresh.fit(data, options);
  network.fit(data, options);
  CHECK(error(network) < 0.5 * error(fresh));
}

TEST_CASE("a network is a function of data and seed, and survives saving") {
  const Dataset data = synthetic(100, 1);
  NetworkOptions options = small();
  options.epochs = 5;
  Network a, b, c;
  a.fit(data, options);
  b.fit(data, options);
  options.seed = 2;
  c.fit(data, options);
  CHECK(scores(a, data.features) == scores(b, data.features));
  CHECK(scores(a, data.features) != scores(c, data.features));
  ByteWriter out;
  a.save(out);
  ByteReader in(out.bytes(), "file");
  CHECK(scores(Network::load(in), data.features) == scores(a, data.features));
}

TEST_CASE("the standardiser centres, scales, clamps, and silences constant columns") {
  FeatureTable table(3);
  for (float v : {1.0f, 2.0f, 3.0f}) {
    std::span<float> row = table.add_row();
    row[0] = v;
    row[1] = 5;
    row[2] = -v;
  }
  table.end_program();
  Standardiser standardiser;
  standardiser.fit(table);
  float out[3];
  standardiser.apply(table.row(2), out);
  CHECK(out[0] == Approx(std::sqrt(1.5)));
  CHECK(out[1] == 0);
  CHECK(out[2] == Approx(-std::sqrt(1.5)));
  const float far[] = {1e6f, 6, 2};
  standardiser.apply(far, out);
  CHECK(out[0] == 8);
  CHECK(out[1] == 0);
}
