#pragma once
// Timing a kernel on a machine that is never quite the same.
//
// A time is the p10 of at least ten short samples. Between the samples runs a *yardstick*: a fixed chain of dependent
// multiply-adds that touches no memory. Where it takes longer than at its best, something else had the core or the clock
// was low, and the sample beside it says nothing about the kernel: it is left out, as long as ten remain.

#include <cstdint>
#include <functional>
#include <vector>

namespace lathe::tuner {

struct TimingOptions {
  double give_up_above = 0;  ///< seconds; three times slower than this is told from two samples. 0: never
  std::uint64_t flush_bytes =
      0;  ///< written before each sample, so that the operands are in no cache. 0: warm caches
  bool one_call = false;   ///< a sample is one call: what the kernel works on has to be restored after each
  std::size_t least = 10;  ///< samples
  double seconds = 0.15;   ///< about how long to go on beyond the least number of samples
  double too_long =
      5;  ///< seconds after which three samples are enough, or one of a kernel that takes most of them
};

struct Samples {
  std::vector<double> seconds;  ///< for one call
  double yardstick = 0;         ///< seconds of the yardstick at its best: how fast the machine was
};

/// `call` runs the kernel once; `prepare` (may be empty) comes before each sample, outside the time.
Samples take_samples(const std::function<void()>& call, const std::function<void()>& prepare,
                     const TimingOptions& options);

/// Samples of one candidate taken in turns with those of others.
void append(Samples& all, const Samples& more);

}  // namespace lathe::tuner
