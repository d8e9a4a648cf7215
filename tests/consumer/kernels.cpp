// A production program with built kernels: two functions of a library that `lathe_add_kernels` made, and the runtime.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "consumer_kernels.h"

namespace {

float* floats(std::size_t count) {
  void* memory = std::aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  std::memset(memory, 0, count * sizeof(float));
  return static_cast<float*>(memory);
}

}  // namespace

int main() {
  float *a = floats(6 * 8), *b = floats(8 * 20), *c = floats(6 * 20);
  for (int i = 0; i < 6 * 8; ++i) a[i] = static_cast<float>(i % 5 - 2);
  for (int i = 0; i < 8 * 20; ++i) b[i] = static_cast<float>(i % 7 - 3);
  if (my_product(a, b, c) != LATHE_OK) {
    std::printf("%s\n", lathe_last_error());
    return 1;
  }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 20; ++j) {
      float want = 0;
      for (int k = 0; k < 8; ++k) want += a[i * 8 + k] * b[k * 20 + j];
      if (c[i * 20 + j] != want) return 2;
    }
  std::free(a);
  std::free(b);
  std::free(c);
  return 0;
}
