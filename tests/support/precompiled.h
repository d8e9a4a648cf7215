#pragma once
// What nearly every test reads, compiled once.

#include "lathe/interp.h"
#include "cmake/common_headers.h"
#include "support/catch.h"
