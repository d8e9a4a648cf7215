/* OpenMP's threads behind lathe_parallel_launch, for programs that run OpenMP code of their own and want one team of
 * threads, not two. In the library lathe::openmp, which is built where OpenMP was found:
 *
 *     lathe_set_parallel_backend(lathe_openmp_backend());
 */
#ifndef LATHE_RUNTIME_OPENMP_H_
#define LATHE_RUNTIME_OPENMP_H_

#include "lathe/runtime/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

const lathe_parallel_backend* lathe_openmp_backend(void);

#ifdef __cplusplus
}
#endif

#endif /* LATHE_RUNTIME_OPENMP_H_ */
