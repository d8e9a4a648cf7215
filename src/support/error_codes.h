#pragma once
// The enumerators of lathe::Code, from error_codes.def.

#include "lathe/error.h"

namespace lathe {

enum class Code : std::uint16_t {
#define LATHE_ERROR_CODE(id, title, cause, way_out) id,
#include "support/error_codes.def"
#undef LATHE_ERROR_CODE
};

}  // namespace lathe
