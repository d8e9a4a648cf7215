#pragma once
// lathe::code::B001 and on: the codes of building for production.

#include "support/error_codes/code.h"

namespace lathe::code {

#define LATHE_ERROR_CODE(id, title, cause, way_out) inline constexpr Code id = named(#id);
#include "support/error_codes/build.def"
#undef LATHE_ERROR_CODE

}  // namespace lathe::code
