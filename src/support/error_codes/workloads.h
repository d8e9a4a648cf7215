#pragma once
// lathe::code::W001 and on: the codes of workloads.

#include "support/error_codes/code.h"

namespace lathe::code {

#define LATHE_ERROR_CODE(id, title, cause, way_out) inline constexpr Code id = named(#id);
#include "support/error_codes/workloads.def"
#undef LATHE_ERROR_CODE

}  // namespace lathe::code
