// lathe_bench_records DIRECTORY [TRIALS]: how fast the record store inserts with two writers, and looks up among all of it.
//
// The two writers are processes; each inserts half of the trials, 16 a transaction, as a session's rounds do, over 100
// workloads. Then 10,000 lookups of random workloads in the full store, opened read-only.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lathe/records.h"
#include "lathe/runtime/timer.h"

using namespace lathe;
using namespace lathe::records;

namespace {

constexpr int kWorkloads = 100, kBatch = 16, kLookups = 10'000;

Key key_of(int n) {
  Key key;
  // As long as the program of a fused convolution.
  key.workload.program_json = R"({"program":")" + std::to_string(n) + std::string(6000, 'x') + R"("})";
  key.workload.program = digest_of(key.workload.program_json);
  key.workload.name = "bench";
  key.workload.spec = "bench(n=" + std::to_string(n) + "):f32";
  key.target.fingerprint = digest_of("target");
  key.target.name = "bench";
  key.target.json = "{}";
  key.semantics = 1;
  return key;
}

/// A multiplicative generator is enough: different numbers, the same each time.
double fraction(std::uint64_t n) {
  return static_cast<double>((n * 0x9E3779B97F4A7C15ULL) >> 11) / 9007199254740992.0;
}

void write_trials(const std::string& path, int writer, int trials) {
  RecordStore store = RecordStore::open(path);
  std::vector<KeyRef> keys;
  for (int i = 0; i < kWorkloads; ++i) keys.push_back(store.intern(key_of(i)));
  std::vector<Trial> batch;
  for (int i = 0; i < trials; ++i) {
    const auto n = static_cast<std::uint64_t>(i) * 2 + static_cast<std::uint64_t>(writer);
    Trial t;
    t.key = keys[static_cast<std::size_t>(i / kBatch % kWorkloads)];
    t.trace = R"({"steps":[")" + std::to_string(n) + std::string(1500, 's') + R"("]})";
    t.scheduled = digest_of(std::to_string(n));
    t.verification = {true, 0.1, 1.0, "unscheduled"};
    t.regime = Regime::Warm;
    for (int s = 0; s < 10; ++s)
      t.times.push_back(1e-3 * (1 + fraction(n * 16 + static_cast<std::uint64_t>(s))));
    t.proposal = i;
    t.provenance.host = "bench";
    batch.push_back(std::move(t));
    if (static_cast<int>(batch.size()) < kBatch && i + 1 < trials) continue;
    store.insert(batch);
    batch.clear();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: lathe_bench_records DIRECTORY [TRIALS]\n");
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/bench-records.db";
  const int trials = argc > 2 ? std::atoi(argv[2]) : 1'000'000;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);

  const runtime::Timer inserting;
  for (int writer = 0; writer < 2; ++writer) {
    if (fork() == 0) {
      write_trials(path, writer, trials / 2);
      _exit(0);
    }
  }
  for (int writer = 0; writer < 2; ++writer) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) return 1;
  }
  const double seconds = inserting.seconds();

  OpenOptions options;
  options.mode = OpenMode::ReadOnly;
  const RecordStore store = RecordStore::open(path, options);
  std::vector<Query> queries;
  for (int i = 0; i < kWorkloads; ++i) {
    queries.emplace_back();
    queries.back().key = key_of(i);
    queries.back().regime = Regime::Warm;
  }
  std::vector<double> times;
  for (int i = 0; i < kLookups; ++i) {
    const Query& q = queries[static_cast<std::size_t>(fraction(static_cast<std::uint64_t>(i)) * kWorkloads)];
    const runtime::Timer timer;
    const Lookup found = store.lookup(q);
    times.push_back(timer.seconds());
    if (!std::holds_alternative<Hit>(found)) return 1;
  }
  std::sort(times.begin(), times.end());
  std::printf("trials %lld\ninserts_per_second %.0f\nlookup_us_median %.1f\nlookup_us_p99 %.1f\n",
              static_cast<long long>(store.statistics().trials), trials / seconds,
              times[times.size() / 2] * 1e6, times[times.size() * 99 / 100] * 1e6);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  return 0;
}
