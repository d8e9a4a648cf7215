#pragma once
// Random index expressions over a few variables, of the kinds that scheduling makes and of others.

#include <random>

#include "behaviour/arith/brute.h"

namespace lathe::arith::testing {

class RandomExpr {
 public:
  RandomExpr(std::uint64_t seed, std::vector<Axis> axes) : engine_(seed), axes_(std::move(axes)) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int64_t constant() {
    static constexpr std::int64_t kUsual[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, -1, -2, -3, -4, -8, 0};
    return kUsual[number(0, 15)];
  }
  Expr leaf() {
    return number(0, 3) ? Expr(axes_[number(0, static_cast<std::int64_t>(axes_.size()) - 1)].var)
                        : make_index(constant());
  }
  Expr index(int depth) {
    if (depth == 0) return leaf();
    switch (number(0, 13)) {
      case 0:
      case 1:
      case 2: return index(depth - 1) + index(depth - 1);
      case 3:
      case 4: return index(depth - 1) - index(depth - 1);
      case 5:
      case 6: return index(depth - 1) * make_index(constant());
      case 7: return floordiv(index(depth - 1), make_index(constant()));
      case 8: return floormod(index(depth - 1), make_index(constant()));
      case 9: return min(index(depth - 1), index(depth - 1));
      case 10: return max(index(depth - 1), index(depth - 1));
      case 11: return select(condition(depth - 1), index(depth - 1), index(depth - 1));
      case 12:
        switch (number(0, 3)) {
          case 0: return index(depth - 1) * index(depth - 1);
          case 1: return floordiv(index(depth - 1), index(depth - 1));
          case 2: return floormod(index(depth - 1), index(depth - 1));
          default: return call(Intrinsic::Abs, {index(depth - 1)});
        }
      default: return leaf();
    }
  }
  Expr condition(int depth) {
    static constexpr BinaryOp kCompare[] = {BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt,
                                            BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne};
    const int d = std::max(depth, 1);
    switch (depth <= 0 ? 9 : number(0, 9)) {
      case 0:
      case 1: return condition(depth - 1) && condition(depth - 1);
      case 2: return condition(depth - 1) || condition(depth - 1);
      case 3: return !condition(depth - 1);
      case 4: return select(condition(depth - 1), condition(depth - 1), condition(depth - 1));
      default: return binary(kCompare[number(0, 5)], index(d - 1), number(0, 1) ? index(d - 1) : leaf());
    }
  }
  /// Sums of split and fused loop variables, as bindings have them.
  Expr binding(int depth) {
    static constexpr std::int64_t kFactors[] = {2, 3, 4, 8, 16};
    auto factor = [&] { return make_index(kFactors[number(0, 4)]); };
    if (depth == 0) return Expr(axes_[number(0, static_cast<std::int64_t>(axes_.size()) - 1)].var);
    switch (number(0, 4)) {
      case 0: return floordiv(binding(depth - 1), factor());
      case 1: return floormod(binding(depth - 1), factor());
      case 2: return binding(depth - 1) * factor() + binding(depth - 1);
      case 3: return binding(depth - 1) + make_index(number(-3, 16));
      default: return binding(depth - 1) + binding(depth - 1);
    }
  }

 private:
  std::mt19937_64 engine_;
  std::vector<Axis> axes_;
};

}  // namespace lathe::arith::testing
