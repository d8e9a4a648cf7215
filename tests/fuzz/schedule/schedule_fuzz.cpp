// Random schedules of random programs and of the library's operators. `build/tests/fuzz_schedule --seed N --count M` runs
// any number of them, each in a process of its own.
#include "support/schedule_fuzzer/fuzzer.h"

using namespace lathe;

namespace {

void run_seeds(std::uint64_t first, std::uint64_t count) {
  int accepted = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("fuzz_schedule --seed " << seed);
    const fuzz::Subject subject = fuzz::make_subject(seed);
    INFO(subject.what);
    const fuzz::Outcome outcome = fuzz::run(subject, fuzz::moves_of(seed), seed);
    INFO(outcome.steps);
    CHECK(outcome.failure == "");
    accepted += outcome.accepted;
  }
  CHECK(accepted > static_cast<int>(count));
}

}  // namespace

TEST_CASE("random schedules compute what the unscheduled program computes, 1 to 100") { run_seeds(1, 100); }
TEST_CASE("random schedules compute what the unscheduled program computes, 101 to 200") {
  run_seeds(101, 100);
}
TEST_CASE("random schedules compute what the unscheduled program computes, 201 to 300") {
  run_seeds(201, 100);
}

TEST_CASE("shrinking keeps what is needed for the failure and nothing else") {
  std::vector<fuzz::Move> moves(13);
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i].seed = i;
  auto has = [](const std::vector<fuzz::Move>& m, std::uint64_t seed) {
    return std::any_of(m.begin(), m.end(), [&](const fuzz::Move& x) { return x.seed == seed; });
  };
  const auto rest = fuzz::shrink(moves, [&](const auto& m) { return has(m, 3) && has(m, 11); });
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].seed == 3);
  CHECK(rest[1].seed == 11);
}
