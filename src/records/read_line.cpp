#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "records/json_text.h"
#include "records/lines.h"

namespace lathe::records {

namespace {

using Json = nlohmann::ordered_json;

// The members of one object, each asked for once; what nobody asked for is an error, so that a misspelt or
// newer member is not dropped in silence.
class Members {
 public:
  Members(const Json& object, std::string_view line) : object_(object), line_(line) {
    if (!object.is_object()) throw LineError{"expected an object", 1};
  }

  [[noreturn]] void fail(std::string_view name, const std::string& problem) const {
    throw LineError{"\"" + std::string(name) + "\" " + problem, column_of(line_, name)};
  }

  const Json* find(std::string_view name) {
    asked_.insert(std::string(name));
    auto found = object_.find(std::string(name));
    return found == object_.end() ? nullptr : &*found;
  }
  const Json& need(std::string_view name) {
    if (const Json* value = find(name)) return *value;
    fail(name, "is missing");
  }

  std::string text(std::string_view name) { return as_text(name, need(name)); }
  std::string text_or_empty(std::string_view name) {
    const Json* value = find(name);
    return value ? as_text(name, *value) : std::string();
  }
  std::string raw(std::string_view name) { return need(name).dump(); }
  Digest digest(std::string_view name) { return as_digest(name, need(name)); }
  std::optional<Digest> optional_digest(std::string_view name) {
    const Json* value = find(name);
    return value ? std::optional(as_digest(name, *value)) : std::nullopt;
  }
  std::int64_t integer(std::string_view name) { return as_integer(name, need(name)); }
  std::optional<std::int64_t> optional_integer(std::string_view name) {
    const Json* value = find(name);
    return value ? std::optional(as_integer(name, *value)) : std::nullopt;
  }
  std::uint64_t natural_or_zero(std::string_view name) {
    const Json* value = find(name);
    if (!value) return 0;
    if (!value->is_number_unsigned()) fail(name, "must be a whole number from 0 to 2^64-1");
    return value->get<std::uint64_t>();
  }
  std::optional<double> optional_real(std::string_view name) {
    const Json* value = find(name);
    return value ? std::optional(as_real(name, *value)) : std::nullopt;
  }
  bool truth(std::string_view name, bool otherwise) {
    const Json* value = find(name);
    if (!value) return otherwise;
    if (!value->is_boolean()) fail(name, "must be true or false");
    return value->get<bool>();
  }
  double as_real(std::string_view name, const Json& value) const {
    if (value.is_string() && value.get_ref<const std::string&>() == "inf")
      return std::numeric_limits<double>::infinity();
    if (!value.is_number()) fail(name, "must be a number");
    return value.get<double>();
  }
  std::string as_text(std::string_view name, const Json& value) const {
    if (!value.is_string()) fail(name, "must be a text");
    return value.get<std::string>();
  }
  std::string_view line() const { return line_; }

  void finish() const {
    for (auto entry = object_.begin(); entry != object_.end(); ++entry) {
      if (!asked_.contains(entry.key()))
        fail(entry.key(), "is not a member that format " + std::to_string(kTextFormat) + " has here");
    }
  }

 private:
  Digest as_digest(std::string_view name, const Json& value) const {
    auto digest = value.is_string() ? Digest::parse(value.get_ref<const std::string&>()) : std::nullopt;
    if (!digest) fail(name, "must be 32 hexadecimal digits");
    return *digest;
  }
  std::int64_t as_integer(std::string_view name, const Json& value) const {
    constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > limit)) {
      fail(name, "must be a whole number of 64 bits");
    }
    return value.get<std::int64_t>();
  }

  const Json& object_;
  std::string_view line_;
  std::set<std::string, std::less<>> asked_;
};

Provenance provenance(Members& outer) {
  Members members(outer.need("by"), outer.line());
  Provenance p;
  p.lathe = members.text_or_empty("lathe");
  p.llvm = members.text_or_empty("llvm");
  p.nvrtc = members.text_or_empty("nvrtc");
  p.driver = members.text_or_empty("driver");
  p.host = members.text_or_empty("host");
  const Json* host_class = members.find("class");
  p.host_class = host_class ? members.as_text("class", *host_class) : p.host;
  members.finish();
  return p;
}

ProgramLine program_line(Members& members) {
  ProgramLine line;
  line.program = members.digest("program");
  line.json = members.raw("json");
  const Json& names = members.need("names");
  if (!names.is_array()) members.fail("names", "must be a list of [name, spec]");
  for (const Json& entry : names) {
    if (!entry.is_array() || entry.size() != 2) members.fail("names", "must be a list of [name, spec]");
    line.names.emplace_back(members.as_text("names", entry[0]), members.as_text("names", entry[1]));
  }
  return line;
}

TargetLine target_line(Members& members) {
  return {members.digest("target"), members.text("name"), members.raw("json")};
}

SessionLine session_line(Members& members) {
  Session s;
  s.uid = members.digest("session");
  auto state = session_state_from(members.text("state"));
  if (!state || *state == SessionState::External) members.fail("state", "is not a state of a session");
  s.state = *state;
  s.seed = members.natural_or_zero("seed");
  s.options = members.raw("options");
  s.budget_trials = members.optional_integer("budget_trials").value_or(0);
  s.budget_seconds = members.optional_real("budget_seconds").value_or(0);
  s.progress = members.raw("progress");
  s.reason = members.text_or_empty("reason");
  s.trials = members.optional_integer("trials").value_or(0);
  s.started_us = members.integer("started_us");
  s.updated_us = members.integer("updated_us");
  s.ended_us = members.optional_integer("ended_us").value_or(0);
  s.provenance = provenance(members);
  return {s};
}

