#pragma once
// The two forms of a label that models learn. y = t_min/t says who is near the top; log y who is slower than whom.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace lathe::tuner {

/// Slower than about 1/1000 of the best is all the same; so the logarithm of a failure, y = 0, is bounded as well.
inline constexpr float LeastLogY = -7;
/// Above the best seen so far a log model may promise this much more: unbounded, its exponential would run away.
inline constexpr float MostLogY = 0.5f;

inline float log_y(float y) { return y > 0 ? std::max(std::log(y), LeastLogY) : LeastLogY; }
inline float y_of_log(float log) { return std::exp(std::min(log, MostLogY)); }

inline std::vector<float> log_y(std::span<const float> y) {
  std::vector<float> result;
  for (float v : y) result.push_back(log_y(v));
  return result;
}

/// The line y = offset + slope·score of least squares: gives a ranking score, which has no scale, the labels' own.
struct Calibration {
  float offset = 0, slope = 0;
  float operator()(float score) const { return offset + slope * score; }
};

inline Calibration calibrate(std::span<const float> score, std::span<const float> y) {
  const double n = static_cast<double>(y.size());
  double mean_s = 0, mean_y = 0, ss = 0, sy = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    mean_s += score[i] / n;
    mean_y += y[i] / n;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    ss += (score[i] - mean_s) * (score[i] - mean_s);
    sy += (score[i] - mean_s) * (y[i] - mean_y);
  }
  const double slope = ss > 0 ? sy / ss : 0;
  return {static_cast<float>(mean_y - slope * mean_s), static_cast<float>(slope)};
}

}  // namespace lathe::tuner
