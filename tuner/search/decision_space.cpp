#include "tuner/search/decision_space.h"

#include <algorithm>

namespace lathe::tuner {

namespace {

std::size_t columns_of(const Decision& d) {
  return d.kind == Decision::Kind::Ordinal ? 1 : d.max_options > 1 ? d.max_options : 0;
}

}  // namespace

std::uint64_t DecisionSpace::key(PointView point) const {
  std::uint64_t hash = point.size();
  for (std::int32_t option : point) hash = mix64(hash, static_cast<std::uint32_t>(option));
  return hash;
}

std::size_t DecisionSpace::embedding_width() const {
  std::size_t width = 0;
  for (const Decision& d : decisions()) width += columns_of(d);
  return width;
}

void DecisionSpace::embed(const PointSet& points, std::span<float> rows) const {
  std::fill(rows.begin(), rows.end(), 0.0f);
  float* row = rows.data();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointView point = points[i];
    for (std::size_t d = 0; d < point.size(); ++d) {
      const Decision& decision = decisions()[d];
      if (decision.kind == Decision::Kind::Ordinal) {
        // Centred, and no wider than ±2 however many options there are.
        const float middle = (decision.max_options - 1) * 0.5f;
        *row = middle > 0 ? (point[d] - middle) * std::min(1.0f, 2 / middle) : 0;
      } else if (decision.max_options > 1) {
        row[point[d]] = 1;
      }
      row += columns_of(decision);
    }
  }
}

bool DecisionSpace::draft(const PointSet&, std::span<float>) const { return false; }

std::int32_t DecisionSpace::mutate(std::size_t d, PointView point, Random& random) const {
  const std::int32_t count = options(d, point), present = point[d];
  if (count <= 1) return present;
  if (decisions()[d].kind == Decision::Kind::Ordinal && random.chance(0.7)) {
    if (present == 0) return 1;
    if (present == count - 1) return count - 2;
    return random.chance(0.5) ? present - 1 : present + 1;
  }
  const std::int32_t other = static_cast<std::int32_t>(random.below(count - 1));
  return other < present ? other : other + 1;
}

Point DecisionSpace::sample(Random& random) const {
  Point point(decisions().size());
  for (std::size_t d = 0; d < point.size(); ++d) {
    point[d] = static_cast<std::int32_t>(random.below(options(d, point)));
  }
  return point;
}

void repair(const DecisionSpace& space, Point& point, std::size_t from, Random& random) {
  for (std::size_t d = from; d < point.size(); ++d) {
    const std::int32_t count = space.options(d, point);
    if (point[d] < 0 || point[d] >= count) point[d] = static_cast<std::int32_t>(random.below(count));
  }
}

PointSet filtered(const DecisionSpace& space, const PointSet& points) {
  std::vector<std::uint8_t> keep(points.size());
  space.filter(points, keep);
  PointSet result(points.width());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (keep[i]) result.add(points[i]);
  }
  return result;
}

}  // namespace lathe::tuner
