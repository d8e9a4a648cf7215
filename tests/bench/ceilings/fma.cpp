// Twelve independent chains cover the latency of the multiply-add (4 or 5 cycles) on two ports, and fit the
// registers.
#include <immintrin.h>

#include <chrono>

#include "ceilings.h"

namespace lathe::bench {

namespace {

constexpr int Chains = 12;
constexpr int Rounds = 40000;

// The multiplier keeps the values bounded. The rounds are written out once a width, because a function cannot
// be inlined into another one with other target features.
[[gnu::target("avx512f")]] void chains512(float a, float b, float* out) {
  __m512 acc[Chains];
  for (int i = 0; i < Chains; ++i) acc[i] = _mm512_loadu_ps(out + 16 * i);
  const __m512 va = _mm512_set1_ps(a), vb = _mm512_set1_ps(b);
  for (int round = 0; round < Rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < Chains; ++i) acc[i] = _mm512_fmadd_ps(acc[i], va, vb);
  }
  for (int i = 0; i < Chains; ++i) _mm512_storeu_ps(out + 16 * i, acc[i]);
}

[[gnu::target("avx2,fma")]] void chains256(float a, float b, float* out) {
  __m256 acc[Chains];
  for (int i = 0; i < Chains; ++i) acc[i] = _mm256_loadu_ps(out + 8 * i);
  const __m256 va = _mm256_set1_ps(a), vb = _mm256_set1_ps(b);
  for (int round = 0; round < Rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < Chains; ++i) acc[i] = _mm256_fmadd_ps(acc[i], va, vb);
  }
  for (int i = 0; i < Chains; ++i) _mm256_storeu_ps(out + 8 * i, acc[i]);
}

void chains128(float a, float b, float* out) {
  __m128 acc[Chains];
  for (int i = 0; i < Chains; ++i) acc[i] = _mm_loadu_ps(out + 4 * i);
  const __m128 va = _mm_set1_ps(a), vb = _mm_set1_ps(b);
  for (int round = 0; round < Rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < Chains; ++i) acc[i] = _mm_add_ps(_mm_mul_ps(acc[i], va), vb);
  }
  for (int i = 0; i < Chains; ++i) _mm_storeu_ps(out + 4 * i, acc[i]);
}

}  // namespace

double fma_gflops_once() {
  volatile float scale = 0.999f, offset = 0.001f;
  alignas(64) float values[16 * Chains];
  for (float& v : values) v = offset;
  int lanes = 4;
  void (*run)(float, float, float*) = chains128;
  if (__builtin_cpu_supports("avx512f")) {
    lanes = 16, run = chains512;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    lanes = 8, run = chains256;
  }
  const auto start = std::chrono::steady_clock::now();
  run(scale, offset, values);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  volatile float sink = values[0];
  (void)sink;
  return 2.0 * lanes * Chains * Rounds / took.count() * 1e-9;
}

}  // namespace lathe::bench
