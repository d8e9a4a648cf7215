#include <algorithm>

#include "tuner/search/strategy.h"

namespace lathe::tuner {
namespace {

class GridStrategy final : public Strategy {
 public:
  explicit GridStrategy(const DecisionSpace& space) : space_(space), odometer_(space.decisions().size(), 0) {}
  std::string_view name() const override { return "grid"; }

  std::vector<Point> propose(std::size_t count) override {
    std::vector<Point> result;
    while (result.size() < count && (read_ < batch_.size() || !done_)) {
      if (read_ == batch_.size()) refill();
      for (; read_ < batch_.size() && result.size() < count; ++read_) {
        const PointView point = batch_[read_];
        if (seen_.insert(space_.key(point))) result.emplace_back(point.begin(), point.end());
      }
    }
    return result;
  }

  void observe(std::span<const Observation> observations) override {
    for (const Observation& o : observations) seen_.insert(space_.key(o.point));
  }

 private:
  void refill() {
    constexpr std::size_t BatchSize = 1024;
    PointSet points(odometer_.size());
    while (points.size() < BatchSize && !done_) {
      points.add(odometer_);
      advance();
    }
    batch_ = filtered(space_, points);
    read_ = 0;
  }

  // The last decision that has another option takes it, and all after it start anew.
  void advance() {
    for (std::size_t d = odometer_.size(); d-- > 0;) {
      if (odometer_[d] + 1 < space_.options(d, odometer_)) {
        ++odometer_[d];
        std::fill(odometer_.begin() + d + 1, odometer_.end(), 0);
        return;
      }
    }
    done_ = true;
  }

  const DecisionSpace& space_;
  Point odometer_;
  PointSet batch_;
  std::size_t read_ = 0;
  SeenKeys seen_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<Strategy> grid_strategy(const DecisionSpace& space) {
  return std::make_unique<GridStrategy>(space);
}

}  // namespace lathe::tuner
