#pragma once
// What nearly every test reads, compiled once.

#include "cmake/common_headers.h"
#include "lathe/interp.h"
#include "support/catch.h"
