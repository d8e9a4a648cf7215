#include "tuner/model/kernels.h"

namespace lathe::tuner {

extern const Kernels kernels_for_base, kernels_for_avx2;

const Kernels& base_kernels() { return kernels_for_base; }

const Kernels& kernels() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return fast ? kernels_for_avx2 : kernels_for_base;
#else
  return kernels_for_base;
#endif
}

}  // namespace lathe::tuner
