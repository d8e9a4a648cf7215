#include "tuner/search/decision_space.h"

namespace lathe::tuner {

std::uint64_t DecisionSpace::key(PointView point) const {
  std::uint64_t hash = point.size();
  for (std::int32_t option : point) hash = mix64(hash, static_cast<std::uint32_t>(option));
  return hash;
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
