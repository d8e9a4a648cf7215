#define Eigen EigenForBase
#define LATHE_KERNELS_TABLE kernels_for_base
#define LATHE_KERNELS_NAME "base"
#include "tuner/model/kernels.inl"
