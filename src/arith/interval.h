#pragma once
// The values an index expression takes while some variables vary: low .. low + width, where low and width are
// expressions of the other variables.
//
// Low and *width* rather than low and high: the width seldom depends on the outer variables, so the extent of
// a tile comes out as a constant although its place does not. For (16*f + v) // 30 with v in 0..16 the low end
// is 16*f // 30 and the width is the largest that any phase 16*f mod 30 gives: 1.

#include "arith/simplifier.h"

namespace lathe::arith {

struct Interval {
  Sum low, width;
  /// Largest step between neighbouring values: 0 one value, 1 contiguous, kUnknownGap not known.
  std::int64_t gap = 0;
  /// Are both ends reached for all values of the outer variables?
  bool tight = true;
  /// Conditions on sums of variables cut it down: the ends are reached only if the values there satisfy all.
  bool narrowed = false;
  /// Bits of the varying variables that take part, by their position in the list; bit 63 stands for all
  /// further ones.
  std::uint64_t uses = 0;

  static constexpr std::int64_t kUnknownGap = INT64_MAX;
  bool exact() const { return tight && !narrowed && gap <= 1; }
};

class IntervalFinder {
 public:
  /// `over` must be bound in `s`.
  IntervalFinder(Simplifier& s, const std::vector<Var>& over) : s_(s), over_(over) {}

  /// Nothing when no finite ends are known.
  std::optional<Interval> of(const Sum& sum);
  /// From constant bounds alone.
  std::optional<Interval> by_bound(const Sum& s) const;
  /// The varying variables below an expression.
  std::uint64_t uses(const ExprNode* e) const;

 private:
  struct Step {
    std::int64_t stride = 1;
    std::int64_t reach = 0;  ///< how far all steps together get; 0 where that is a run-time number
  };
  std::optional<Interval> of_varying(const Sum& varying);
  static std::int64_t largest_gap(std::vector<Step> steps);
  void narrow(Interval& r, const Sum& varying);
  std::optional<Interval> of_atom(const Term& t);
  std::optional<Interval> of_variable(const Term& t);
  std::optional<Interval> of_division(const Binary& b);
  std::optional<Interval> of_remainder(const Binary& b);
  std::optional<Interval> of_product(const Term& t);
  std::optional<Interval> of_extremum(const Binary& b);
  std::optional<Interval> of_select(const Select& s);
  std::optional<Interval> hull(BinaryOp low, BinaryOp high, const Interval& a, const Interval& b);

  Simplifier& s_;
  const std::vector<Var>& over_;
};

}  // namespace lathe::arith
