/* The ABI between generated kernels and the program that runs them.
 *
 * A kernel
 * --------
 * Every kernel that Lathe generates, by JIT or as an object file, has one signature:
 *
 *     int32_t NAME_kernel(void* const* buffers, const int64_t* scalars);
 *
 * (An object file also has NAME, on plain pointers, and NAME_dlpack, on tensors; both check their arguments.)
 *
 * `buffers` are its tensors in the order of the program's parameters, inputs first, then outputs: addresses
 * of the first element, compact and row-major. `scalars` are its run-time sizes. Zero means done; any other
 * value is one of the LATHE_ERROR_ codes below or what a parallel task returned, and lathe_last_error() has
 * the text. A kernel keeps no state: it may run on any number of threads at once, and it never throws, aborts
 * or prints.
 *
 * What a kernel needs from its host
 * ---------------------------------
 * Some functions of this header, and nothing else (no libc, no C++ runtime): lathe_parallel_launch,
 * lathe_workspace_alloc, lathe_workspace_free and lathe_set_error; for checked entries lathe_check_tensor,
 * lathe_check_overlap and lathe_check_scalar; for a choice among feature levels lathe_cpu_features. The library
 * lathe::runtime has them. A host with threads or memory of its own puts them behind the same functions with
 * lathe_set_parallel_backend and lathe_set_workspace_backend; a host that wants none of our code may define them
 * itself.
 *
 * This header is plain C99 and is also what the C headers beside generated objects include.
 */
#ifndef LATHE_RUNTIME_C_API_H_
#define LATHE_RUNTIME_C_API_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version
 * ---------------------------------------------------------------------------------------------------- */

/* Raised whenever a signature or a meaning in this header changes. Generated code is built for one number. */
#define LATHE_RUNTIME_ABI 1

/* The number this library was built with. */
int32_t lathe_runtime_abi(void);

/* A shared object of kernels exports `const int32_t lathe_module_abi`: the number it was generated for.
 * Whoever loads the object compares it with lathe_runtime_abi() before calling anything
 * (lathe::runtime::Module does). The symbol is weak, so that many generated objects link into one library. */
#define LATHE_MODULE_ABI_SYMBOL "lathe_module_abi"

/* The library defines a symbol whose name has the number, and generated objects refer to it: linked or loaded with a
 * runtime of another number, they are refused by the linker or loader before anything runs. */
#define LATHE_RUNTIME_ABI_SYMBOL lathe_runtime_abi_1
extern const int32_t LATHE_RUNTIME_ABI_SYMBOL;

typedef int32_t (*lathe_kernel)(void* const* buffers, const int64_t* scalars);

/* ---- Errors
 * ----------------------------------------------------------------------------------------------------- */

enum {
  LATHE_OK = 0,
  LATHE_ERROR_OUT_OF_MEMORY = 1,     /* no workspace of that size */
  LATHE_ERROR_NULL_TENSOR = 2,       /* no tensor, or no data where elements are expected */
  LATHE_ERROR_NDIM = 3,              /* wrong number of dimensions */
  LATHE_ERROR_SHAPE = 4,             /* wrong extent */
  LATHE_ERROR_DTYPE = 5,             /* wrong element type */
  LATHE_ERROR_DEVICE = 6,            /* on another kind of device */
  LATHE_ERROR_STRIDES = 7,           /* not compact and row-major */
  LATHE_ERROR_ALIGNMENT = 8,         /* first element not aligned as the kernel assumes */
  LATHE_ERROR_OVERLAP = 9,           /* an output shares bytes with another parameter */
  LATHE_ERROR_SCALAR = 10,           /* a run-time size outside the range the kernel was generated for */
  LATHE_ERROR_EXCEPTION = 11,        /* a C++ exception left a parallel task */
  LATHE_ERROR_ABI = 12,              /* generated for another LATHE_RUNTIME_ABI */
  LATHE_ERROR_CPU = 13,              /* this CPU has none of the feature levels the kernels were built for */
  LATHE_ERROR_FIRST_USER_CODE = 1000 /* codes from here on are never used by Lathe */
};

/* The text that goes with the last nonzero code on this thread; "" when there was none. Valid until the
 * thread's next error. An error of a parallel task is carried to the thread that launched it. */
const char* lathe_last_error(void);

/* The code that goes with it; LATHE_OK when there was none. */
int32_t lathe_last_error_code(void);

/* Sets both for this thread. Copies `message` (cut at about 1000 bytes); allocates nothing. NULL means "". */
void lathe_set_error(int32_t code, const char* message);

/* ---- Parallel loops
 * --------------------------------------------------------------------------------------------- */

/* Some iterations [begin, end) of a parallel loop. Nonzero stops the loop. */
typedef int32_t (*lathe_task)(void* ctx, int64_t begin, int64_t end);

