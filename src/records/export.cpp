// Writing the text log. The lines are in byte order, so `LC_ALL=C sort -u` of two logs is a log, and equal
// content is equal bytes.

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "records/lines.h"
#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

struct TrialRow {
  Digest program, fingerprint, uid;
  std::int64_t id, workload, target, session;
  auto order() const { return std::tie(program, fingerprint, uid); }
};

std::vector<std::int64_t> ids_of(RecordStore::Impl& impl, const KeyRef& key, bool winners_only) {
  std::vector<std::int64_t> ids;
  Statement row(impl.db(),
                winners_only ? "SELECT trial FROM winners WHERE workload = ? AND target = ? AND semantics = ?"
                             : "SELECT id FROM trials WHERE workload = ? AND target = ? AND semantics = ?",
                key.workload, key.target, key.semantics);
  while (row.step()) ids.push_back(row.integer(0));
  return ids;
}

std::vector<TrialRow> rows_of(RecordStore::Impl& impl, const ExportOptions& options) {
  std::vector<TrialRow> rows;
  for (const KeyRef& key : select_keys(impl, options.filter)) {
    for (std::int64_t id : ids_of(impl, key, options.winners_only)) {
      Statement row(impl.db(), "SELECT uid, session, failure FROM trials WHERE id = ?", id);
      if (!row.step()) continue;
      bool timed = row.integer(2) == 0;
      std::int64_t session = row.integer(1);
      if ((options.filter.timed_only && !timed) || (options.filter.failed_only && timed)) continue;
      if (options.filter.session && (session == 0 || impl.session_uid(session) != *options.filter.session))
        continue;
      rows.push_back({impl.program_of(key.workload), impl.fingerprint_of(key.target), row.digest(0), id,
                      key.workload, key.target, session});
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const TrialRow& a, const TrialRow& b) { return a.order() < b.order(); });
  if (options.filter.limit > 0 && static_cast<std::int64_t>(rows.size()) > options.filter.limit)
    rows.resize(options.filter.limit);
  return rows;
}

ProgramLine program_line(RecordStore::Impl& impl, std::int64_t id) {
  Workload workload = load_workload(impl, id);
  ProgramLine line{workload.program, workload.program_json, {}};
  Statement names(impl.db(), "SELECT name, spec FROM workload_names WHERE workload = ? ORDER BY name, spec",
                  id);
  while (names.step()) line.names.emplace_back(names.string(0), names.string(1));
  return line;
}

bool everything(const ExportOptions& options) {
  const Filter& f = options.filter;
  return f.workload.empty() && f.target.empty() && !f.semantics && !f.session && !f.timed_only &&
         !f.failed_only && f.limit == 0;
}

using Sink = std::function<void(const std::string& line)>;

void put_sorted(std::vector<std::string> lines, const Sink& put) {
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) put(line);
}

void put_programs(RecordStore::Impl& impl, const std::set<std::int64_t>& workloads, const Sink& put,
                  std::map<std::int64_t, Digest>& ambiguous) {
  std::map<Digest, std::vector<std::pair<std::int64_t, Digest>>> by_hash;
  std::vector<std::string> lines;
  for (std::int64_t id : workloads) {
    ProgramLine line = program_line(impl, id);
    by_hash[line.program].emplace_back(id, digest_of(line.json));
    lines.push_back(to_line(line));
  }
  for (const auto& [hash, programs] : by_hash) {
    if (programs.size() > 1) ambiguous.insert(programs.begin(), programs.end());
  }
  put_sorted(std::move(lines), put);
}

// A session that is running here is, for whoever reads the log, one that was cut.
void put_sessions(const std::vector<Session>& sessions, const std::set<Digest>* only, const Sink& put) {
  std::vector<std::string> lines;
  for (Session session : sessions) {
    if (only && !only->contains(session.uid)) continue;
    if (session.state == SessionState::Running) session.state = SessionState::Interrupted;
    lines.push_back(to_line(SessionLine{session}));
  }
  put_sorted(std::move(lines), put);
}

void put_targets(RecordStore::Impl& impl, const std::set<std::int64_t>& targets, const Sink& put) {
  std::vector<std::string> lines;
  for (std::int64_t id : targets) {
    TargetRecord target = load_target(impl, id);
    lines.push_back(to_line(TargetLine{target.fingerprint, target.name, target.json}));
  }
  put_sorted(std::move(lines), put);
}

ExportReport write_lines(RecordStore::Impl& impl, const std::vector<Session>& sessions,
                         const ExportOptions& options, const std::function<void(std::string_view)>& write) {
  ExportReport report;
  report.digest = digest_of("");
  Sink put = [&](const std::string& line) {
    for (std::string_view text : {std::string_view(line), std::string_view("\n")}) {
      report.digest = digest_of(text, report.digest);
      write(text);
    }
    ++report.lines;
  };
  std::vector<TrialRow> rows = rows_of(impl, options);
  std::set<std::int64_t> workloads, targets;
  std::set<Digest> used;
  for (const TrialRow& row : rows) {
    workloads.insert(row.workload);
    targets.insert(row.target);
    if (row.session != 0) used.insert(impl.session_uid(row.session));
  }
  std::map<std::int64_t, Digest> ambiguous;
  put_programs(impl, workloads, put, ambiguous);
  if (!options.winners_only) put_sessions(sessions, everything(options) ? nullptr : &used, put);
  put_targets(impl, targets, put);
  for (const TrialRow& row : rows) {
    TrialLine line{row.program, row.fingerprint, std::nullopt, true, load_trial(impl, row.id)};
    if (auto text = ambiguous.find(row.workload); text != ambiguous.end()) line.program_text = text->second;
    put(to_line(line));
  }
  return report;
}

}  // namespace

ExportReport RecordStore::export_lines(std::ostream& out, const ExportOptions& options) const {
  Reading turn(*impl_);
  ExportReport report = write_lines(*impl_, sessions(), options, [&](std::string_view text) { out << text; });
  out.flush();
  if (!out)
    throw RecordError(code::R010,
                      "the text log of record store '" + path() +
                          "' could not be written in full. Check the space and permissions where it goes.");
  return report;
}

Digest RecordStore::digest(const ExportOptions& options) const {
  Reading turn(*impl_);
  return write_lines(*impl_, sessions(), options, [](std::string_view) {}).digest;
}

}  // namespace lathe::records
