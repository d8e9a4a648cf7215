#include "support/schedule_fuzzer/intrinsics.h"

#include <cstdint>

#include "lathe/te.h"
#include "lathe/tensor_intrinsic.h"

namespace {

template <class T>
void copy_tile(std::int64_t m, std::int64_t n, const T* x, std::int64_t x0, std::int64_t x1, T* y,
               std::int64_t y0, std::int64_t y1) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) y[i * y0 + j * y1] = x[i * x0 + j * x1];
  }
}

template <class T>
void multiply_tile(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a0,
                   std::int64_t a1, const T* b, std::int64_t b0, std::int64_t b1, T* c, std::int64_t c0,
                   std::int64_t c1) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t r = 0; r < k; ++r) c[i * c0 + j * c1] += a[i * a0 + r * a1] * b[r * b0 + j * b1];
    }
  }
}

}  // namespace

#define COPY(name, T, n)                                                                       \
  extern "C" void fuzz_copy_##name##_##n(const T* x, std::int64_t x0, T* y, std::int64_t y0) { \
    copy_tile<T>(1, n, x, 0, x0, y, 0, y0);                                                    \
  }
#define COPY_2(name, T, m, n)                                                                      \
  extern "C" void fuzz_copy_##name##_##m##x##n(const T* x, std::int64_t x0, std::int64_t x1, T* y, \
                                               std::int64_t y0, std::int64_t y1) {                 \
    copy_tile<T>(m, n, x, x0, x1, y, y0, y1);                                                      \
  }
#define SUM(name, T, n)                                                      \
  extern "C" void fuzz_sum_##name##_##n(const T* x, std::int64_t x0, T* y) { \
    for (std::int64_t i = 0; i < n; ++i) *y += x[i * x0];                    \
  }
#define DOT(name, T, n)                                                                                   \
  extern "C" void fuzz_dot_##name##_##n(const T* a, std::int64_t a0, const T* b, std::int64_t b0, T* c) { \
    multiply_tile<T>(1, 1, n, a, 0, a0, b, b0, 0, c, 0, 0);                                               \
  }
#define MULTIPLY(name, T, m, n, k)                                                                           \
  extern "C" void fuzz_multiply_##name##_##m##x##n##x##k(const T* a, std::int64_t a0, std::int64_t a1,       \
                                                         const T* b, std::int64_t b0, std::int64_t b1, T* c, \
                                                         std::int64_t c0, std::int64_t c1) {                 \
    multiply_tile<T>(m, n, k, a, a0, a1, b, b0, b1, c, c0, c1);                                              \
  }
#define COPIES(name, T) \
  COPY(name, T, 1)      \
  COPY(name, T, 2)      \
  COPY(name, T, 3) COPY(name, T, 4) COPY(name, T, 8) COPY_2(name, T, 2, 3) COPY_2(name, T, 4, 4)
#define SUMS(name, T) \
  SUM(name, T, 1)     \
  SUM(name, T, 2)     \
  SUM(name, T, 3)     \
  SUM(name, T, 4)     \
  DOT(name, T, 1) DOT(name, T, 2) DOT(name, T, 4) MULTIPLY(name, T, 2, 2, 2) MULTIPLY(name, T, 1, 4, 3)

COPIES(8, std::uint8_t)
COPIES(16, std::uint16_t)
COPIES(32, std::uint32_t)
COPIES(64, std::uint64_t)
SUMS(f32, float)
SUMS(f64, double)
SUMS(i32, std::uint32_t)
SUMS(i64, std::uint64_t)

namespace lathe::fuzz {
namespace {

class Declarations {
 public:
  std::vector<TileFunction> all;

  void copies(DataType t) {
    const std::string stem = "fuzz_copy_" + std::to_string(t.bits) + "_";
    for (std::int64_t n : {1, 2, 3, 4, 8}) copy(t, stem + std::to_string(n), {n});
    copy(t, stem + "2x3", {2, 3});
    copy(t, stem + "4x4", {4, 4});
  }

  void sums(DataType t) {
    for (std::int64_t n : {1, 2, 3, 4}) {
      Tensor x = placeholder("x", {n}, t);
      Axis r = reduce_axis(n, "r");
      Tensor y = compute("y", {}, [&] { return sum(x(r), {r}); });
      add("fuzz_sum_" + t.str() + "_" + std::to_string(n), t, true, {n}, program("sum", {x}, {y}));
    }
    for (std::int64_t n : {1, 2, 4}) {
      Tensor a = placeholder("a", {n}, t), b = placeholder("b", {n}, t);
      Axis r = reduce_axis(n, "r");
      Tensor y = compute("y", {}, [&] { return sum(a(r) * b(r), {r}); });
      add("fuzz_dot_" + t.str() + "_" + std::to_string(n), t, true, {n}, program("dot", {a, b}, {y}));
    }
    multiply(t, 2, 2, 2);
    multiply(t, 1, 4, 3);
  }

 private:
  void copy(DataType t, const std::string& symbol, std::vector<std::int64_t> tile) {
    const std::vector<Expr> shape(tile.begin(), tile.end());
    Tensor x = placeholder("x", shape, t);
    Tensor y = compute("y", shape, [&](const std::vector<Var>& i) { return x({i.begin(), i.end()}); });
    add(symbol, t, false, std::move(tile), program("copy", {x}, {y}));
  }
  void multiply(DataType t, std::int64_t m, std::int64_t n, std::int64_t k) {
    Tensor a = placeholder("a", {m, k}, t), b = placeholder("b", {k, n}, t);
    Axis r = reduce_axis(k, "r");
    Tensor c = compute("c", {m, n}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
    add("fuzz_multiply_" + t.str() + "_" + std::to_string(m) + "x" + std::to_string(n) + "x" +
            std::to_string(k),
        t, true, {m, n, k}, program("multiply", {a, b}, {c}));
  }
  void add(const std::string& symbol, DataType t, bool reduces, std::vector<std::int64_t> tile,
           Program description) {
    const std::string name = symbol + ":" + t.str();
    register_tensor_intrinsic({name, std::move(description), symbol});
    all.push_back({name, t, reduces, std::move(tile)});
  }
};

}  // namespace

const std::vector<TileFunction>& tile_functions() {
  static const std::vector<TileFunction> functions = [] {
    Declarations d;
    for (DataType t : {f32, f64, f16, bf16, i8, u8, i16, i32, u32, i64}) d.copies(t);
    for (DataType t : {f32, f64, i32, i64}) d.sums(t);
    return d.all;
  }();
  return functions;
}

}  // namespace lathe::fuzz
