// Learning from a store's records.
#include "tuner/session/training_data.h"

#include <filesystem>
#include <regex>
#include <sstream>

#include "analytic_measurer.h"
#include "lathe/replay.h"
#include "support/check_schedule.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/pretrained.h"
#include "tuner/session/shipped_model.h"

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
  const CrossValidation judged = cross_validate(training_data(store, test::avx2()), 5, 1);
  CHECK(judged.by_workload);
  REQUIRE(judged.models.size() == 3);
  for (const ModelMetrics& m : judged.models) {
    CHECK(m.workloads == 3);
    CHECK(m.programs == 72);
  }
}

TEST_CASE("schedules of a single workload are judged by models that saw others of it, and nothing by none") {
  RecordStore store = RecordStore::in_memory();
  CHECK(cross_validate(training_data(store, test::avx2()), 5, 1).models.empty());
  AnalyticMeasurer machine;
  TuneOptions options;
  options.trials = 32;
  options.strategy = SearchStrategy::Random;
  tuner::tune(Workload::parse("matmul(m=64,n=64,k=64)"), test::avx2(), options, store, machine);
  const CrossValidation judged = cross_validate(training_data(store, test::avx2()), 5, 1);
  CHECK_FALSE(judged.by_workload);
  REQUIRE(judged.models.size() == 3);
  for (const ModelMetrics& m : judged.models) {
    CHECK(m.workloads == 1);
    CHECK(m.programs == 32);
    CHECK(m.pairwise > 0);
  }
}

TEST_CASE("times of different hosts are not compared: a model learns from one class of them") {
  std::stringstream lines;
  {
    RecordStore store = RecordStore::in_memory();
    fill(store);
    store.export_lines(lines, {});
  }
  const std::string here =
      this_provenance().host_class.empty() ? this_provenance().host : this_provenance().host_class;
  std::string text = lines.str(), other = text;
  const std::string field = "\"" + here + "\"";
  for (std::size_t at = 0; (at = other.find(field, at)) != std::string::npos; at += 8)
    other.replace(at, field.size(), "\"abroad\"");
  REQUIRE(other != text);
  other = std::regex_replace(other, std::regex("\"id\":\"[^\"]*\","), "");  // else they are changed lines
  std::istringstream away(other);
  const RecordStore abroad = RecordStore::from_text(away, "abroad");
  CHECK(training_data(abroad, test::avx2()).host_class == "abroad");  // there are no others
  CHECK(training_data(abroad, test::avx2()).data.size() == 72);
  CHECK(training_data(abroad, test::avx2(), here).host_class == "abroad");

  RecordStore both = RecordStore::in_memory();
  std::istringstream first(text), second(other);
  both.import_lines(first, "first");
  both.import_lines(second, "second");
  const TrainingData mine = training_data(both, test::avx2()),
                     theirs = training_data(both, test::avx2(), "abroad");
  CHECK(mine.host_class == here);
  CHECK(mine.other_hosts.count("abroad") == 1);
  CHECK(theirs.host_class == "abroad");
  CHECK(mine.data.size() + theirs.data.size() >= 72);
  CHECK(mine.data.size() <= 72);
  CHECK(theirs.data.size() <= 72);
}

TEST_CASE("the shipped model is of this build's features, serves its kind of CPU and can be left out") {
  CHECK(shipped_model_is_current());  // else train it again: tuner/session/shipped_model.h
  CHECK(shipped_model(test::avx2()) != nullptr);
  Target wide = test::avx2();
  std::get<CpuTarget>(wide.device).vector_bits = 512;
  CHECK(shipped_model(wide) == nullptr);
  AnalyticMeasurer machine;
  TuneOptions options;
  options.trials = 8;
  const Workload w = Workload::parse("matmul(m=48,n=48,k=48)");
  RecordStore store = RecordStore::in_memory();
  CHECK(tuner::tune(w, test::avx2(), options, store, machine).prior == "shipped");
  options.shipped_model = false;
  CHECK(tuner::tune(w, test::avx2(), options, store, machine).prior.empty());
  options.shipped_model = options.cold = true;
  CHECK(tuner::tune(w, test::avx2(), options, store, machine).prior.empty());
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
