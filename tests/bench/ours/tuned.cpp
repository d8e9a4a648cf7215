// Group `tuned`: the best schedule of each workload that the database of `--db` has a record of.

#include <filesystem>

#include "kernel.h"
#include "lathe/tuner.h"
#include "specs.h"

namespace lathe::bench {

namespace {

/// Trials that the database has under the key.
int trials_of(const RecordStore& store, const records::Key& key) {
  for (const records::KeySummary& s : store.summary()) {
    if (s.workload.program == key.workload.program && s.target.fingerprint == key.target.fingerprint)
      return static_cast<int>(s.trials);
  }
  return 0;
}

std::optional<Callable> tuned_kernel(const Problem& p) {
  const std::optional<Workload> workload = workload_of(p.what);
  if (!workload || p.records.empty()) return std::nullopt;
  if (!std::filesystem::exists(p.records))
    throw std::runtime_error("there is no database \"" + p.records + "\"");
  records::OpenOptions read_only;
  read_only.mode = records::OpenMode::ReadOnly;
  const RecordStore store = RecordStore::open(p.records, read_only);
  const Target target = Target::host();
  const records::Key key = record_key(*workload, target);
  records::Query query = record_query(*workload, target);
  query.threads = p.threads;
  const records::Lookup found = store.lookup(query);
  const auto* hit = std::get_if<records::Hit>(&found);
  if (hit == nullptr) return std::nullopt;
  Callable callable = kernel_callable(p, replay(*workload, hit->trial));
  callable.trials = trials_of(store, key);
  return callable;
}

const bool joined = register_ours("tuned", "*", tuned_kernel);

}  // namespace

}  // namespace lathe::bench
