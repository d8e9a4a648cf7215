#pragma once
// The design space as a search sees it.
//
// A candidate is a *point*: one option index for each decision, in a fixed order. What a decision means (a
// tile, an unroll step, which sketch) is the space's business; a search only mutates, crosses, compares and
// ranks points.
//
//   decisions   sketch   i.tile   j.tile   unroll     options of a decision may depend on the earlier ones:
//   options       2       12       12|20     4        choose from left to right, 0 <= point[d] < options(d,
//   point)
//
// A decision that does not apply under the earlier choices has one option, so that all points have one
// length. Validity is best had by construction; `filter` rejects what construction cannot exclude, cheaply
// and in batches (at least 20,000 points a second on one core), and `features` describes points to the cost
// model without lowering.
//
// The tuner implements this over schedule traces, the search bench over exhaustively measured tables.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/model/features.h"
#include "tuner/model/random.h"

namespace lathe::tuner {

using Point = std::vector<std::int32_t>;
using PointView = std::span<const std::int32_t>;

/// Points of one space, contiguous.
class PointSet {
 public:
  explicit PointSet(std::size_t width = 0) : width_(width) {}
  std::size_t size() const { return size_; }
  std::size_t width() const { return width_; }
  PointView operator[](std::size_t i) const { return std::span(data_).subspan(i * width_, width_); }
  void add(PointView point) {
    data_.insert(data_.end(), point.begin(), point.end());
    ++size_;
  }
  void clear() {
    data_.clear();
    size_ = 0;
  }

 private:
  std::size_t width_, size_ = 0;
  std::vector<std::int32_t> data_;
};

struct Decision {
  enum class Kind {
    Categorical,  ///< options have no order
    Ordinal,      ///< neighbouring options behave alike
  };
  std::string name;
  Kind kind = Kind::Categorical;
  /// The most options that it has under any earlier choices.
  std::int32_t max_options = 1;
  /// Decisions of different groups are independent (for example of different blocks): crossover exchanges
  /// groups.
  int group = 0;
  /// How often a mutation picks this decision, relative to the others.
  double weight = 1;
};

class DecisionSpace {
 public:
  virtual ~DecisionSpace() = default;

  /// The decisions, in the order in which they are taken.
  virtual const std::vector<Decision>& decisions() const = 0;

  /// Number of options (at least 1) of decision `d`, given that `earlier` holds valid options for decisions
  /// 0..d-1. Only those are read.
  virtual std::int32_t options(std::size_t d, PointView earlier) const = 0;

  /// keep[i] = whether points[i] is worth building. Every option index is in range.
  virtual void filter(const PointSet& points, std::span<std::uint8_t> keep) const = 0;

  /// Points of one key are the same candidate. By default a hash of the options.
  virtual std::uint64_t key(PointView point) const;

  /// Columns of the feature table.
  virtual std::size_t feature_width() const = 0;
  /// Appends one program for each of `points` (which passed `filter`) to `table`, whose width is
  /// feature_width().
  virtual void features(const PointSet& points, FeatureTable& table) const = 0;

  /// The decisions themselves as numbers, for models that interpolate between points: similar options lie
  /// close, a step of the search is about 1 apart. By default an ordinal becomes its index and a category one
  /// column an option.
  virtual std::size_t embedding_width() const;
  /// Writes embedding_width() values for each of `points`, row-major.
  virtual void embed(const PointSet& points, std::span<float> rows) const;

  /// An analytic estimate for each of `points`, higher is better, on any scale; false when the space has
  /// none.
  virtual bool draft(const PointSet& points, std::span<float> score) const;

  /// Another option for decision `d` of `point`, near to the present one where that means something; the
  /// present one when there is no other. By default ±1 or any for ordinals, any other for categories.
  virtual std::int32_t mutate(std::size_t d, PointView point, Random& random) const;

  /// Draws a point; it may still fail `filter`. By default every decision uniformly from its options.
  virtual Point sample(Random& random) const;

  /// All valid points, when the space is small enough to list (a table, or a handful of decisions); else
  /// null.
  virtual const PointSet* listed() const { return nullptr; }
};

/// Makes `point` take valid options from decision `from` on: an option out of range under the new earlier
/// choices is redrawn, the others stay.
void repair(const DecisionSpace& space, Point& point, std::size_t from, Random& random);

/// The points of `points` that pass the space's filter, in order.
PointSet filtered(const DecisionSpace& space, const PointSet& points);

}  // namespace lathe::tuner
