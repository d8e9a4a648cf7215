// Group `tuned`: the best schedule that the database knows of each workload; what it does not know is tuned before.

#include <filesystem>

#include "../harness/placement.h"
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

/// The best record, and whether it was timed on as many threads as the problem asks for: a schedule for one is none for two.
struct Known {
  std::optional<records::Trial> trial;
  bool same_threads = false;
};

Known best_of(const RecordStore& store, const Workload& workload, const Target& target, const Problem& p) {
  records::Query query = record_query(workload, target);
  query.threads = p.threads;
  const records::Lookup found = store.lookup(query);
  const auto* hit = std::get_if<records::Hit>(&found);
  if (hit == nullptr) return {};
  const std::int64_t threads = records::threads_of(hit->trial.provenance.host_class);
  return {hit->trial, threads == p.threads || threads == 0};  // 0: not known
}

RecordStore open_store(const Problem& p) {
  records::OpenOptions options = store_options();
  if (p.trials == 0) {
    if (!std::filesystem::exists(p.records))
      throw std::runtime_error("there is no database \"" + p.records + "\"");
    options.mode = records::OpenMode::ReadOnly;
  }
  return RecordStore::open(p.records, options);
}

void tune_now(const Workload& workload, const Problem& p, RecordStore& store) {
  const CpuLimit limit(p.threads);  // a session tunes for the CPUs that it may use
  TuneOptions options;
  options.trials = p.trials;
  options.worker_command = std::filesystem::read_symlink("/proc/self/exe").string();
  tune(workload, Target::host(), options, store);
}

std::optional<Callable> tuned_kernel(const Problem& p) {
  const std::optional<Workload> workload = workload_of(p.what);
  if (!workload || p.records.empty()) return std::nullopt;
  RecordStore store = open_store(p);
  const Target target = Target::host();
  Known best = best_of(store, *workload, target, p);
  if (p.trials > 0 && !best.same_threads) {
    tune_now(*workload, p, store);
    best = best_of(store, *workload, target, p);
  }
  if (!best.same_threads) return std::nullopt;
  Callable callable = kernel_callable(p, replay(*workload, *best.trial));
  callable.trials = trials_of(store, record_key(*workload, target));
  return callable;
}

const bool joined = register_ours("tuned", "*", tuned_kernel);

}  // namespace

}  // namespace lathe::bench
