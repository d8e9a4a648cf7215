// Compiled with -mavx2 -mfma where the compiler has them (tuner/CMakeLists.txt); elsewhere the same as the
// base.
#define Eigen EigenForAvx2
#define LATHE_KERNELS_TABLE kernels_for_avx2
#define LATHE_KERNELS_NAME "avx2"
#include "tuner/model/kernels.inl"