void outcome(Members& members, Trial& trial) {
  if (members.find("failure")) {
    auto failure = failure_from(members.text("failure"));
    if (!failure || *failure == Failure::None) members.fail("failure", "is not a class of failure");
    trial.failure = *failure;
  }
  trial.error_code = members.text_or_empty("error_code");
  trial.error_text = members.text_or_empty("error");
  trial.p10 = members.optional_real("p10").value_or(0);
  if (const Json* times = members.find("times")) {
    if (!times->is_array()) members.fail("times", "must be a list of seconds");
    for (const Json& sample : *times) trial.times.push_back(members.as_real("times", sample));
  }
  auto regime = regime_from(members.text("regime"));
  if (!regime) members.fail("regime", "must be \"cold\" or \"warm\"");
  trial.regime = *regime;
  trial.verification.accepted = members.truth("verified", false);
  trial.verification.max_error = members.optional_real("max_error");
  trial.verification.tolerance = members.optional_real("tolerance");
  trial.verification.reference = members.text_or_empty("reference");
  trial.scheduled = members.optional_digest("scheduled");
  trial.binary = members.optional_digest("binary");
  trial.core_mhz = members.optional_real("core_mhz");
  trial.memory_mhz = members.optional_real("memory_mhz");
  trial.registers = members.optional_integer("registers");
  trial.spill_bytes = members.optional_integer("spill_bytes");
  trial.shared_bytes = members.optional_integer("shared_bytes");
}

TrialLine trial_line(Members& members) {
  TrialLine line;
  line.program = members.digest("program");
  line.fingerprint = members.digest("target");
  line.program_text = members.optional_digest("program_text");
  Trial& trial = line.trial;
  if (auto uid = members.optional_digest("id")) {
    trial.uid = *uid;
    line.has_uid = true;
  }
  trial.stale = members.truth("stale", false);
  std::int64_t semantics = members.integer("semantics");
  if (semantics < 0 || semantics > std::numeric_limits<int>::max())
    members.fail("semantics", "must be a version number");
  trial.key.semantics = static_cast<int>(semantics);
  outcome(members, trial);
  trial.seed = members.natural_or_zero("seed");
  trial.round = members.optional_integer("round").value_or(0);
  trial.proposal = members.optional_integer("proposal").value_or(0);
  trial.session = members.optional_digest("session");
  trial.created_us = members.integer("created_us");
  trial.provenance = provenance(members);
  trial.trace = members.raw("trace");
  return line;
}

std::size_t members_of(const Json& json) {
  std::size_t count = json.is_object() ? json.size() : 0;
  if (json.is_structured()) {
    for (const Json& item : json) count += members_of(item);
  }
  return count;
}

std::size_t members_written(std::string_view text) {
  std::size_t count = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\\') ++i;
    if (text[i] == ':' && !quoted) ++count;
  }
  return count;
}

/// Of two members of one name, which one counts would be the parser's choice.
void refuse_doubled_members(std::string_view text) {
  std::vector<std::set<std::string>> open;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
      const std::string name = parsed.get<std::string>();
      throw LineError{"\"" + name + "\" is given twice", column_of(text, name)};
    }
    return true;
  };
  [[maybe_unused]] const Json again = Json::parse(text, look);
}

Json parse_json(std::string_view text) {
  try {
    check_depth(text);
    Json json = Json::parse(text);
    if (members_of(json) != members_written(text)) refuse_doubled_members(text);
    return json;
  } catch (const JsonError& error) {
    throw LineError{error.what(), error.column};
  } catch (const nlohmann::json::parse_error& error) {
    throw LineError{"not JSON", std::clamp<std::size_t>(error.byte, 1, text.size() + 1)};
  } catch (const nlohmann::json::exception&) {
    throw LineError{"a number that does not fit", 1};
  }
}

Line parse_members(Members& members) {
  std::int64_t format = members.integer("lathe");
  if (format > kTextFormat) {
    throw LineError{"", 1, static_cast<int>(std::min<std::int64_t>(format, std::numeric_limits<int>::max()))};
  }
  if (format < 1) members.fail("lathe", "must be a format version");
  std::string kind = members.text("kind");
  if (kind == "program") return program_line(members);
  if (kind == "session") return session_line(members);
  if (kind == "target") return target_line(members);
  if (kind == "trial") return trial_line(members);
  members.fail("kind", "must be \"program\", \"session\", \"target\" or \"trial\"");
}

}  // namespace

std::size_t column_of(std::string_view line, std::string_view member) {
  std::string quoted = "\"" + std::string(member) + "\"";
  std::size_t at = line.find(quoted + ":");  // not a text that happens to be the same
  if (at == std::string_view::npos) at = line.find(quoted);
  return at == std::string_view::npos ? line.size() + 1 : at + 1;
}

Line parse_line(std::string_view text) {
  for (std::string_view marker : {"<<<<<<<", "=======", ">>>>>>>"}) {
    if (text.starts_with(marker)) {
      throw LineError{"a merge was left undone here; keep the lines of both sides and delete the markers", 1};
    }
  }
  Json json = parse_json(text);
  if (!json.is_object()) throw LineError{"expected an object", 1};
  Members members(json, text);
  Line line = parse_members(members);
  members.finish();
  return line;
}

}  // namespace lathe::records
