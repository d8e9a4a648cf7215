#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "placement.h"

namespace lathe::bench {

namespace {

struct Contender {
  const Callable* callable = nullptr;
  int repeats = 1;
  int wanted = 0;
  std::vector<double> seconds;
};

void evict_caches() {
  static const Buffer junk(64 << 20 >> 2);
  for (std::int64_t i = 0; i < junk.size(); i += 16) junk.data()[i] += 1.0f;
}

// The first call makes pools, scratch memory and code, the second one tells how long a call takes.
Contender calibrate(const Callable& callable, const Sampling& sampling, double& fastest) {
  Contender c;
  c.callable = &callable;
  double once = callable.sample(1);
  if (once < sampling.hopeless_seconds) once = callable.sample(1);
  fastest = std::min(fastest, once);
  c.repeats =
      sampling.cold ? 1 : std::max(1, static_cast<int>(sampling.sample_seconds / std::max(once, 1e-8)));
  const bool hopeless = once > sampling.hopeless_seconds && once > 5 * fastest;
  c.wanted = hopeless ? 2 : sampling.samples;
  return c;
}

void take_turn(Contender& c, int threads, const Sampling& sampling, int samples) {
  if (threads > 1) {
    // Pools of the implementation before may still be spinning; most give up within this time.
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  if (!sampling.cold && c.repeats > 1) c.callable->sample(std::max(1, c.repeats / 4));
  for (int i = 0; i < samples && static_cast<int>(c.seconds.size()) < c.wanted; ++i) {
    if (sampling.cold) evict_caches();
    c.seconds.push_back(c.callable->sample(c.repeats) / c.repeats);
  }
}

}  // namespace

std::vector<Times> measure_in_turns(const std::vector<Callable>& callables, int threads,
                                    const Sampling& sampling) {
  std::vector<Contender> contenders;
  double fastest = 1e30;
  for (const Callable& callable : callables)
    callable.sample(1);  // makes the pools, before anything is pinned
  const Placement placement(threads);
  for (const Callable& callable : callables) contenders.push_back(calibrate(callable, sampling, fastest));

  const int per_turn = threads > 1 ? 4 : 2;
  for (bool more = true; more;) {
    more = false;
    for (Contender& c : contenders) {
      if (static_cast<int>(c.seconds.size()) >= c.wanted) continue;
      take_turn(c, threads, sampling, per_turn);
      more = true;
    }
  }

  std::vector<Times> times;
  for (Contender& c : contenders) {
    std::sort(c.seconds.begin(), c.seconds.end());
    times.push_back({c.seconds.front(), c.seconds[c.seconds.size() / 2], static_cast<int>(c.seconds.size())});
  }
  return times;
}

std::vector<std::size_t> disagreeing(const std::vector<Callable>& callables, float tolerance) {
  std::vector<std::vector<float>> outputs;
  for (const Callable& callable : callables) {
    outputs.push_back(callable.result ? callable.result() : std::vector<float>());
  }
  auto agree = [&](const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return false;
    float scale = 0, error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return false;
      scale = std::max(scale, std::max(std::abs(a[i]), std::abs(b[i])));
      error = std::max(error, std::abs(a[i] - b[i]));
    }
    return error <= tolerance * scale;
  };
  std::vector<std::size_t> outvoted;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    int others = 0, friends = 0;
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (j == i || outputs[j].empty()) continue;
      ++others;
      friends += agree(outputs[i], outputs[j]) ? 1 : 0;
    }
    if (2 * friends < others) outvoted.push_back(i);
  }
  return outvoted;
}

}  // namespace lathe::bench
