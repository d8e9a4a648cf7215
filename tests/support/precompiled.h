#pragma once
// What nearly every test reads, compiled once.

#include "support/catch.h"
#include "src/support/common_headers.h"
#include "lathe/interp.h"
#include "lathe/schedule.h"
#include "lathe/te.h"
