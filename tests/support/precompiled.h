#pragma once
// What nearly every test reads, compiled once.

#include "lathe/interp.h"
#include "src/support/common_headers.h"
#include "support/catch.h"
