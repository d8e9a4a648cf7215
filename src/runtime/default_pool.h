#pragma once
// The pool that kernels use when the host has not put its own threads behind the hook.

#include "lathe/runtime/thread_pool.h"

namespace lathe::runtime {

/// Made at the first call; null once the program is ending.
ThreadPool* default_pool();

}  // namespace lathe::runtime
