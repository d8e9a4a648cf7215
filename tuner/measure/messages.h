#pragma once
// What session and workers tell each other, as headers of frames.
//
//   role __build    ->  {program, target}                  <-  {failure, code, text, seconds} + object
//   role __run      ->  {do: "task", program, target, memory}          <-  {failure, code, text}
//                   ->  {do: "load", slot, timeout, give_up_above, cold} + object
//                                                          <-  measurement without samples, printed
//                   ->  {do: "sample", slot}               <-  {failure, text, seconds, yardstick}
//                   ->  {do: "end", slot}                  (no answer)

#include <nlohmann/json.hpp>

#include "lathe/tuner.h"

namespace lathe::tuner {

inline constexpr const char* kBuildRole = "__build";
inline constexpr const char* kRunRole = "__run";

nlohmann::json to_message(const Measurement& m);
/// Throws nlohmann::json::exception for what is no measurement.
Measurement measurement_from(const nlohmann::json& message);
Measurement failed(records::Failure failure, std::string text, std::string code = {});
/// As failed, from what was thrown while doing `what`.
Measurement failed_by(const std::exception& e, records::Failure user_error);

std::string format_seconds(double seconds);

/// The workers: serve until the session hangs up.
int serve_builds();
int serve_runs();

}  // namespace lathe::tuner
