// Learning from a store's records.
#include "tuner/session/training_data.h"

#include <filesystem>

#include "analytic_measurer.h"
#include "support/check_schedule.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/pretrained.h"

using namespace lathe;
using namespace lathe::tuner;

namespace {

/// Trials of three matmuls; some fail.
void fill(RecordStore& store) {
  int n = 0;
  for (const char* spec : {"matmul(m=64,n=64,k=64)", "matmul(m=96,n=64,k=32)", "matmul(m=32,n=128,k=64)"}) {
    AnalyticMeasurer machine;
    const auto good = machine.answer;
    machine.answer = [&](const Candidate& c) {
      Measurement m = good(c);
      if (++n % 7 == 0) m.failure = records::Failure::Crash;
      return m;
    };
    TuneOptions options;
    options.trials = 24;
    options.strategy = SearchStrategy::Random;
    tuner::tune(Workload::parse(spec), test::avx2(), options, store, machine);
  }
}

}  // namespace

TEST_CASE("every replayed trial is a sample, labelled within its workload") {
  RecordStore store = RecordStore::in_memory();
  fill(store);
  const TrainingData all = training_data(store, test::avx2());
  CHECK(all.data.size() == 72);
  CHECK(all.data.features.programs() == 72);
  CHECK(all.workloads() == 3);
  CHECK(all.not_replayed == 0);
  CHECK(std::count(all.data.label.begin(), all.data.label.end(), 1.0f) >= 3);
  CHECK(std::count(all.data.label.begin(), all.data.label.end(), 0.0f) == 10);
  CHECK(training_data(store, Target::parse("zen3")).data.size() == 0);
  CHECK(training_data(store, Target::parse("zen3")).other_targets == 72);
}

TEST_CASE("metrics are of workloads: an oracle has all of them 1, its opposite none") {
  RecordStore store = RecordStore::in_memory();
  fill(store);
  const TrainingData all = training_data(store, test::avx2());
  std::vector<std::size_t> every;
  for (std::size_t i = 0; i < all.data.size(); ++i) every.push_back(i);
  const ModelMetrics oracle = model_metrics("oracle", all, every, all.data.label);
  CHECK(oracle.workloads == 3);
  CHECK(oracle.pairwise == 1);
  CHECK(oracle.peak1 == 1);
  CHECK(oracle.top1 == 1);
  CHECK(oracle.top5 == 1);
  std::vector<float> opposite;
  for (float y : all.data.label) opposite.push_back(-y);
  CHECK(model_metrics("opposite", all, every, opposite).pairwise == 0);
}

TEST_CASE("each workload is judged by models that never saw it") {
  RecordStore store = RecordStore::in_memory();
  fill(store);
  const std::vector<ModelMetrics> rows = cross_validate(training_data(store, test::avx2()), 5, 1);
  REQUIRE(rows.size() == 3);
  for (const ModelMetrics& m : rows) {
    CHECK(m.workloads == 3);
    CHECK(m.programs == 72);
  }
}

TEST_CASE("a session takes a pretrained model as its prior, and refuses one for other features") {
  RecordStore store = RecordStore::in_memory();
  fill(store);
  const auto path = std::filesystem::temp_directory_path() / "lathe_session_test.model";
  const PretrainedModel model = PretrainedModel::train(training_data(store, test::avx2()).data, {});
  model.save(path, statement_feature_set());
  AnalyticMeasurer machine;
  TuneOptions options;
  options.trials = 16;
  options.model = path.string();
  RecordStore fresh = RecordStore::in_memory();
  const Workload w = Workload::parse("matmul(m=48,n=48,k=48)");
  CHECK(tuner::tune(w, test::avx2(), options, fresh, machine).measured == 16);
  model.save(path, statement_feature_set() + 1);
  CHECK_THROWS_WITH(tuner::tune(w, test::avx2(), options, fresh, machine), Catch::Contains("LTH-U003"));
  std::filesystem::remove(path);
}
