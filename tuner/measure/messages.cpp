#include "tuner/measure/messages.h"

#include <cstdio>
#include <new>

#include "support/error_codes/runtime.h"

namespace lathe::tuner {

using nlohmann::json;

json to_message(const Measurement& m) {
  return {{"failure", static_cast<int>(m.failure)},
          {"code", m.error_code},
          {"text", m.error_text},
          {"seconds", m.seconds},
          {"max_error", m.max_error},
          {"object_bytes", m.object_bytes},
          {"yardstick", m.yardstick}};
}

Measurement measurement_from(const json& message) {
  Measurement m;
  m.failure = static_cast<records::Failure>(message.at("failure").get<int>());
  m.error_code = message.at("code").get<std::string>();
  m.error_text = message.at("text").get<std::string>();
  m.seconds = message.at("seconds").get<std::vector<double>>();
  m.max_error = message.at("max_error").is_number() ? message.at("max_error").get<double>() : 0;
  m.object_bytes = message.at("object_bytes").get<std::uint64_t>();
  m.yardstick = message.at("yardstick").get<double>();
  return m;
}

std::string format_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g s", seconds);
  return text;
}

Measurement failed(records::Failure failure, std::string text, std::string code) {
  Measurement m;
  m.failure = failure;
  m.error_code = std::move(code);
  m.error_text = std::move(text);
  return m;
}

Measurement failed_by(const std::exception& e, records::Failure user_error) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return failed(records::Failure::OutOfMemory, "out of memory");
  if (const auto* u = dynamic_cast<const UserError*>(&e))
    return failed(u->code() == code::X002 ? records::Failure::OutOfMemory : user_error, e.what(),
                  std::string(describe(u->code()).id));
  return failed(records::Failure::Other, e.what());
}

}  // namespace lathe::tuner

namespace lathe {

std::optional<int> serve_as_worker(const std::string& role) {
  if (role == tuner::kBuildRole) return tuner::serve_builds();
  if (role == tuner::kRunRole) return tuner::serve_runs();
  return std::nullopt;
}

}  // namespace lathe
