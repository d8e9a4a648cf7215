#pragma once
// OpenBLAS and BLIS in one process.
//
// Both export the same names, so each is opened at run time with its symbols kept to itself; linking both
// would silently measure one of them twice.

#include <string>
#include <vector>

namespace lathe::bench {

struct Blas {
  std::string name;
  std::string version;
  // The C interface of BLAS; the enumerators are 101 row-major, 111 not transposed, 112 transposed.
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                int lda, const float* b, int ldb, float beta, float* c, int ldc) = nullptr;
  void (*sgemv)(int order, int transpose, int m, int n, float alpha, const float* a, int lda, const float* x,
                int incx, float beta, float* y, int incy) = nullptr;
  float (*snrm2)(int n, const float* x, int incx) = nullptr;
  /// OpenBLAS only: out-of-place copy, here used to transpose.
  void (*somatcopy)(int order, int transpose, int rows, int cols, float alpha, const float* a, int lda,
                    float* b, int ldb) = nullptr;
  void (*set_threads)(long count) = nullptr;

  void set(int threads) const { set_threads(threads); }
};

constexpr int RowMajor = 101, NoTranspose = 111, Transpose = 112;

/// Those that this machine has.
const std::vector<Blas>& blas_libraries();

}  // namespace lathe::bench
