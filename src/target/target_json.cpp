// Targets as JSON.
//
//   {
//     "lathe_target": 1,
//     "name": "zen3",
//     "cpu": { every field of CpuTarget },
//     "options": { every field of TargetOptions }
//   }

#include <nlohmann/json.hpp>

#include "lathe/target.h"
#include "support/error_codes/target.h"
#include "support/json_depth.h"
#include "support/nearest.h"
#include "target/fields.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

/// Where in the text we are, for errors.
struct Place {
  std::string_view origin;

  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw TargetError(code, std::string(origin) + ": " + what);
  }
};

const char* expected_type(const FieldRef& field) {
  static constexpr const char* kNames[] = {"a whole number", "a number", "true or false", "a text",
                                           "a list of texts"};
  return kNames[field.at.index()];
}

bool assign(const FieldRef& field, const Json& value) {
  if (auto* const* at = std::get_if<std::int64_t*>(&field.at)) {
    const bool fits =
        value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0);
    return fits && (**at = value.get<std::int64_t>(), true);
  }
  if (auto* const* at = std::get_if<double*>(&field.at))
    return value.is_number() && (**at = value.get<double>(), true);
  if (auto* const* at = std::get_if<bool*>(&field.at))
    return value.is_boolean() && (**at = value.get<bool>(), true);
  if (auto* const* at = std::get_if<std::string*>(&field.at)) {
    return value.is_string() && (**at = value.get<std::string>(), true);
  }
  auto* list = std::get<std::vector<std::string>*>(field.at);
  if (!value.is_array()) return false;
  list->clear();
  for (const Json& item : value) {
    if (!item.is_string()) return false;
    list->push_back(item.get<std::string>());
  }
  return true;
}

/// Reads the fields of `part` from `object`: all of them, and nothing else.
void read_part(const std::vector<FieldRef>& fields, std::string_view part, const Json& object,
               const Place& place) {
  if (!object.is_object()) place.fail(code::T006, "\"" + std::string(part) + "\" must be an object");
  std::vector<std::string> names;
  for (const FieldRef& field : fields) {
    if (field.part == part) names.emplace_back(field.name);
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      place.fail(code::T003,
                 "unknown field \"" + std::string(part) + "." + key + "\"" + did_you_mean(key, names));
    }
  }
  for (const FieldRef& field : fields) {
    if (field.part != part) continue;
    const auto found = object.find(field.name);
    if (found == object.end()) {
      place.fail(code::T006, "field \"" + field.path() +
                                 "\" is missing; a target file describes its machine completely "
                                 "(`lathe targets show NAME` prints one to start from)");
    }
    if (!assign(field, *found)) {
      place.fail(code::T004,
                 "field \"" + field.path() + "\" is " + found->dump() + ", expected " + expected_type(field));
    }
  }
}

Json parse_text(std::string_view text, const Place& place) {
  if (bracket_deeper_than(text, 100) > 0) place.fail(code::T006, "nests brackets more than 100 deep");
  try {
    Json json = Json::parse(text);
    if (!json.is_object()) place.fail(code::T006, "is not a JSON object");
    return json;
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(text.size(), error.byte));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    place.fail(code::T006, "line " + std::to_string(line) + " is not JSON");
  } catch (const Json::exception&) {  // a number like 1e999
    place.fail(code::T006, "holds a number that is too large");
  }
}

void check_head(const Json& json, const Place& place) {
  static const std::vector<std::string> kKeys = {"lathe_target", "name", "cpu", "gpu", "options"};
  if (!json.contains("lathe_target")) {
    place.fail(code::T006, "is not a target file: it lacks \"lathe_target\": " + std::to_string(kFormat));
  }
  const Json& format = json["lathe_target"];
  if (format != kFormat) {
    place.fail(code::T006,
               "has target format " + format.dump() + "; this Lathe reads format " + std::to_string(kFormat));
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      place.fail(code::T003, "unknown field \"" + key + "\"" + did_you_mean(key, kKeys));
    }
  }
  if (json.contains("cpu") == json.contains("gpu")) {
    place.fail(code::T006, "must describe either a \"cpu\" or a \"gpu\"");
  }
}

}  // namespace

std::string Target::to_json() const {
  Json json;
  json["lathe_target"] = kFormat;
  json["name"] = name;
  for (const FieldRef& field : fields_of(*this)) {
    std::visit([&](const auto* value) { json[std::string(field.part)][std::string(field.name)] = *value; },
               field.at);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Target Target::from_json(std::string_view text, std::string_view origin) {
  const Place place{origin};
  const Json json = parse_text(text, place);
  check_head(json, place);
  Target target;
  if (json.contains("gpu")) target.device = GpuTarget{};
  if (json.contains("name")) {
    if (!json["name"].is_string())
      place.fail(code::T004, "\"name\" is " + json["name"].dump() + ", expected a text");
    target.name = json["name"].get<std::string>();
  }
  const std::vector<FieldRef> fields = fields_of(target);
  const std::string_view kind = kind_of(target);
  read_part(fields, kind, json[std::string(kind)], place);
  if (!json.contains("options")) place.fail(code::T006, "\"options\" is missing");
  read_part(fields, "options", json["options"], place);
  target.validate();
  return target;
}

}  // namespace lathe
