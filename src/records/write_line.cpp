#include "records/json_text.h"
#include "records/lines.h"

namespace lathe::records {

namespace {

void head(JsonObject& object, std::string_view kind) {
  object.integer("lathe", kTextFormat);
  object.text("kind", kind);
}

void text_if(JsonObject& object, std::string_view name, std::string_view value) {
  if (!value.empty()) object.text(name, value);
}
void integer_if(JsonObject& object, std::string_view name, std::int64_t value) {
  if (value != 0) object.integer(name, value);
}
void digest_if(JsonObject& object, std::string_view name, const std::optional<Digest>& value) {
  if (value) object.text(name, value->hex());
}
void real_if(JsonObject& object, std::string_view name, const std::optional<double>& value) {
  if (value) object.real(name, *value);
}
void integer_if(JsonObject& object, std::string_view name, const std::optional<std::int64_t>& value) {
  if (value) object.integer(name, *value);
}

void provenance(JsonObject& outer, const Provenance& p) {
  std::string json;
  JsonObject object(json);
  text_if(object, "lathe", p.lathe);
  text_if(object, "llvm", p.llvm);
  text_if(object, "nvrtc", p.nvrtc);
  text_if(object, "driver", p.driver);
  text_if(object, "host", p.host);
  if (p.host_class != p.host) object.text("class", p.host_class);
  object.close();
  outer.raw("by", json);
}

void times(JsonObject& outer, const std::vector<double>& samples) {
  std::string json = "[";
  for (double sample : samples) {
    if (json.size() > 1) json += ',';
    JsonObject::append_real(json, sample);
  }
  outer.raw("times", json + "]");
}

void outcome(JsonObject& object, const Trial& trial) {
  if (trial.failure != Failure::None) object.text("failure", to_string(trial.failure));
  text_if(object, "error_code", trial.error_code);
  text_if(object, "error", trial.error_text);
  if (trial.failure == Failure::None) object.real("p10", trial.p10);
  if (!trial.times.empty()) times(object, trial.times);
  object.text("regime", to_string(trial.regime));
  object.truth("verified", trial.verification.accepted);
  real_if(object, "max_error", trial.verification.max_error);
  real_if(object, "tolerance", trial.verification.tolerance);
  text_if(object, "reference", trial.verification.reference);
  digest_if(object, "scheduled", trial.scheduled);
  digest_if(object, "binary", trial.binary);
  real_if(object, "core_mhz", trial.core_mhz);
  real_if(object, "memory_mhz", trial.memory_mhz);
  integer_if(object, "registers", trial.registers);
  integer_if(object, "spill_bytes", trial.spill_bytes);
  integer_if(object, "shared_bytes", trial.shared_bytes);
}

std::string trial_text(const Digest& program, const Digest& fingerprint,
                       const std::optional<Digest>& program_text, const Trial& trial, bool with_identity) {
  std::string out;
  out.reserve(512 + trial.trace.size() + trial.error_text.size());
  JsonObject object(out);
  head(object, "trial");
  object.text("program", program.hex());
  object.text("target", fingerprint.hex());
  if (with_identity) {
    object.text("id", trial.uid.hex());
    digest_if(object, "program_text", program_text);
    if (trial.stale) object.truth("stale", true);
  }
  object.integer("semantics", trial.key.semantics);
  outcome(object, trial);
  if (trial.seed != 0) object.natural("seed", trial.seed);
  integer_if(object, "round", trial.round);
  integer_if(object, "proposal", trial.proposal);
  digest_if(object, "session", trial.session);
  object.integer("created_us", trial.created_us);
  provenance(object, trial.provenance);
  object.raw("trace", trial.trace);
  object.close();
  return out;
}

}  // namespace

std::string to_line(const ProgramLine& line) {
  std::string names = "[", out;
  for (const auto& [name, spec] : line.names) {
    if (names.size() > 1) names += ',';
    names += '[';
    JsonObject::append_text(names, name);
    names += ',';
    JsonObject::append_text(names, spec);
    names += ']';
  }
  JsonObject object(out);
  head(object, "program");
  object.text("program", line.program.hex());
  object.raw("names", names + "]");
  object.raw("json", line.json);
  object.close();
  return out;
}

std::string to_line(const TargetLine& line) {
  std::string out;
  JsonObject object(out);
  head(object, "target");
  object.text("target", line.fingerprint.hex());
  object.text("name", line.name);
  object.raw("json", line.json);
  object.close();
  return out;
}

std::string to_line(const SessionLine& line) {
  const Session& s = line.session;
  std::string out;
  JsonObject object(out);
  head(object, "session");
  object.text("session", s.uid.hex());
  object.text("state", to_string(s.state));
  if (s.seed != 0) object.natural("seed", s.seed);
  object.raw("options", s.options);
  integer_if(object, "budget_trials", s.budget_trials);
  if (s.budget_seconds != 0) object.real("budget_seconds", s.budget_seconds);
  object.raw("progress", s.progress);
  text_if(object, "reason", s.reason);
  integer_if(object, "trials", s.trials);
  object.integer("started_us", s.started_us);
  object.integer("updated_us", s.updated_us);
  integer_if(object, "ended_us", s.ended_us);
  provenance(object, s.provenance);
  object.close();
  return out;
}

std::string to_line(const TrialLine& line) {
  return trial_text(line.program, line.fingerprint, line.program_text, line.trial, true);
}

Digest uid_of(const Digest& program, const Digest& fingerprint, const Trial& trial) {
  // FNV leaves the leading digits of texts that differ near their end alike; people name trials by leading digits.
  Digest content = digest_of(trial_text(program, fingerprint, std::nullopt, trial, false));
  return digest_of(content.hex(), content);
}

}  // namespace lathe::records
