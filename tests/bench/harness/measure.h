#pragma once
// Timing several implementations of one problem against each other.
//
// Machines are shared, so one long run of each says little: clocks, caches and neighbours change between
// them. The implementations take turns, each turn a short sample, so that all of them see the same weather,
// and ratios of minima hold where absolute times wobble by tens of per cent.

#include <vector>

#include "bench.h"

namespace lathe::bench {

struct Sampling {
  int samples = 12;              ///< of each implementation, at least ten
  double sample_seconds = 4e-3;  ///< a sample repeats the call until it takes this long
  double hopeless_seconds =
      0.4;            ///< a call longer than this, and five times the fastest one, is sampled twice only
  bool cold = false;  ///< evict the caches before each sample, which is then a single call
};

struct Times {
  double min = 0;     ///< seconds a call
  double median = 0;  ///< seconds a call
  int samples = 0;
};

/// Times of each callable, in order. They run on `threads` threads, pinned.
std::vector<Times> measure_in_turns(const std::vector<Callable>& callables, int threads,
                                    const Sampling& sampling);

/// Indices of the callables whose last output differs, by more than the share of its greatest element, from what most of the
/// others computed.
std::vector<std::size_t> disagreeing(const std::vector<Callable>& callables, float tolerance = 1e-4f);

}  // namespace lathe::bench
