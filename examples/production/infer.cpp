// Runs two layers that `lathe build` made (see CMakeLists.txt), and checks them against plain loops.
//
// What is linked is layers' objects and lathe::runtime. Kernels return codes; the text of an error is lathe_last_error().

#include <cmath>
#include <cstdio>
#include <vector>

#include "layers.h"

namespace {

/// Kernels want their operands aligned as the header says: 64 bytes.
struct alignas(64) Line {
  float values[16];
};

struct Matrix {
  int rows, columns;
  std::vector<Line> memory;
  Matrix(int r, int c) : rows(r), columns(c), memory((r * c + 15) / 16) {}
  float* data() { return memory[0].values; }
  float& at(int i, int j) { return data()[i * columns + j]; }
};

Matrix filled(int rows, int columns) {
  Matrix m(rows, columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) m.at(i, j) = static_cast<float>((i * 31 + j * 17) % 13 - 6) / 8;
  return m;
}

Matrix product(Matrix& a, Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < b.columns; ++j)
      for (int k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

}  // namespace

int main() {
  Matrix x = filled(16, 64), w1 = filled(64, 96), w2 = filled(96, 10), h(16, 96), y(16, 10);
  if (hidden_layer(x.data(), w1.data(), h.data()) != LATHE_OK ||
      output_layer(h.data(), w2.data(), y.data()) != LATHE_OK) {
    std::fprintf(stderr, "%s\n", lathe_last_error());
    return 1;
  }
  Matrix h_wanted = product(x, w1), y_wanted = product(h_wanted, w2);
  float worst = 0;
  for (int i = 0; i < y.rows; ++i)
    for (int j = 0; j < y.columns; ++j) worst = std::fmax(worst, std::fabs(y.at(i, j) - y_wanted.at(i, j)));
  std::printf("largest difference from plain loops: %.2g\n", worst);
  if (!(worst < 1e-2f)) return 1;

  // A mistake is a code and a text.
  if (hidden_layer(nullptr, w1.data(), h.data()) == LATHE_OK) return 1;
  std::printf("and what a mistake gives: %s\n", lathe_last_error());
  return 0;
}
