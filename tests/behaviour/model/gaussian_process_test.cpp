#include "tuner/model/gaussian_process.h"

#include <algorithm>
#include <cmath>

#include "tuner/model/random.h"

using namespace lathe::tuner;

namespace {

struct Sample {
  std::vector<float> x, y;
};

// y depends on the first of two dimensions alone.
Sample wave(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  Sample s;
  for (std::size_t i = 0; i < n; ++i) {
    const float a = static_cast<float>(4 * random.uniform() - 2),
                b = static_cast<float>(4 * random.uniform() - 2);
    s.x.insert(s.x.end(), {a, b});
    s.y.push_back(std::sin(2 * a));
  }
  return s;
}

}  // namespace

TEST_CASE("a Gaussian process interpolates a smooth function") {
  const Sample train = wave(60, 1), test = wave(50, 2);
  GaussianProcess process;
  process.fit(train.x, 2, train.y);
  std::vector<float> mean(50), deviation(50);
  process.predict(test.x, mean, deviation);
  for (std::size_t i = 0; i < 50; ++i) REQUIRE(mean[i] == Approx(test.y[i]).margin(0.15));
}

TEST_CASE("the deviation grows away from the samples and nearly vanishes at them") {
  const Sample train = wave(40, 1);
  GaussianProcess process;
  process.fit(train.x, 2, train.y);
  std::vector<float> mean(1), at(1), away(1);
  process.predict(std::span(train.x).first(2), mean, at);
  const float far[] = {9, 9};
  process.predict(far, mean, away);
  CHECK(at[0] < 0.2);
  CHECK(away[0] > 3 * at[0]);
}

TEST_CASE("the length scales find which dimension matters") {
  const Sample train = wave(60, 3);
  GaussianProcess process;
  process.fit(train.x, 2, train.y);
  const float points[] = {1, 0, 0, 1}, origin[] = {0, 0};
  std::vector<float> correlation(2);
  process.correlation(points, origin, correlation);
  CHECK(correlation[0] < correlation[1]);
  CHECK(correlation[1] > 0.8);
}

TEST_CASE("repeated and contradicting samples, constants and single samples are no trouble") {
  std::vector<float> mean(2), deviation(2);
  const float x[] = {1, 1, 1, 1, 2, 2}, y[] = {0, 1, 0.5f}, constant[] = {3, 3, 3};
  const float at[] = {1, 1, 2, 2};
  GaussianProcess process;
  process.fit(x, 2, y);
  process.predict(at, mean, deviation);
  CHECK(std::isfinite(mean[0] + mean[1] + deviation[0] + deviation[1]));
  CHECK(mean[0] == Approx(0.5).margin(0.3));
  GaussianProcess flat;
  flat.fit(x, 2, constant);
  flat.predict(at, mean, deviation);
  CHECK(mean[0] == Approx(3));
  GaussianProcess single;
  single.fit(std::span(x).first(2), 2, std::span(y).first(1));
  CHECK(single.empty());
}

TEST_CASE("of more samples than it may keep, a process keeps the best") {
  Sample train = wave(300, 4);
  const std::size_t best = std::max_element(train.y.begin(), train.y.end()) - train.y.begin();
  GaussianProcessOptions options;
  options.max_samples = 40;
  GaussianProcess process(options);
  process.fit(train.x, 2, train.y);
  std::vector<float> mean(1), deviation(1);
  process.predict(std::span(train.x).subspan(2 * best, 2), mean, deviation);
  CHECK(mean[0] == Approx(1).margin(0.1));
}

TEST_CASE("a process asked in one call and in many gives the same answers") {
  const Sample train = wave(30, 1), test = wave(600, 2);
  GaussianProcess process;
  process.fit(train.x, 2, train.y);
  std::vector<float> all(600), one(1), deviation(600), one_deviation(1);
  process.predict(test.x, all, deviation);
  for (std::size_t i : {0, 511, 512, 599}) {
    process.predict(std::span(test.x).subspan(2 * i, 2), one, one_deviation);
    CHECK(one[0] == Approx(all[i]).margin(1e-4));
    CHECK(one_deviation[0] == Approx(deviation[i]).margin(1e-3));
  }
}
