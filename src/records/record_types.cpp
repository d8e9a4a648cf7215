#include "lathe/record_types.h"

#include <array>
#include <charconv>

#include "lathe/records.h"

namespace lathe::records {

namespace {

// Names in the text log: as permanent as the numbers in the file.
constexpr std::array<std::string_view, 14> kFailures = {
    "none",    "replay",        "unproved",      "lowering",          "compile",      "load",     "crash",
    "timeout", "out_of_memory", "out_of_bounds", "incomplete_output", "wrong_result", "unstable", "other"};
constexpr std::array<std::string_view, 2> kRegimes = {"cold", "warm"};
constexpr std::array<std::string_view, 5> kStates = {"running", "finished", "interrupted", "failed",
                                                     "external"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <class Enum, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

bool differs(const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; }

}  // namespace

bool same_versions(const Provenance& trial, const Provenance& current) {
  return !differs(trial.lathe, current.lathe) && !differs(trial.llvm, current.llvm) &&
         !differs(trial.nvrtc, current.nvrtc) && !differs(trial.driver, current.driver);
}

std::string_view to_string(Failure failure) { return name_of(kFailures, failure); }
std::optional<Failure> failure_from(std::string_view text) { return find<Failure>(kFailures, text); }
std::string_view to_string(Regime regime) { return name_of(kRegimes, regime); }
std::optional<Regime> regime_from(std::string_view text) { return find<Regime>(kRegimes, text); }
std::string_view to_string(SessionState state) { return name_of(kStates, state); }
std::optional<SessionState> session_state_from(std::string_view text) {
  return find<SessionState>(kStates, text);
}

std::string host_class(const std::string& host, std::int64_t threads) {
  if (threads <= 0) return host;
  return host + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

std::int64_t threads_of(std::string_view host_class) {
  const std::size_t comma = host_class.rfind(", ");
  if (comma == std::string_view::npos) return 0;
  const std::string_view tail = host_class.substr(comma + 2);
  std::int64_t threads = 0;
  const auto [rest, error] = std::from_chars(tail.data(), tail.data() + tail.size(), threads);
  const std::string_view unit = tail.substr(static_cast<std::size_t>(rest - tail.data()));
  return error == std::errc() && threads > 0 && (unit == " thread" || unit == " threads") ? threads : 0;
}

bool refutes(Failure failure) {
  return failure == Failure::OutOfBounds || failure == Failure::IncompleteOutput ||
         failure == Failure::WrongResult || failure == Failure::Unstable;
}

Digest candidate_of(const Trial& trial) {
  return trial.scheduled ? *trial.scheduled : digest_of("trace:" + trial.trace);
}

std::string_view to_string(MissReason reason) {
  switch (reason) {
    case MissReason::NoSuchProgram: return "no such program";
    case MissReason::OtherProgram: return "other program of the same hash";
    case MissReason::OtherTarget: return "other target";
    case MissReason::OtherSemantics: return "other schedule semantics";
    case MissReason::NoTrials: return "no trials";
    case MissReason::OnlyFailures: return "only failures";
    case MissReason::OnlyRefuted: return "only refuted schedules";
    case MissReason::OnlyStale: return "only stale times";
  }
  return "unknown";
}

}  // namespace lathe::records
