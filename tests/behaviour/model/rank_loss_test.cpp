#include "tuner/model/rank_loss.h"

#include <cmath>

using namespace lathe::tuner;

namespace {

// The loss whose gradient rank_gradients states, over all pairs.
double loss(const std::vector<float>& y, const std::vector<float>& s, const RankLossOptions& options) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) {
      if (y[i] <= y[j]) continue;
      const double top = 1 + (options.top_emphasis - 1) * y[i] * y[i];
      sum += 8.0 / y.size() * top * (y[i] - y[j]) * std::log1p(std::exp(double(s[j]) - s[i]));
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("the ranking gradient is the slope of the ranking loss") {
  Random random(1);
  const RankLossOptions options;
  std::vector<float> y(12), s(12), gradient(12), hessian(12);
  for (float& v : y) v = static_cast<float>(random.below(6)) / 5;
  for (float& v : s) v = static_cast<float>(random.normal());
  const std::vector<std::uint64_t> workload(12, 1);
  rank_gradients(y, workload, s, options, random, gradient, hessian);
  for (std::size_t i = 0; i < s.size(); ++i) {
    std::vector<float> up = s, down = s;
    up[i] += 1e-2f;
    down[i] -= 1e-2f;
    REQUIRE(gradient[i] == Approx((loss(y, up, options) - loss(y, down, options)) / 2e-2).margin(2e-3));
    REQUIRE(hessian[i] > 0);
  }
}

TEST_CASE("programs of different workloads are not ranked against each other") {
  Random random(1);
  const std::vector<float> y{1, 0.5f}, s{0, 1};
  std::vector<float> gradient(2), hessian(2);
  const std::vector<std::uint64_t> apart{1, 2}, together{1, 1};
  rank_gradients(y, apart, s, {}, random, gradient, hessian);
  CHECK(gradient == std::vector<float>{0, 0});
  rank_gradients(y, together, s, {}, random, gradient, hessian);
  CHECK(gradient[0] < 0);
  CHECK(gradient[1] == -gradient[0]);
}

TEST_CASE("sampled pairs of a large workload estimate the gradient over all") {
  Random random(2);
  const std::size_t n = 200;
  std::vector<float> y(n), s(n), sampled(n), all(n), hessian(n), mean(n, 0);
  for (float& v : y) v = static_cast<float>(random.uniform());
  for (float& v : s) v = static_cast<float>(random.normal());
  const std::vector<std::uint64_t> workload(n, 1);
  RankLossOptions every;
  every.partners = n;
  rank_gradients(y, workload, s, every, random, all, hessian);
  for (int round = 0; round < 200; ++round) {
    rank_gradients(y, workload, s, {}, random, sampled, hessian);
    for (std::size_t i = 0; i < n; ++i) mean[i] += sampled[i] / 200;
  }
  for (std::size_t i = 0; i < n; ++i) REQUIRE(mean[i] == Approx(all[i]).margin(0.1));
}
