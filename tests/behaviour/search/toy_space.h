#pragma once
// A small space with dependent options, a filter and a known optimum, for the tests of the search.
//
//   outer in {1,2,4,8,16,32,64}, inner divides 64/outer, unroll in {0..3}, order in {a,b,c}; outer*inner <=
//   64 holds by construction, and the filter refuses unroll 3 with an inner of 1.

#include <cmath>

#include "tuner/search/decision_space.h"
#include "tuner/search/strategy.h"

namespace lathe::tuner {

class ToySpace final : public DecisionSpace {
 public:
  ToySpace() {
    decisions_ = {{"outer", Decision::Kind::Ordinal, 7, 0},
                  {"inner", Decision::Kind::Ordinal, 7, 0},
                  {"unroll", Decision::Kind::Ordinal, 4, 1},
                  {"order", Decision::Kind::Categorical, 3, 1}};
  }
  const std::vector<Decision>& decisions() const override { return decisions_; }
  std::int32_t options(std::size_t d, PointView p) const override {
    if (d == 0) return 7;
    if (d == 1) return 7 - p[0];
    return d == 2 ? 4 : 3;
  }
  void filter(const PointSet& points, std::span<std::uint8_t> keep) const override {
    for (std::size_t i = 0; i < points.size(); ++i) keep[i] = valid(points[i]);
  }
  static bool valid(PointView p) { return !(p[2] == 3 && p[1] == 0); }
  std::size_t feature_width() const override { return 6; }
  void features(const PointSet& points, FeatureTable& table) const override {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const PointView p = points[i];
      std::span<float> row = table.add_row();
      row[0] = p[0];
      row[1] = p[1];
      row[2] = p[2];
      row[3 + p[3]] = 1;
      table.end_program();
    }
  }
  /// Seconds; best at outer 8, inner 4, unroll 2, order b.
  static double seconds(PointView p) {
    return 1e-3 * (1 + 0.3 * std::pow(p[0] - 3, 2) + 0.2 * std::pow(p[1] - 2, 2) + 0.1 * std::abs(p[2] - 2) +
                   (p[3] == 1 ? 0 : 0.25) + 0.05 * (p[0] == p[1]));
  }
  static constexpr std::size_t ValidPoints = 28 * 12 - 7 * 3;

 private:
  std::vector<Decision> decisions_;
};

inline std::vector<Observation> measure(const std::vector<Point>& points) {
  std::vector<Observation> result;
  for (const Point& p : points) result.push_back({p, ToySpace::seconds(p)});
  return result;
}

}  // namespace lathe::tuner
