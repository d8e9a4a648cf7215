#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "../harness/placement.h"
#include "../harness/problem.h"
#include "../harness/team.h"
#include "ceilings.h"

namespace lathe::bench {

namespace {

#ifdef __AVX__
using Vector = __m256;
Vector load(const float* p) { return _mm256_load_ps(p); }
void store(float* p, Vector v) { _mm256_store_ps(p, v); }
void stream(float* p, Vector v) { _mm256_stream_ps(p, v); }
#else
using Vector = __m128;
Vector load(const float* p) { return _mm_load_ps(p); }
void store(float* p, Vector v) { _mm_store_ps(p, v); }
void stream(float* p, Vector v) { _mm_stream_ps(p, v); }
#endif
constexpr int Lanes = sizeof(Vector) / sizeof(float);

float read_all(const float* from, std::int64_t count) {
  Vector sum[8] = {};
  for (std::int64_t i = 0; i + 8 * Lanes <= count; i += 8 * Lanes) {
    for (int j = 0; j < 8; ++j) sum[j] += load(from + i + Lanes * j);
  }
  for (int j = 1; j < 8; ++j) sum[0] += sum[j];
  return sum[0][0];
}

void copy_plain(float* to, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i + 4 * Lanes <= count; i += 4 * Lanes) {
    for (int j = 0; j < 4; ++j) store(to + i + Lanes * j, load(from + i + Lanes * j));
  }
}

void copy_streaming(float* to, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i + 4 * Lanes <= count; i += 4 * Lanes) {
    for (int j = 0; j < 4; ++j) stream(to + i + Lanes * j, load(from + i + Lanes * j));
  }
  _mm_sfence();
}

// The best GB/s of `samples` runs of `pass` over `elements` floats, shared by the team, moving
// `bytes_per_float`.
double best_rate(Team& team, std::int64_t elements, double bytes_per_float, int samples,
                 const std::function<void(std::int64_t begin, std::int64_t count)>& pass) {
  const std::int64_t share = elements / team.size() / 64 * 64;
  const int repeats = std::max<int>(1, static_cast<int>((16 << 20) / (elements * 4)));
  const std::function<void(int)> work = [&](int index) {
    for (int i = 0; i < repeats; ++i) pass(index * share, share);
  };
  double best = 0;
  for (int sample = 0; sample <= samples; ++sample) {  // the first one warms up
    const auto start = std::chrono::steady_clock::now();
    team.run(work);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const double bytes = static_cast<double>(share) * team.size() * repeats * bytes_per_float;
    if (sample > 0) best = std::max(best, bytes / took.count() * 1e-9);
  }
  return best;
}

}  // namespace

Ceilings measure_ceilings(int threads, bool quick) {
  Ceilings ceilings;
  std::vector<int> counts;
  for (int t = 1; t < threads; t *= 2) counts.push_back(t);
  counts.push_back(threads);
  const int samples = quick ? 10 : 15;
  const std::int64_t largest = 256;  // MiB an array
  Buffer from(largest << 18), to(largest << 18);
  std::fill(from.data(), from.data() + from.size(), 1.0f);
  std::fill(to.data(), to.data() + to.size(), 0.0f);

  for (int t : counts) {
    Team team(t);
    const Placement placement(t);
    std::vector<double> rates(t);
    const std::function<void(int)> multiply = [&](int index) { rates[index] = fma_gflops_once(); };
    for (int sample = 0; sample < samples; ++sample) {
      team.run(multiply);
      double sum = 0;
      for (double rate : rates) sum += rate;
      ceilings.fma_gflops[t] = std::max(ceilings.fma_gflops[t], sum);
    }
    for (std::int64_t megabytes : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}, largest}) {
      const std::string name = std::to_string(megabytes) + "MB";
      const std::int64_t n = megabytes << 18;
      volatile float sink = 0;
      ceilings.read_gbs[name][t] = best_rate(team, n, 4, samples, [&](std::int64_t at, std::int64_t count) {
        sink = read_all(from.data() + at, count);
      });
      ceilings.copy_gbs[name][t] = best_rate(team, n, 8, samples, [&](std::int64_t at, std::int64_t count) {
        copy_plain(to.data() + at, from.data() + at, count);
      });
      ceilings.nt_copy_gbs[name][t] =
          best_rate(team, n, 8, samples, [&](std::int64_t at, std::int64_t count) {
            copy_streaming(to.data() + at, from.data() + at, count);
          });
    }
  }
  return ceilings;
}

}  // namespace lathe::bench
