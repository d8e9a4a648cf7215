#include "tuner/model/rank_loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lathe::tuner {
namespace {

struct PairSink {
  std::span<const float> label, score;
  std::span<float> gradient, hessian;
  double emphasis;

  // One pair, in either order, of total weight `scale`.
  void add(std::size_t a, std::size_t b, float scale) {
    if (label[a] == label[b]) return;
    if (label[a] < label[b]) std::swap(a, b);
    const float top = 1 + static_cast<float>(emphasis - 1) * label[a] * label[a];
    const float weight = scale * top * (label[a] - label[b]);
    const float wrong = 1 / (1 + std::exp(score[a] - score[b]));  // probability of the wrong order
    gradient[a] -= weight * wrong;
    gradient[b] += weight * wrong;
    const float curvature = weight * wrong * (1 - wrong);
    hessian[a] += curvature;
    hessian[b] += curvature;
  }
};

}  // namespace

void rank_gradients(std::span<const float> label, std::span<const std::uint64_t> workload,
                    std::span<const float> score, const RankLossOptions& options, Random& random,
                    std::span<float> gradient, std::span<float> hessian) {
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  std::fill(hessian.begin(), hessian.end(), 1e-6f);
  std::vector<std::size_t> order(label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return workload[a] < workload[b]; });

  PairSink sink{label, score, gradient, hessian, options.top_emphasis};
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && workload[order[end]] == workload[order[begin]]) ++end;
    const std::size_t n = end - begin;
    if (n <= options.partners) {
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t j = i + 1; j < end; ++j) sink.add(order[i], order[j], 8.0f / n);
      }
    } else {
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t k = 0; k < options.partners; ++k) {
          sink.add(order[i], order[begin + random.below(n)], 4.0f / options.partners);
        }
      }
    }
  }
}

}  // namespace lathe::tuner
