// The table of primitives.

#include <algorithm>

#include "schedule/edit.h"

namespace lathe::schedule {

#define LATHE_PRIMITIVE(name) void run_##name(Edit& edit);
#include "schedule/primitives.def"
#undef LATHE_PRIMITIVE

const std::vector<Primitive>& primitives() {
  static const std::vector<Primitive> table = {
#define LATHE_PRIMITIVE(name) {#name, run_##name},
#include "schedule/primitives.def"
#undef LATHE_PRIMITIVE
  };
  return table;
}

const Primitive* find_primitive(const std::string& name) {
  for (const Primitive& p : primitives()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

}  // namespace lathe::schedule
