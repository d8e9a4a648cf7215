#include "lathe/record_check.h"

#include "lathe/compile.h"

namespace lathe {
namespace {

std::string problem_of(const records::Winner& record, const RecordCheckOptions& options) {
  try {
    Workload w;
    w.spec = record.workload.spec;
    w.program = program_from_json(record.workload.program_json);
    if (structural_hash(w.program) != record.workload.program)
      return "the stored program has not the hash under which it is kept";
    const Schedule s = replay(w, record.trial);
    if (options.compile_for && options.compile_for->fingerprint() == record.target.fingerprint)
      compile_object(s.program(), *options.compile_for);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        // XML has no way to write the other control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

}  // namespace

std::vector<CheckedRecord> check_records(const RecordStore& store, const RecordCheckOptions& options) {
  std::vector<std::int64_t> servable;
  records::Filter timed;
  timed.timed_only = true;
  store.for_each_trial(timed, [&](const records::Trial& t) {
    if (t.servable) servable.push_back(t.id);
    return true;
  });
  std::vector<CheckedRecord> out;
  for (std::int64_t id : servable) {
    const std::optional<records::Winner> record = store.trial_with_key(id);
    if (!record) continue;
    out.push_back(
        {record->workload.spec, record->target.name, record->trial.uid.hex(), problem_of(*record, options)});
  }
  return out;
}

std::string junit_text(const std::vector<std::pair<std::string, std::vector<CheckedRecord>>>& suites) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [name, records] : suites) {
    std::size_t failures = 0;
    std::string cases;
    for (const CheckedRecord& r : records) {
      cases += "    <testcase classname=\"" + escaped(r.target) + "\" name=\"" + escaped(r.workload) + " " +
               r.trial.substr(0, 12) + "\"";
      if (r.problem.empty()) {
        cases += "/>\n";
        continue;
      }
      ++failures;
      cases += ">\n      <failure message=\"" + escaped(r.problem.substr(0, r.problem.find('\n'))) + "\">" +
               escaped(r.problem) + "</failure>\n    </testcase>\n";
    }
    out += "  <testsuite name=\"" + escaped(name) + "\" tests=\"" + std::to_string(records.size()) +
           "\" failures=\"" + std::to_string(failures) + "\">\n" + cases + "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace lathe
