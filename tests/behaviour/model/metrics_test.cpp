#include "tuner/model/metrics.h"

#include "tuner/model/random.h"

using namespace lathe::tuner;

namespace {

double pairwise_by_brute_force(const std::vector<float>& y, const std::vector<float>& s) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) {
      if (y[i] <= y[j]) continue;
      ++pairs;
      right += s[i] > s[j] ? 1 : s[i] == s[j] ? 0.5 : 0;
    }
  }
  return pairs == 0 ? 1 : right / pairs;
}

}  // namespace

TEST_CASE("pairwise accuracy equals counting all pairs, ties included") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> y(random.below(40)), s(y.size());
    for (float& v : y) v = static_cast<float>(random.below(8)) / 8;
    for (float& v : s) v = static_cast<float>(random.below(8)) - 4;
    REQUIRE(pairwise_accuracy(y, s) == Approx(pairwise_by_brute_force(y, s)));
  }
}

TEST_CASE("peak@k averages the best so far over the first k") {
  const std::vector<float> y{0.5f, 1.0f, 0.25f}, s{2, 1, 3};  // order by score: 0.25, 0.5, 1.0
  CHECK(peak_at(1, y, s) == Approx(0.25));
  CHECK(peak_at(2, y, s) == Approx((0.25 + 0.5) / 2));
  CHECK(peak_at(3, y, s) == Approx((0.25 + 0.5 + 1.0) / 3));
  CHECK(peak_at(4, y, s) == Approx((0.25 + 0.5 + 1.0 + 1.0) / 4));
  CHECK(peak_at(1, {}, {}) == 0);
}

TEST_CASE("top-k score weighs workloads by their share of the time") {
  const TopK workloads[] = {{1, 2, 1}, {3, 3, 2}};
  CHECK(top_k_score(workloads) == Approx((1 + 6) / (2.0 + 6)));
}

TEST_CASE("a split keeps each workload whole, whatever else is present") {
  std::vector<std::uint64_t> workload;
  for (std::uint64_t w = 0; w < 100; ++w) workload.insert(workload.end(), 3, mix64(w));
  const Split split = split_by_workload(workload, 0.25, 1);
  CHECK(split.train.size() + split.test.size() == workload.size());
  CHECK(split.test.size() > 30);
  CHECK(split.test.size() < 120);
  for (std::size_t i : split.train) {
    for (std::size_t j : split.test) REQUIRE(workload[i] != workload[j]);
  }
  for (std::size_t i = 0; i < workload.size(); i += 3) {
    const std::uint64_t alone[] = {workload[i]};
    const bool test = !split_by_workload(alone, 0.25, 1).test.empty();
    REQUIRE(test == (std::count(split.test.begin(), split.test.end(), i) == 1));
  }
}

TEST_CASE("a subset copies features of all rows, labels and workloads") {
  Dataset data;
  FeatureTable table(2);
  for (int p = 0; p < 4; ++p) {
    for (int r = 0; r < p; ++r) table.add_row()[1] = static_cast<float>(10 * p + r);
    table.end_program();
  }
  for (int p = 0; p < 4; ++p) data.add(table, p, 0.25f * p, 100 + p);
  const std::size_t pick[] = {3, 0, 2};
  const Dataset part = subset(data, pick);
  CHECK(part.label == std::vector<float>{0.75f, 0, 0.5f});
  CHECK(part.workload == std::vector<std::uint64_t>{103, 100, 102});
  REQUIRE(part.features.rows() == 5);
  CHECK(part.features.first_row(2) == 3);
  CHECK(part.features.row(1)[1] == 31);
  CHECK(part.features.row(4)[1] == 21);
}
