#pragma once
// Records of the store, as builds use them: the key of a workload, and the schedule of a trial. Nothing here searches or
// times anything.
//
//     RecordStore store = RecordStore::open("tuning.db", read_only_store());
//     records::Lookup found = store.lookup(record_query(workload, target));
//     if (auto* hit = std::get_if<records::Hit>(&found)) compile(replay(workload, hit->trial), target);

#include "lathe/records.h"
#include "lathe/schedule.h"
#include "lathe/workload.h"

namespace lathe {

/// The version of what the primitives mean; part of every record's key.
inline constexpr int kScheduleSemantics = 1;

/// The key of a workload's records.
records::Key record_key(const Workload& workload, const Target& target);
/// What a build asks for: the best record under the key, with what is stale measured against `this_provenance()`. Who runs
/// kernels on data that is in no cache asks for times of that regime.
records::Query record_query(const Workload& workload, const Target& target,
                            records::Regime regime = records::Regime::Warm);

/// How Lathe opens stores: programs that are equal up to names are one workload, so that a renamed equal program finds the
/// records of the first.
records::OpenOptions store_options();
/// The same to read only; the file must be there.
records::OpenOptions read_only_store();

/// The schedule of a record, replayed and checked against its stored hash. Throws ScheduleError where a step no longer
/// applies, RecordError (LTH-U021) where the result is another program than the one that was measured.
Schedule replay(const Workload& workload, const records::Trial& trial);

/// The version of this Lathe, "0.1.0".
std::string version();
/// Versions and host of this process.
records::Provenance this_provenance();

}  // namespace lathe