/* Runs `task` over [0, n), cut into chunks, on the caller and whatever threads are free, and returns when all
 * of it is done. Every iteration runs exactly once unless a chunk returns nonzero: then chunks not yet begun
 * are dropped and the first nonzero value comes back. n <= 0 does nothing. May be called from many threads at
 * once; a launch inside a task runs inline on the thread of that task. */
int32_t lathe_parallel_launch(lathe_task task, void* ctx, int64_t n);

/* Threads that work on a launch, the caller counted. By default one for each physical core that the process
 * may use (its affinity mask, and its cgroup's quota rounded up). */
int32_t lathe_num_threads(void);

/* Changes that number for the default pool; 1 makes every launch serial, 0 goes back to the default. Launches
 * in flight keep theirs. */
void lathe_set_num_threads(int32_t threads);

/* Threads of the host's own. */
typedef struct lathe_parallel_backend {
  /* Runs all of [0, n) as lathe_parallel_launch does, at the pace of its own threads; 0, or what a task
   * returned. Called concurrently, never nested, and with n >= 2. */
  int32_t (*launch)(void* self, lathe_task task, void* ctx, int64_t n);
  /* For lathe_num_threads. */
  int32_t (*num_threads)(void* self);
  void* self;
} lathe_parallel_backend;

/* Makes `backend` serve every later launch of the process; NULL brings the default pool back. `*backend` is
 * not copied: it must stay valid for as long as a launch may use it. */
void lathe_set_parallel_backend(const lathe_parallel_backend* backend);

/* ---- Workspace
 * -------------------------------------------------------------------------------------------------- */

/* Memory for a kernel's large temporaries, uninitialised: at least `bytes`, aligned to `align` (a power of
 * two; raised to 64). NULL when there is none, with LATHE_ERROR_OUT_OF_MEMORY set: the kernel then returns
 * that code. The default keeps a few freed blocks for each thread, so that a kernel called again takes no
 * page faults. */
void* lathe_workspace_alloc(uint64_t bytes, uint64_t align);

/* Gives a block back, on whichever thread; NULL is allowed. */
void lathe_workspace_free(void* block);

/* Hands the blocks kept for this thread back to the system (also done when the thread ends). */
void lathe_workspace_trim(void);

/* Memory of the host's own. */
typedef struct lathe_workspace_backend {
  void* (*alloc)(void* self, uint64_t bytes, uint64_t align);
  void (*free)(void* self, void* block);
  void* self;
} lathe_workspace_backend;

/* As lathe_set_parallel_backend. Set it while no kernel runs: a block is freed by the backend of that moment.
 */
void lathe_set_workspace_backend(const lathe_workspace_backend* backend);

/* ---- The CPU
 * -------------------------------------------------------------------------------------------------------- */

/* Features that the CPU has and the system has enabled, as bits of a fixed numbering. Kernels that were built for
 * several levels of features ask here which one to run. */
uint64_t lathe_cpu_features(void);

/* From now on kernels see no feature but `allowed`: for testing the lower levels of an artefact on a machine that has
 * the higher ones. All bits set (the default) means no limit. */
void lathe_limit_cpu_features(uint64_t allowed);

/* ---- Tensors from outside
 * ---------------------------------------------------------------------------------------- */

/* What a kernel expects of one parameter. */
typedef struct lathe_tensor_spec {
  const char* name; /* as in the program, for messages */
  DLDataType dtype; /* bool is {6, 8, 1}; {kDLUInt, 1, 1} is accepted for it */
  int32_t ndim;
  const int64_t* shape; /* `ndim` extents; a negative one is not checked */
  DLDeviceType device_type;
  uint64_t alignment; /* bytes that the first element's address must be a multiple of; 0 or 1: any */
  int32_t is_output;
} lathe_tensor_spec;

/* Checks a tensor that came from outside against what parameter number `index` of `kernel` expects. Strides
 * may be NULL or those of a compact row-major tensor; the stride of a dimension of extent 1, and all strides
 * of a tensor without elements, do not matter. Returns 0, or a code whose text names the kernel, the
 * parameter, what was expected and what came. Reads nothing of the data. */
int32_t lathe_check_tensor(const DLTensor* tensor, const lathe_tensor_spec* spec, const char* kernel,
                           int32_t index);

/* Checks that no output shares a byte with another parameter: generated code assumes so. Each tensor must
 * have passed lathe_check_tensor with its spec. */
int32_t lathe_check_overlap(const DLTensor* const* tensors, const lathe_tensor_spec* specs, int32_t count,
                            const char* kernel);

/* Checks a run-time size against the closed range it was generated for. */
int32_t lathe_check_scalar(int64_t value, int64_t low, int64_t high, const char* name, const char* kernel);

/* Address of a tensor's first element. */
static inline void* lathe_tensor_data(const DLTensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LATHE_RUNTIME_C_API_H_ */
