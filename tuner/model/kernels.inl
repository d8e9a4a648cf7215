// Body of kernels_base.cpp and kernels_avx2.cpp, which define LATHE_KERNELS_TABLE, LATHE_KERNELS_NAME and,
// before this file, rename the namespace Eigen. Nothing of the standard library with external linkage may be
// instantiated here, for the reason given in kernels.h.

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "tuner/model/kernels.h"

namespace lathe::tuner {
namespace {

using Index = Eigen::Index;
template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename Scalar>
using In = Eigen::Map<const Matrix<Scalar>>;
template <typename Scalar>
using Out = Eigen::Map<Matrix<Scalar>>;
using Array = Eigen::Map<Eigen::ArrayXf>;
using InArray = Eigen::Map<const Eigen::ArrayXf>;

Index ix(std::size_t n) { return static_cast<Index>(n); }

void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c) {
  Out<float>(c, ix(m), ix(n)).noalias() += In<float>(a, ix(m), ix(k)) * In<float>(b, ix(k), ix(n));
}

void multiply_tn(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c) {
  Out<float>(c, ix(m), ix(n)).noalias() +=
      In<float>(a, ix(k), ix(m)).transpose() * In<float>(b, ix(k), ix(n));
}

void multiply_nt(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c) {
  Out<float>(c, ix(m), ix(n)).noalias() +=
      In<float>(a, ix(m), ix(k)) * In<float>(b, ix(n), ix(k)).transpose();
}

void matern52(std::size_t count, const float* squared_distance, float* value, float* slope) {
  constexpr Index Block = 256;
  for (Index begin = 0; begin < ix(count); begin += Block) {
    const Index size = begin + Block < ix(count) ? Block : ix(count) - begin;
    Eigen::Array<float, Eigen::Dynamic, 1, 0, Block, 1> r(size), e(size);
    r = (InArray(squared_distance + begin, size).max(0.0f) * 5.0f).sqrt();
    e = (-r).exp();
    if (slope) Array(slope + begin, size) = (1.0f + r) * e * (5.0f / 3.0f);
    Array(value + begin, size) = (1.0f + r + r.square() * (1.0f / 3.0f)) * e;
  }
}

bool cholesky(std::size_t n, double* a) {
  Out<double> matrix(a, ix(n), ix(n));
  Eigen::LLT<Eigen::Ref<Matrix<double>>, Eigen::Lower> llt(matrix);
  if (llt.info() != Eigen::Success) return false;
  matrix.triangularView<Eigen::StrictlyUpper>().setZero();
  return matrix.allFinite();
}

void cholesky_inverse(std::size_t n, const double* l, double* inverse) {
  In<double> factor(l, ix(n), ix(n));
  Out<double> result(inverse, ix(n), ix(n));
  result.setIdentity();
  factor.triangularView<Eigen::Lower>().solveInPlace(result);
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(result);
}

void solve_lower(std::size_t n, std::size_t m, const float* l, float* x) {
  Out<float> right(x, ix(n), ix(m));
  In<float>(l, ix(n), ix(n)).triangularView<Eigen::Lower>().solveInPlace(right);
}

void adam(std::size_t count, const float* gradient, float* parameter, float* first, float* second, float rate,
          float bias1, float bias2, float decay) {
  InArray g(gradient, ix(count));
  Array p(parameter, ix(count)), m(first, ix(count)), v(second, ix(count));
  m = 0.9f * m + 0.1f * g;
  v = 0.999f * v + 0.001f * g.square();
  p -= rate * ((m / bias1) / ((v / bias2).sqrt() + 1e-8f) + decay * p);
}

}  // namespace

extern const Kernels LATHE_KERNELS_TABLE;
const Kernels LATHE_KERNELS_TABLE = {LATHE_KERNELS_NAME, multiply,         multiply_tn, multiply_nt, matern52,
                                     cholesky,           cholesky_inverse, solve_lower, adam};

}  // namespace lathe::tuner
