#pragma once
// The dense linear algebra under the learners, on plain arrays.
//
// The implementation (kernels.inl, Eigen) is compiled twice: for the base instruction set and for AVX2 with
// FMA. Which one runs is decided once, at the first use, by what the processor has. Eigen stays inside those
// two files: one template compiled with two instruction sets must not meet itself in the linker, so each copy
// has a namespace of its own. All matrices are row-major and dense.

#include <cstddef>

namespace lathe::tuner {

struct Kernels {
  const char* name;
  /// c[m,n] += a[m,k] · b[k,n]
  void (*multiply)(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c);
  /// c[m,n] += a[k,m]ᵀ · b[k,n]
  void (*multiply_tn)(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c);
  /// c[m,n] += a[m,k] · b[n,k]ᵀ
  void (*multiply_nt)(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c);

  /// value = Matérn-5/2 correlation at the squared distances; slope = (5/3)(1 + √5 r)exp(−√5 r), that is −2 d
  /// value / d r², unless null. In place is allowed.
  void (*matern52)(std::size_t count, const float* squared_distance, float* value, float* slope);

  /// Lower Cholesky factor of the symmetric a[n,n], in place (the upper part becomes zero); false when a is
  /// not positive definite.
  bool (*cholesky)(std::size_t n, double* a);
  /// inverse[n,n] = (L·Lᵀ)⁻¹
  void (*cholesky_inverse)(std::size_t n, const double* l, double* inverse);
  /// x[n,m] = L⁻¹ · x, in place.
  void (*solve_lower)(std::size_t n, std::size_t m, const float* l, float* x);

  /// One step of Adam with decoupled weight decay on `count` parameters.
  void (*adam)(std::size_t count, const float* gradient, float* parameter, float* first, float* second,
               float rate, float bias1, float bias2, float decay);
};

/// The fastest implementation that this processor runs.
const Kernels& kernels();
/// The one without special instructions, for tests.
const Kernels& base_kernels();

}  // namespace lathe::tuner
