// Logs of records, and the database file itself.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lathe/record_check.h"
#include "support/text_fuzzer/formats.h"

namespace lathe::fuzz {
namespace {

const Target& zen3() {
  static const Target target = Target::parse("zen3");
  return target;
}

records::Trial timed(const records::KeyRef& key, const Schedule& s, double seconds) {
  records::Trial t;
  t.key = key;
  t.trace = s.trace().to_json(true);
  t.scheduled = structural_hash(s.program());
  t.binary = digest_of(t.trace);
  t.times = {seconds * 1.25, seconds};
  t.verification = {true, 1e-6, 1e-4, "unscheduled"};
  t.provenance = {"0.1.0", "19.1.7", "", "", "alpha", "zen3"};
  t.created_us = 1'700'000'000'000'000;
  return t;
}

/// Two workloads with a session, a timed trial each and a failure.
void fill(RecordStore& store) {
  records::Session session;
  session.provenance = {"0.1.0", "19.1.7", "", "", "alpha", "zen3"};
  session.options = R"({"workload":"matmul","round":16})";
  const Digest id = store.begin_session(session);
  for (const char* spec : {"matmul(m=6,n=17,k=5)", "softmax(m=3,n=17)"}) {
    const Workload w = Workload::parse(spec);
    const records::KeyRef key = store.intern(record_key(w, zen3()));
    records::Trial trials[] = {timed(key, w.default_schedule(zen3()), 1e-3),
                               timed(key, Schedule(w.program), 2e-3)};
    trials[1].times.clear();
    trials[1].verification = {};
    trials[1].failure = records::Failure::Crash;
    trials[1].error_text = "died of SIGSEGV";
    store.commit(id, trials, R"({"rounds":1})");
  }
  store.end_session(id, records::SessionState::Finished);
}

std::string exported(const RecordStore& store) {
  std::ostringstream out;
  store.export_lines(out);
  return out.str();
}

/// Every question that a store answers.
void ask(const RecordStore& store) {
  static const Workload w = Workload::parse("matmul(m=6,n=17,k=5)");
  store.statistics();
  store.summary();
  store.sessions();
  store.why(record_query(w, zen3()));
  store.lookup(record_query(w, zen3()));
  store.nearest(record_key(w, zen3()), 4);
  for (const CheckedRecord& r : check_records(store))
    must(r.problem.find("internal error") == std::string::npos, r.problem.c_str());
}

void read_log(const std::string& text, std::size_t) {
  std::istringstream in(text);
  RecordStore store = RecordStore::in_memory(store_options());
  store.import_lines(in, "log.jsonl");
  must(store.check().empty(), "the store that comes of it is not intact");
  ask(store);
  const std::string once = exported(store);
  std::istringstream again(once);
  must(exported(RecordStore::from_text(again, "again.jsonl", store_options())) == once,
       "exported, imported and exported it is another log");
}

Format logs() {
  RecordStore store = RecordStore::in_memory(store_options());
  fill(store);
  return {.name = "log",
          .samples = {exported(store)},
          .words = {"\n", "\"kind\":\"trial\"", "null", "1e-3", "\"inf\"", "<<<<<<<\n", "\"lathe\":2"},
          .json = true,
          .lines = true,
          .read = read_log};
}

/// A file that is gone at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lathe-fuzz-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return folder_ + "/records.db"; }

 private:
  std::string folder_;
};

void read_database(const std::string& bytes, std::size_t) {
  const TemporaryFile file;
  std::ofstream(file.path(), std::ios::binary) << bytes;
  RecordStore store = RecordStore::open(file.path(), store_options());
  const bool intact = store.check().empty();
  ask(store);
  // What is intact, its log can be imported.
  if (!intact) return;
  std::istringstream log(exported(store));
  RecordStore::from_text(log, "exported.jsonl", store_options());
}

Format databases() {
  const TemporaryFile file;
  {
    RecordStore store = RecordStore::open(file.path(), store_options());
    fill(store);
  }
  std::ifstream in(file.path(), std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return {.name = "database",
          .samples = {bytes.str()},
          .words = {std::string(8, '\0'), "\xff\xff\xff\xff", "trials", "SQLite format 3"},
          .json = false,
          .lines = false,
          .read = read_database};
}

}  // namespace

std::vector<Format> store_formats() { return {logs(), databases()}; }

}  // namespace lathe::fuzz
