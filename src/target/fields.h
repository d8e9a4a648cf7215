#pragma once
// One list of a target's fields. JSON, overrides such as `zen3(cores=4)`, comparison, identity and range
// checks are all made from it, so that a new field cannot be forgotten in one of them.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lathe/target.h"

namespace lathe {

/// Whether a field belongs to what a record is kept by.
enum class Role { Identity, Information };

/// A field of a particular target.
struct FieldRef {
  std::string_view part;  ///< "cpu", "gpu", "options"
  std::string_view name;
  Role role;
  std::variant<std::int64_t*, double*, bool*, std::string*, std::vector<std::string>*> at;
  std::int64_t low = 0, high = 0;  ///< of numbers, inclusive

  std::string path() const { return std::string(part) + "." + std::string(name); }
};

/// Every field of `target` but its name, in the order of JSON.
std::vector<FieldRef> fields_of(Target& target);

/// For reading: the fields of a target that is not changed through them.
inline std::vector<FieldRef> fields_of(const Target& target) {
  return fields_of(const_cast<Target&>(target));
}

/// A field's value as text: numbers plainly, lists with commas.
std::string value_text(const FieldRef& field);

/// "cpu" or "gpu".
inline std::string_view kind_of(const Target& target) { return target.is_cpu() ? "cpu" : "gpu"; }

}  // namespace lathe
