#pragma once
// All of Lathe's public headers.

#include "lathe/digest.h"
#include "lathe/dtype.h"
#include "lathe/error.h"
#include "lathe/expr.h"
#include "lathe/program.h"
#include "lathe/stmt.h"
#include "lathe/te.h"
