#pragma once
// The value of a lathe::Code is its id. A header a subject declares the codes of that subject, so that a new code
// recompiles only the sources that raise codes of its kind.

#include "lathe/error.h"

namespace lathe::code {

/// The code of an id such as "S003": the letter above, the number below.
consteval Code named(const char* id) {
  return static_cast<Code>((id[0] - 'A') * 1000 + (id[1] - '0') * 100 + (id[2] - '0') * 10 + (id[3] - '0'));
}

}  // namespace lathe::code
