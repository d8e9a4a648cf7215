// The C library's functions, one value at a time and, where libmvec is there, eight.
#include <dlfcn.h>
#include <immintrin.h>

#include <cmath>

#include "../harness/bench.h"

namespace lathe::bench {

namespace {

template <float (*F)(float)>
void each(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = F(x[i]);
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

using Scalar = void (*)(const float*, float*, std::int64_t);
Scalar scalar_loop(const std::string& key) {
  if (key == "exp") return each<expf>;
  if (key == "tanh") return each<tanhf>;
  if (key == "erf") return each<erff>;
  return each<sigmoid>;
}

#ifdef __AVX2__
using Vector = __m256 (*)(__m256);
Vector vector_function(const std::string& key) {
  static void* library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Vector>(dlsym(library, ("_ZGVdN8v_" + key + "f").c_str())) : nullptr;
}
#endif

std::vector<Callable> functions(const Problem& p) {
  if (p.threads > 1) return {};
  const std::int64_t n = p.what.params[0];
  Buffer y(n), z(n);
  const float* x = p.data("x");
  std::vector<Callable> all = {make_callable(
      "libm", [=, loop = scalar_loop(p.what.key)] { loop(x, y.data(), n); }, y)};
#ifdef __AVX2__
  if (Vector f = vector_function(p.what.key)) {
    all.push_back(make_callable(
        "libmvec",
        [=] {
          for (std::int64_t i = 0; i + 8 <= n; i += 8)
            _mm256_store_ps(z.data() + i, f(_mm256_load_ps(x + i)));
        },
        z));
  }
#endif
  return all;
}

const bool joined = register_peer({"exp", "tanh", "erf", "sigmoid"}, functions);

}  // namespace

}  // namespace lathe::bench
