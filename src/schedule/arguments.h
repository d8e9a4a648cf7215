#pragma once
// What every primitive demands of its arguments, whatever they mean to it.

#include <string>

#include "lathe/trace.h"

namespace lathe::schedule {

/// What no primitive could work with: an empty expression, one too large to walk, a text that a trace's JSON could not hold.
/// "" when there is nothing of the kind.
std::string unusable_argument(const Instruction& step);

}  // namespace lathe::schedule
