#include "tuner/model/kernels.h"

#include <array>
#include <cmath>
#include <vector>

#include "tuner/model/random.h"

using namespace lathe::tuner;

namespace {

std::vector<float> random_matrix(std::size_t size, Random& random) {
  std::vector<float> m(size);
  for (float& v : m) v = static_cast<float>(random.normal());
  return m;
}

// Both implementations; where the processor has nothing special they are one and the same.
const Kernels* const implementations[] = {&base_kernels(), &kernels()};

}  // namespace

TEST_CASE("matrix products of odd sizes add what the definition says") {
  Random random(1);
  for (const Kernels* k : implementations) {
    for (auto [m, n, d] : {std::array{1, 1, 1}, {3, 5, 7}, {17, 33, 9}, {64, 1, 65}, {1, 40, 3}, {5, 4, 0}}) {
      const std::vector<float> a = random_matrix(m * d, random), b = random_matrix(d * n, random);
      std::vector<float> at(d * m), bt(n * d);
      for (int i = 0; i < m; ++i) {
        for (int l = 0; l < d; ++l) at[l * m + i] = a[i * d + l];
      }
      for (int j = 0; j < n; ++j) {
        for (int l = 0; l < d; ++l) bt[j * d + l] = b[l * n + j];
      }
      std::vector<float> plain(m * n, 1), tn(m * n, 1), nt(m * n, 1);
      k->multiply(m, n, d, a.data(), b.data(), plain.data());
      k->multiply_tn(m, n, d, at.data(), b.data(), tn.data());
      k->multiply_nt(m, n, d, a.data(), bt.data(), nt.data());
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double sum = 1;
          for (int l = 0; l < d; ++l) sum += static_cast<double>(a[i * d + l]) * b[l * n + j];
          REQUIRE(plain[i * n + j] == Approx(sum).margin(1e-4));
          REQUIRE(tn[i * n + j] == Approx(sum).margin(1e-4));
          REQUIRE(nt[i * n + j] == Approx(sum).margin(1e-4));
        }
      }
    }
  }
}

TEST_CASE("the Matérn covariance and its slope agree with the formula") {
  for (const Kernels* k : implementations) {
    std::vector<float> d2, value(600), slope(600);
    for (int i = 0; i < 600; ++i) d2.push_back(0.02f * i * i - 1e-6f * (i == 0));
    k->matern52(600, d2.data(), value.data(), slope.data());
    for (int i = 0; i < 600; ++i) {
      const double r = std::sqrt(5 * std::max(d2[i], 0.0f));
      REQUIRE(value[i] == Approx((1 + r + r * r / 3) * std::exp(-r)).margin(1e-6));
      REQUIRE(slope[i] == Approx(5.0 / 3 * (1 + r) * std::exp(-r)).margin(1e-6));
    }
  }
}

TEST_CASE("Cholesky factor, inverse and triangular solve undo each other") {
  Random random(2);
  for (const Kernels* k : implementations) {
    for (std::size_t n : {1, 2, 7, 50}) {
      const std::vector<float> g = random_matrix(n * n, random);
      std::vector<double> a(n * n), l, inverse(n * n);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t c = 0; c < n; ++c)
            a[i * n + j] += static_cast<double>(g[i * n + c]) * g[j * n + c];
        }
        a[i * n + i] += 1;
      }
      l = a;
      REQUIRE(k->cholesky(n, l.data()));
      k->cholesky_inverse(n, l.data(), inverse.data());
      std::vector<float> lf(l.begin(), l.end()), x(n * 3, 1);
      k->solve_lower(n, 3, lf.data(), x.data());
      for (std::size_t i = 0; i < n; ++i) {
        double solved = 0;
        for (std::size_t j = 0; j < n; ++j) {
          double product = 0, identity = 0;
          for (std::size_t c = 0; c < n; ++c) {
            product += l[i * n + c] * l[j * n + c];
            identity += a[i * n + c] * inverse[c * n + j];
          }
          REQUIRE(product == Approx(a[i * n + j]).margin(1e-9));
          REQUIRE(identity == Approx(i == j).margin(1e-9));
          solved += l[i * n + j] * x[j * 3 + 1];
        }
        REQUIRE(solved == Approx(1).margin(1e-3));
      }
    }
    double indefinite[] = {1, 2, 2, 1};
    CHECK_FALSE(k->cholesky(2, indefinite));
  }
}

TEST_CASE("Adam's first step is the learning rate against the gradient's sign") {
  for (const Kernels* k : implementations) {
    float gradient[] = {3, -0.5f}, parameter[] = {1, 1}, first[] = {0, 0}, second[] = {0, 0};
    k->adam(2, gradient, parameter, first, second, 0.1f, 0.1f, 0.001f, 0);
    CHECK(parameter[0] == Approx(0.9));
    CHECK(parameter[1] == Approx(1.1));
  }
}
