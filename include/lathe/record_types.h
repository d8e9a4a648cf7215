#pragma once
// What the record store keeps.
//
// A *key* says what a schedule was tuned for: program hash + target fingerprint + schedule-semantics version.
// A *trial* is one attempt under a key: a trace, and either verified times or a failure with its class and
// text. A failure never has a time, so no sentinel can be mistaken for one. *Provenance* (versions, host)
// says how a time came about; it is not part of the key: after an upgrade a trace still replays, only its
// time is stale.
//
// Programs, traces, targets and options are JSON texts made by the callers; the store knows nothing of the
// IR.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/digest.h"

namespace lathe::records {

/// What is computed. Two workloads are one when their hashes are equal *and* their programs are (see
/// OpenOptions::same_program): a colliding hash is a miss, never a foreign schedule.
struct Workload {
  Digest program;            ///< structural hash of the program as written
  std::string program_json;  ///< the whole program
  std::string name;          ///< operator, e.g. "conv2d"; what `nearest` compares
  std::string spec;          ///< e.g. "conv2d(n=1,h=56,ci=64,co=64):f32"
};

/// What it runs on.
struct TargetRecord {
  Digest fingerprint;
  std::string name;  ///< for people, e.g. "zen3"
  std::string json;  ///< the fields that the fingerprint is made of; `why` names those that differ
};

struct Key {
  Workload workload;
  TargetRecord target;
  int semantics = 0;  ///< version of what the primitives mean
};

/// A key as one open store numbers it; from `RecordStore::intern`. Another store refuses it (R012).
struct KeyRef {
  std::int64_t workload = 0, target = 0;
  int semantics = 0;
  std::uint64_t store = 0;  ///< which open store
  friend bool operator==(const KeyRef&, const KeyRef&) = default;
  friend auto operator<=>(const KeyRef&, const KeyRef&) = default;
};

/// How a time came about. A version left empty does not matter for the trial (NVRTC and driver on a CPU).
struct Provenance {
  std::string lathe, llvm, nvrtc, driver;
  std::string host;        ///< the machine's name
  std::string host_class;  ///< machines whose times may be compared; empty means the host alone
  friend bool operator==(const Provenance&, const Provenance&) = default;
  friend auto operator<=>(const Provenance&, const Provenance&) = default;
};

/// The class of `host` when parallel loops may use `threads` threads, "build7, 2 threads": times of one number of threads say
/// nothing of another. 0: not known, and the class is the host.
std::string host_class(const std::string& host, std::int64_t threads);
/// The number of threads in the name of a class; 0: it names none.
std::int64_t threads_of(std::string_view host_class);

/// Whether `trial`'s time still holds under `current`: no version known to both differs. Hosts do not enter.
bool same_versions(const Provenance& trial, const Provenance& current);

/// Why a trial has no time. Values are stored: never renumber.
enum class Failure : std::uint8_t {
  None = 0,
  Replay = 1,    ///< the trace does not apply to the program
  Unproved = 2,  ///< the bounds or race verifier could not prove it
  Lowering = 3,
  Compile = 4,
  Load = 5,  ///< loading or launching
  Crash = 6,
  Timeout = 7,
  OutOfMemory = 8,
  OutOfBounds = 9,        ///< wrote a guard zone
  IncompleteOutput = 10,  ///< left output elements unwritten
  WrongResult = 11,
  Unstable = 12,  ///< gave different results for the same input
  Other = 13,
};
std::string_view to_string(Failure failure);
std::optional<Failure> failure_from(std::string_view text);
/// Failures that show the schedule itself to be wrong. Such a candidate is not served again, whatever its
/// earlier times.
bool refutes(Failure failure);

/// Whether the caches held the operands when the clock started. Times of the two are never compared.
enum class Regime : std::uint8_t { Cold = 0, Warm = 1 };
std::string_view to_string(Regime regime);
std::optional<Regime> regime_from(std::string_view text);

struct Verification {
  bool accepted = false;
  std::optional<double> max_error;  ///< against the reference; not-a-number is kept as infinity
  std::optional<double> tolerance;
  std::string reference;  ///< what it was compared with, e.g. "unscheduled"
};

/// One attempt. Times in seconds.
struct Trial {
  std::int64_t id = 0;  ///< number in this file; set by the store
  Digest uid;           ///< the same in every file the trial is merged into; set by the store
  KeyRef key;
  std::string trace;                ///< JSON
  std::optional<Digest> scheduled;  ///< structural hash of the scheduled program; required for a time
  std::optional<Digest> binary;     ///< hash of the compiled code
  Failure failure = Failure::None;
  std::string error_code, error_text;  ///< of a failure, e.g. "LTH-L003"
  std::vector<double> times;           ///< all samples
  double p10 = 0, minimum = 0;         ///< of `times` (nearest rank); set by the store; 0 for a failure
  Verification verification;
  Regime regime = Regime::Cold;
  std::optional<double> core_mhz, memory_mhz;  ///< clocks while it ran
  std::optional<std::int64_t> registers, spill_bytes, shared_bytes;
  std::uint64_t seed = 0;
  std::int64_t round = 0, proposal = 0;  ///< of its session; proposal counts from 0
  std::optional<Digest> session;
  Provenance provenance;
  std::int64_t created_us = 0;  ///< microseconds since 1970 UTC; 0: now
  bool stale = false;           ///< measured with versions other than those of the last `mark_stale_times`
  bool servable = false;        ///< may be a winner; set by the store
};

/// What trials of the same schedule have in common: the scheduled program's hash, or, where there is none
/// because the trace did not get that far, a hash of the trace.
Digest candidate_of(const Trial& trial);

/// Values are stored: never renumber. `External`: known only because a trial of an imported log names it.
enum class SessionState : std::uint8_t {
  Running = 0,
  Finished = 1,
  Interrupted = 2,
  Failed = 3,
  External = 4
};
std::string_view to_string(SessionState state);
std::optional<SessionState> session_state_from(std::string_view text);

/// A tuning session.
struct Session {
  Digest uid;  ///< set by the store
  SessionState state = SessionState::Running;
  std::uint64_t seed = 0;
  std::string options = "{}";      ///< JSON
  std::int64_t budget_trials = 0;  ///< 0: none
  double budget_seconds = 0;       ///< 0: none
  std::string progress = "{}";     ///< JSON; what the tuner needs to go on (random state, round)
  std::string reason;              ///< why it ended
  std::int64_t trials = 0;         ///< committed so far
  std::int64_t started_us = 0, updated_us = 0, ended_us = 0;  ///< updated: last heartbeat or commit
  Provenance provenance;
  std::int64_t pid = 0;  ///< of the owner, in this file only
};

}  // namespace lathe::records
