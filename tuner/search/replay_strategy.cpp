#include "tuner/search/strategy.h"

namespace lathe::tuner {
namespace {

// Points from elsewhere may be of another space: their length and their options are checked before anything
// else.
bool in_range(const DecisionSpace& space, const Point& point) {
  if (point.size() != space.decisions().size()) return false;
  for (std::size_t d = 0; d < point.size(); ++d) {
    if (point[d] < 0 || point[d] >= space.options(d, point)) return false;
  }
  return true;
}

class ReplayStrategy final : public Strategy {
 public:
  ReplayStrategy(const DecisionSpace& space, const std::vector<Point>& points) : space_(space) {
    PointSet candidates(space.decisions().size());
    for (const Point& point : points) {
      if (in_range(space, point)) candidates.add(point);
    }
    points_ = filtered(space, candidates);
  }
  std::string_view name() const override { return "replay"; }

  std::vector<Point> propose(std::size_t count) override {
    std::vector<Point> result;
    for (; next_ < points_.size() && result.size() < count; ++next_) {
      const PointView point = points_[next_];
      if (seen_.insert(space_.key(point))) result.emplace_back(point.begin(), point.end());
    }
    return result;
  }

  void observe(std::span<const Observation> observations) override {
    for (const Observation& o : observations) seen_.insert(space_.key(o.point));
  }

 private:
  const DecisionSpace& space_;
  PointSet points_;
  std::size_t next_ = 0;
  SeenKeys seen_;
};

}  // namespace

std::unique_ptr<Strategy> replay_strategy(const DecisionSpace& space, std::vector<Point> points) {
  return std::make_unique<ReplayStrategy>(space, points);
}

}  // namespace lathe::tuner
