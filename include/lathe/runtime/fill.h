#pragma once
// Contents for tensors that kernels are tested with.
//
// What a fill writes depends on its seed and the element's position alone: it is the same on every machine, in every
// order, and for every number of threads.

#include <cstdint>

#include "lathe/runtime/tensor.h"

namespace lathe::runtime {

struct RandomFill {
  std::uint64_t seed = 0;
  /// Floats are uniform in [low, high).
  double low = -1, high = 1;
  /// Share of the elements that are edge values instead. Floats: both zeros, low and high, one, the smallest normal and
  /// subnormal numbers, with either sign. Integers: the smallest and largest of the type, 0, 1, -1.
  double edges = 1.0 / 64;
  /// Whether infinities, NaN and the largest finite numbers are among a float's edge values.
  bool non_finite = false;
};

/// Signed data. Integers take all values of their type, bool both.
void fill_random(Tensor& tensor, const RandomFill& fill = {});

/// Whole numbers in [low, high], clipped to what the type can hold. Sums and products of few of them are exact in every
/// type, so two kernels that add in different orders must agree to the last bit.
void fill_integers(Tensor& tensor, std::uint64_t seed, std::int64_t low = -4, std::int64_t high = 4);

/// What an output holds before a kernel runs: in floats a NaN that no arithmetic gives, bytes 0xA5 in anything else.
void fill_poison(Tensor& tensor);

/// `value`, rounded as set_value does.
void fill_value(Tensor& tensor, double value);

/// 0, 1, 2, ... in row-major order, wrapping in integers.
void fill_iota(Tensor& tensor);

}  // namespace lathe::runtime
