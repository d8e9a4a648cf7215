#pragma once
// What a session was asked and how far it got, as the store keeps it: so that going on with it asks the same, and counts on.

#include <string>

#include "lathe/tuner.h"

namespace lathe::tuner {

/// As the JSON text of `records::Session::options`. Sessions of one `group` share their budget.
std::string asked_of(const Workload& workload, const Target& target, const TuneOptions& options,
                     const std::string& group = {});

/// What `session` was asked, as far as a store can say: everything but the caller's own rules and functions. A member that
/// the text lacks, because an older version wrote it, has its default.
TuneOptions asked_of(const records::Session& session);

/// The specification of what it was to tune; empty where the text has none.
std::string workload_asked(const records::Session& session);

/// With how many threads its candidates ran; 0 where the text does not say.
int threads_of(const records::Session& session);

/// The group of sessions that share its budget; empty where it has one of its own.
std::string group_of(const records::Session& session);

/// How far a session has got, besides its trials.
struct Reached {
  int rounds = 0;
  double seconds = 0;          ///< that it was at work
  double default_seconds = 0;  ///< of the default schedule, measured beside the best; 0: not known
};
/// As the JSON text of `records::Session::progress`, and back; what the text lacks is 0.
std::string text_of(const Reached& reached);
Reached reached_by(const records::Session& session);

}  // namespace lathe::tuner
