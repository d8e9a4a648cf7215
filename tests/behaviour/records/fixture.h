#pragma once
// What the tests of the record store share: directories that vanish, keys, trials.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "lathe/records.h"

namespace lathe::records::testing {

inline std::string numbered(const char* stem, long number) {
  std::string text = stem;
  text += std::to_string(number);
  return text;
}

class Directory {
 public:
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lathe-records-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() {
    std::error_code ignored;
    ::chmod(path_.c_str(), 0755);
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name = "records.db") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline Key key_of(const std::string& spec = "conv2d(n=1,h=56,ci=64):f32", const std::string& target = "zen3",
                  int semantics = 1) {
  Key key;
  key.workload.program_json = R"({"op":")" + spec + R"("})";
  key.workload.program = digest_of(key.workload.program_json);
  key.workload.name = spec.substr(0, spec.find('('));
  key.workload.spec = spec;
  key.target.name = target;
  key.target.json = R"({"arch":")" + target + R"(","caches":{"l1":32768,"l2":524288}})";
  key.target.fingerprint = digest_of(key.target.json);
  key.semantics = semantics;
  return key;
}

inline Provenance provenance(const std::string& lathe = "0.1.0", const std::string& host = "alpha") {
  return {lathe, "19.1.7", "", "", host, ""};
}

/// A verified trial of the schedule called `name`.
inline Trial timed(const KeyRef& key, const std::string& name, double seconds) {
  Trial trial;
  trial.key = key;
  trial.trace = R"([["split",")" + name + R"("]])";
  trial.scheduled = digest_of("schedule " + name);
  trial.binary = digest_of("binary " + name);
  trial.times = {seconds * 1.5, seconds, seconds * 1.25};
  trial.verification = {true, 1e-6, 1e-4, "unscheduled"};
  trial.provenance = provenance();
  return trial;
}

inline Trial failed(const KeyRef& key, const std::string& name, Failure failure = Failure::Compile) {
  Trial trial = timed(key, name, 1);
  trial.times.clear();
  trial.binary.reset();
  trial.verification = {};
  trial.failure = failure;
  trial.error_code = "LTH-L001";
  trial.error_text = "it did not work: " + name;
  return trial;
}

inline Commit insert(RecordStore& store, const Trial& trial) { return store.insert({&trial, 1}); }

inline std::string text_of(const RecordStore& store, const ExportOptions& options = {}) {
  std::ostringstream out;
  store.export_lines(out, options);
  return out.str();
}

inline ImportReport import_text(RecordStore& store, const std::string& text,
                                const std::string& name = "log.jsonl") {
  std::istringstream in(text);
  return store.import_lines(in, name);
}

/// The p10 that lookup serves; 0 for a miss.
inline double best_time(const RecordStore& store, const Query& query) {
  Lookup found = store.lookup(query);
  const Hit* hit = std::get_if<Hit>(&found);
  return hit ? hit->trial.p10 : 0;
}
inline Query query_of(const Key& key) {
  Query query;
  query.key = key;
  return query;
}

}  // namespace lathe::records::testing
