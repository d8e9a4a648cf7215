#pragma once
// All of Lathe's public headers. A program that only runs compiled kernels includes those of lathe/runtime/
// alone.

#include "lathe/digest.h"
#include "lathe/dtype.h"
#include "lathe/error.h"
#include "lathe/expr.h"
#include "lathe/interp.h"
#include "lathe/program.h"
#include "lathe/records.h"
#include "lathe/runtime/affinity.h"
#include "lathe/runtime/device.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/module.h"
#include "lathe/runtime/tensor.h"
#include "lathe/runtime/thread_pool.h"
#include "lathe/runtime/timer.h"
#include "lathe/stmt.h"
#include "lathe/target.h"
#include "lathe/te.h"
