// Several workloads share a budget.
#include "analytic_measurer.h"
#include "support/check_schedule.h"
#include "tuner/session/asked.h"

using namespace lathe;
using namespace lathe::tuner;

namespace {

void two_factors(Schedule& s, const Target&) {
  const BlockRef b = s.blocks().back();
  const std::vector<LoopRef> l = s.loops(b);
  const Factor x = s.sample_choice({1, 2, 4, 8, 16}), y = s.sample_choice({1, 2, 4, 8, 16});
  s.split(l[0], {_, x});
  s.split(l[1], {_, y});
}

TuneOptions shared(int trials) {
  TuneOptions options;
  options.trials = trials;
  options.round = 4;
  options.strategy = SearchStrategy::Random;
  options.library_rules = false;
  options.rules = {two_factors};
  return options;
}

const std::vector<Workload>& three() {
  static const std::vector<Workload> all{Workload::parse("matmul(m=64,n=64,k=64)"),
                                         Workload::parse("matmul(m=32,n=64,k=64)"),
                                         Workload::parse("transpose(m=64,n=64)")};
  return all;
}

/// The same time for whatever belongs to a workload, by its program's name and rows.
Measurement constant(double seconds) {
  Measurement m;
  m.seconds = {seconds};
  return m;
}

}  // namespace

TEST_CASE("every workload gets a round, and the budget is kept") {
  RecordStore store = RecordStore::in_memory();
  AnalyticMeasurer machine;
  const std::vector<TuneResult> r = tuner::tune_all(three(), test::avx2(), shared(30), store, machine, {});
  REQUIRE(r.size() == 3);
  int sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(r[i].workload == three()[i].spec);
    CHECK(r[i].measured >= 4);
    sum += r[i].measured;
  }
  CHECK(sum == 30);
  CHECK(store.statistics().trials == 30);
}

TEST_CASE("a budget smaller than a round leaves something to every workload") {
  RecordStore store = RecordStore::in_memory();
  AnalyticMeasurer machine;
  const std::vector<TuneResult> r = tuner::tune_all(three(), test::avx2(), shared(4), store, machine, {});
  for (const TuneResult& one : r) CHECK(one.measured >= 1);
  CHECK(r[0].measured + r[1].measured + r[2].measured == 4);
}

TEST_CASE("the slowest workload and the heaviest one get more") {
  auto shares = [&](const std::vector<double>& weights, double first, double second) {
    RecordStore store = RecordStore::in_memory();
    AnalyticMeasurer machine;
    machine.answer = [&](const Candidate& c) {
      if (c.scheduled->name != "matmul") return constant(1e-3);
      return constant(*as_int(c.scheduled->params[0].buffer->shape[0]) == 64 ? first : second);
    };
    std::vector<int> measured;
    for (const TuneResult& r : tuner::tune_all(three(), test::avx2(), shared(48), store, machine, weights))
      measured.push_back(r.measured);
    return measured;
  };
  const std::vector<int> slow = shares({}, 4e-3, 1e-3);
  CHECK(slow[0] > slow[1]);
  CHECK(slow[0] > slow[2]);
  const std::vector<int> heavy = shares({1, 4, 1}, 1e-3, 1e-3);
  CHECK(heavy[1] > heavy[0]);
  CHECK(heavy[1] > heavy[2]);
}

TEST_CASE("what one workload throws ends only its own share") {
  std::vector<Workload> workloads = three();
  workloads.push_back(Workload::parse("row_sum(m=4,n=33)"));
  TuneOptions options = shared(24);
  options.rules = {[](Schedule& s, const Target& t) {
    if (s.program()->name == "row_sum") s.block("no such block");
    two_factors(s, t);
  }};
  RecordStore store = RecordStore::in_memory();
  AnalyticMeasurer machine;
  const std::vector<TuneResult> r = tuner::tune_all(workloads, test::avx2(), options, store, machine, {});
  CHECK(r[3].measured == 0);
  CHECK(r[3].reason.find("no rule schedules the program") == 0);
  CHECK(r[3].error == r[3].reason);
  CHECK(r[0].error.empty());
  CHECK(r[0].measured + r[1].measured + r[2].measured == 24);
}

TEST_CASE("a stopped schedule of workloads ends all of them as interrupted") {
  RecordStore store = RecordStore::in_memory();
  AnalyticMeasurer machine;
  TuneOptions options = shared(48);
  options.stop = [&] { return machine.hashes.size() >= 6; };
  const std::vector<TuneResult> r = tuner::tune_all(three(), test::avx2(), options, store, machine, {});
  for (const TuneResult& one : r) CHECK(one.interrupted);
  for (const records::Session& s : store.sessions()) CHECK(s.state == records::SessionState::Interrupted);
}

TEST_CASE("progress counts the trials, failures and time of all workloads together") {
  RecordStore store = RecordStore::in_memory();
  AnalyticMeasurer machine;
  int number = 0;
  machine.answer = [&](const Candidate& c) {
    Measurement m = constant(analytic_seconds(c.trace));
    if (++number % 5 == 0) m.failure = records::Failure::Crash;
    return m;
  };
  TuneOptions options = shared(30);
  options.seconds = 1000;
  std::vector<TuneProgress> told;
  options.on_trial = [&](const TuneProgress& p) { told.push_back(p); };
  tuner::tune_all(three(), test::avx2(), options, store, machine, {});
  REQUIRE(told.size() == 30);
  std::set<std::string> workloads;
  for (int i = 0; i < 30; ++i) {
    CHECK(told[i].trial == i + 1);
    CHECK(told[i].failures == (i + 1) / 5);
    CHECK(told[i].failed == ((i + 1) % 5 == 0));
    CHECK(told[i].time_left.value() <= 1000);
    workloads.insert(told[i].workload);
  }
  CHECK(workloads.size() == 3);
}

TEST_CASE("sessions that share a budget go on as the same sessions") {
  RecordStore store = RecordStore::in_memory();
  AnalyticMeasurer machine;
  TuneOptions options = shared(12);
  tuner::tune_all(three(), test::avx2(), options, store, machine, {});
  std::vector<records::Session> begun = store.sessions();
  std::reverse(begun.begin(), begun.end());
  REQUIRE(begun.size() == 3);
  CHECK(!group_of(begun[0]).empty());
  for (const records::Session& s : begun) {
    CHECK(group_of(s) == group_of(begun[0]));
    options.sessions.push_back(s.uid);
  }
  machine.hashes.clear();
  tuner::tune_all(three(), test::avx2(), options, store, machine, {});
  CHECK(store.sessions().size() == 3);
  CHECK(store.statistics().trials == 24);
  tuner::tune_all(three(), test::avx2(), shared(3), store, machine, {});
  CHECK(group_of(store.sessions()[0]) != group_of(begun[0]));
}
