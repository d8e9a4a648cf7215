#include "bench/harness/measure.h"

#include <cmath>
#include <limits>

using namespace lathe::bench;

namespace {

// A callable whose calls "take" the given seconds, one after the other, whatever the clock says.
Callable pretending(std::string name, std::vector<double> seconds, std::vector<std::string>* log = nullptr) {
  auto next = std::make_shared<std::size_t>(0);
  auto sample = [=](int count) {
    if (log) log->push_back(name);
    return count * seconds[(*next)++ % seconds.size()];
  };
  return {name, sample, nullptr, std::nullopt};
}

Callable resulting(std::vector<float> values) {
  return {"", [](int) { return 1e-3; }, [values] { return values; }, std::nullopt};
}

}  // namespace

TEST_CASE("minimum and median are those of the samples of one call") {
  const auto times = measure_in_turns({pretending("a", {5e-3, 7e-3, 6e-3})}, 1, {});
  CHECK(times[0].min == Approx(5e-3));
  CHECK(times[0].median == Approx(6e-3));
  CHECK(times[0].samples >= 10);
}

TEST_CASE("a short call is repeated until a sample is long enough") {
  std::vector<int> counts;
  Callable quick{"quick",
                 [&](int count) {
                   counts.push_back(count);
                   return count * 1e-6;
                 },
                 nullptr, std::nullopt};
  Sampling sampling;
  sampling.sample_seconds = 2e-3;
  CHECK(measure_in_turns({quick}, 1, sampling)[0].min == Approx(1e-6));
  CHECK(counts.back() == 2000);
}

TEST_CASE("implementations take turns, so that none is measured at another time than the others") {
  std::vector<std::string> log;
  measure_in_turns({pretending("a", {5e-3}, &log), pretending("b", {5e-3}, &log)}, 1, {});
  int run = 0, longest = 0;
  for (std::size_t i = 1; i < log.size(); ++i) {
    run = log[i] == log[i - 1] ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  CHECK(longest < 4);
}

TEST_CASE("a hopelessly slow implementation is sampled twice and holds nobody up") {
  const auto times = measure_in_turns({pretending("slow", {9.0}), pretending("fast", {1e-3})}, 1, {});
  CHECK(times[1].samples >= 10);
  const auto other_order = measure_in_turns({pretending("fast", {1e-3}), pretending("slow", {9.0})}, 1, {});
  CHECK(other_order[1].samples == 2);
}

TEST_CASE("the output that disagrees with the others is found") {
  CHECK(disagreeing({resulting({1, 2}), resulting({1, 2}), resulting({1, 2.1f})}) ==
        std::vector<std::size_t>{2});
  CHECK(disagreeing({resulting({1, 2}), resulting({1, 2.00001f}), resulting({1, 2})}).empty());
  CHECK(disagreeing({resulting({1, 2}), resulting({1, 2}), resulting({1, std::nanf("")})}) ==
        std::vector<std::size_t>{2});
  CHECK(disagreeing({resulting({1, 2}), resulting({1, 2}), resulting({1})}) == std::vector<std::size_t>{2});
}

TEST_CASE("of two outputs that disagree neither is believed, and one alone is") {
  CHECK(disagreeing({resulting({1, 2}), resulting({1, 3})}) == std::vector<std::size_t>{0, 1});
  CHECK(disagreeing({resulting({1, 2}), resulting({1, 3})}, 0.5f).empty());
  CHECK(disagreeing({resulting({1, 2})}).empty());
  CHECK(disagreeing({resulting({1, 2}), Callable{"no output", nullptr, nullptr, std::nullopt}}).empty());
}
