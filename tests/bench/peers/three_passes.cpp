// add, relu and sigmoid as three passes over memory: what a program of separate operators does. Each pass is
// vectorised by hand, so that the fused kernel is compared with the memory traffic and not with a slow
// exponential.
#ifdef __AVX2__
#include <immintrin.h>

#include <memory>

#include "../harness/bench.h"
#include "../harness/team.h"

namespace lathe::bench {

namespace {

// exp by 2^n * p(r), |r| <= ln2/2, p of degree 6; inputs beyond the range of float saturate.
__m256 exponential(__m256 x) {
  x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0f)), _mm256_set1_ps(88.0f));
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
  __m256 p = _mm256_set1_ps(1.0f / 720);
  for (float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
  const __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(p, _mm256_castsi256_ps(bits));
}

__m256 sigmoid(__m256 x) {
  const __m256 one = _mm256_set1_ps(1.0f);
  return _mm256_div_ps(one, _mm256_add_ps(one, exponential(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

template <class Function>
void pass(std::int64_t begin, std::int64_t end, float* to, Function f) {
  std::int64_t i = begin;
  for (; i + 8 <= end; i += 8) _mm256_storeu_ps(to + i, f(i));
  if (i == end) return;
  alignas(32) int mask[8];
  for (int lane = 0; lane < 8; ++lane) mask[lane] = i + lane < end ? -1 : 0;
  // The buffers are padded to whole cache lines, so reading a whole vector is in bounds.
  _mm256_maskstore_ps(to + i, _mm256_load_si256(reinterpret_cast<const __m256i*>(mask)), f(i));
}

std::vector<Callable> three_passes(const Problem& p) {
  const std::int64_t n = p.what.params[0];
  Buffer sum(n), positive(n), y(n);
  const float *a = p.data("a"), *b = p.data("b");
  auto team = std::make_shared<Team>(p.threads);
  auto run = [=] {
    const std::int64_t share = (n / team->size() + 63) / 64 * 64;
    auto range = [=](int index, auto f) { f(std::min(n, index * share), std::min(n, (index + 1) * share)); };
    team->run([&](int index) {
      range(index, [&](std::int64_t begin, std::int64_t end) {
        pass(begin, end, sum.data(),
             [&](std::int64_t i) { return _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)); });
      });
    });
    team->run([&](int index) {
      range(index, [&](std::int64_t begin, std::int64_t end) {
        pass(begin, end, positive.data(), [&](std::int64_t i) {
          return _mm256_max_ps(_mm256_loadu_ps(sum.data() + i), _mm256_setzero_ps());
        });
      });
    });
    team->run([&](int index) {
      range(index, [&](std::int64_t begin, std::int64_t end) {
        pass(begin, end, y.data(),
             [&](std::int64_t i) { return sigmoid(_mm256_loadu_ps(positive.data() + i)); });
      });
    });
  };
  return {make_callable("three passes", run, y)};
}

const bool joined = register_peer({"EW"}, three_passes);

}  // namespace

}  // namespace lathe::bench
#endif
