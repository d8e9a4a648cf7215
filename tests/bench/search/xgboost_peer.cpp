#include "xgboost_peer.h"

#include <stdexcept>
#include <string>

#if LATHE_HAS_XGBOOST
#include <xgboost/c_api.h>
#endif

namespace lathe::bench {

#if LATHE_HAS_XGBOOST

namespace {

void check(int status) {
  if (status != 0) throw std::runtime_error(std::string("XGBoost: ") + XGBGetLastError());
}

class Matrix {
 public:
  explicit Matrix(const tuner::FeatureTable& features) {
    check(XGDMatrixCreateFromMat(features.data(), features.rows(), features.width(), -1e30f, &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

}  // namespace

bool has_xgboost() { return true; }

std::vector<float> xgboost_scores(const tuner::Dataset& train, const tuner::FeatureTable& test, bool ranking,
                                  std::uint64_t seed) {
  const Matrix training(train.features), testing(test);
  check(XGDMatrixSetFloatInfo(training.handle(), "label", train.label.data(), train.size()));
  if (ranking) {
    const unsigned group = static_cast<unsigned>(train.size());
    check(XGDMatrixSetUIntInfo(training.handle(), "group", &group, 1));
  }
  DMatrixHandle cache[] = {training.handle()};
  BoosterHandle booster;
  check(XGBoosterCreate(cache, 1, &booster));
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", ranking ? "rank:pairwise" : "reg:squarederror"},
      {"max_depth", "6"},
      {"eta", "0.1"},
      {"tree_method", "hist"},
      {"nthread", "1"},
      {"seed", std::to_string(seed)},
      {"verbosity", "0"}};
  for (const auto& [key, value] : parameters) check(XGBoosterSetParam(booster, key, value.c_str()));
  for (int t = 0; t < 200; ++t) check(XGBoosterUpdateOneIter(booster, t, training.handle()));
  bst_ulong count = 0;
  const float* scores = nullptr;
  check(XGBoosterPredict(booster, testing.handle(), 0, 0, 0, &count, &scores));
  std::vector<float> result(scores, scores + count);
  XGBoosterFree(booster);
  return result;
}

#else

bool has_xgboost() { return false; }
std::vector<float> xgboost_scores(const tuner::Dataset&, const tuner::FeatureTable&, bool, std::uint64_t) {
  throw std::runtime_error("built without XGBoost");
}

#endif

}  // namespace lathe::bench
