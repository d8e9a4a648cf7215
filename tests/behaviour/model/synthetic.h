#pragma once
// Made-up programs for the tests of the learners: four features, and a y in (0, 1] that depends on three of them.

#include <cmath>

#include "tuner/model/features.h"
#include "tuner/model/random.h"

namespace lathe::tuner {

inline float true_y(std::span<const float> x) {
  const float bump = std::exp(-(x[0] - 1) * (x[0] - 1)), step = x[1] > 0 ? 1.0f : 0.6f;
  return 0.05f + 0.9f * bump * step * (x[2] > x[0] ? 1.0f : 0.8f);
}

inline Dataset synthetic(std::size_t programs, std::uint64_t seed) {
  Random random(seed);
  Dataset data;
  FeatureTable table(4);
  for (std::size_t p = 0; p < programs; ++p) {
    std::span<float> row = table.add_row();
    for (float& v : row) v = static_cast<float>(4 * random.uniform() - 2);
    table.end_program();
  }
  for (std::size_t p = 0; p < programs; ++p) data.add(table, p, true_y(table.row(p)), 7);
  return data;
}

}  // namespace lathe::tuner
