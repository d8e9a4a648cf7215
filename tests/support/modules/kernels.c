/* A module of kernels as Lathe generates them, written by hand: C alone, and nothing of the host but the hooks. */
#include "lathe/runtime/c_api.h"

#ifdef TEST_MODULE_ABI
__attribute__((weak)) const int32_t lathe_module_abi = TEST_MODULE_ABI;
#endif

struct double_context {
  const float* x;
  float* y;
};

static int32_t double_task(void* ctx, int64_t begin, int64_t end) {
  const struct double_context* c = (const struct double_context*)ctx;
  for (int64_t i = begin; i < end; ++i) c->y[i] = 2 * c->x[i];
  return LATHE_OK;
}

/* y = 2 x, over scalars[0] elements, through a temporary. */
int32_t double_it_kernel(void* const* buffers, const int64_t* scalars) {
  const int64_t n = scalars[0];
  float* temporary = (float*)lathe_workspace_alloc((uint64_t)n * sizeof(float), 64);
  if (temporary == NULL) return LATHE_ERROR_OUT_OF_MEMORY;
  struct double_context context = {(const float*)buffers[0], temporary};
  int32_t code = lathe_parallel_launch(double_task, &context, n);
  for (int64_t i = 0; code == LATHE_OK && i < n; ++i) ((float*)buffers[1])[i] = temporary[i];
  lathe_workspace_free(temporary);
  return code;
}

int32_t always_fails_kernel(void* const* buffers, const int64_t* scalars) {
  (void)buffers;
  (void)scalars;
  lathe_set_error(LATHE_ERROR_FIRST_USER_CODE, "on principle");
  return LATHE_ERROR_FIRST_USER_CODE;
}

/* The DLPack entry beside double_it. */
int32_t double_it_dlpack(const DLTensor* x, const DLTensor* y) {
  static const char kernel[] = "double_it";
  const int64_t any[1] = {-1};
  const lathe_tensor_spec x_spec = {"x", {kDLFloat, 32, 1}, 1, any, kDLCPU, 4, 0};
  int32_t code = lathe_check_tensor(x, &x_spec, kernel, 0);
  if (code != LATHE_OK) return code;
  const lathe_tensor_spec y_spec = {"y", {kDLFloat, 32, 1}, 1, x->shape, kDLCPU, 4, 1};
  code = lathe_check_tensor(y, &y_spec, kernel, 1);
  if (code != LATHE_OK) return code;
  const DLTensor* tensors[2] = {x, y};
  const lathe_tensor_spec specs[2] = {x_spec, y_spec};
  code = lathe_check_overlap(tensors, specs, 2, kernel);
  if (code != LATHE_OK) return code;
  void* buffers[2] = {lathe_tensor_data(x), lathe_tensor_data(y)};
  return double_it_kernel(buffers, x->shape);
}
