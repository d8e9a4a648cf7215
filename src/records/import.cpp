// Reading text logs: every line is understood before the first is stored, and all are stored in one
// transaction.

#include <algorithm>
#include <istream>
#include <map>

#include "records/json_text.h"
#include "records/lines.h"
#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

struct Numbered {
  std::int64_t number;
  Line line;
};

[[noreturn]] void refuse_line(const std::string& name, std::int64_t number, const LineError& error) {
  if (error.newer_format > 0) {
    throw RecordError(
        code::R018, name + ":" + std::to_string(number) + ": the line has format " +
                        std::to_string(error.newer_format) + ", this Lathe reads up to " +
                        std::to_string(kTextFormat) +
                        "; nothing was imported. Use the newer Lathe, or let it export in the older format.");
  }
  throw RecordError(code::R015, name + ":" + std::to_string(number) + ":" + std::to_string(error.column) +
                                    ": " + error.what +
                                    "; nothing was imported. Correct or delete the line.");
}

// Completes a trial's line: derived values computed, identity checked.
void complete(TrialLine& line, std::string_view text) {
  Trial& trial = line.trial;
  double p10 = trial.p10;
  if (trial.created_us == 0) throw LineError{"\"created_us\" must be a time", column_of(text, "created_us")};
  try {
    normalise(trial);
  } catch (const Refusal& refusal) {
    throw LineError{"the trial cannot be stored: " + refusal.problem, 1};
  }
  if (p10 != 0 && p10 != trial.p10)
    throw LineError{"\"p10\" is not that of \"times\"", column_of(text, "p10")};
  Digest uid = uid_of(line.program, line.fingerprint, trial);
  if (line.has_uid && uid != trial.uid) {
    throw LineError{
        "\"id\" is not that of the line's content: the line was changed; without the member it is a trial of "
        "its own",
        column_of(text, "id")};
  }
  trial.uid = uid;
}

std::vector<Numbered> read_all(std::istream& in, const std::string& name) {
  std::vector<Numbered> lines;
  std::string text;
  for (std::int64_t number = 1; std::getline(in, text); ++number) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      Line line = parse_line(text);
      if (auto* trial = std::get_if<TrialLine>(&line)) complete(*trial, text);
      lines.push_back({number, std::move(line)});
    } catch (const LineError& error) {
      refuse_line(name, number, error);
    }
  }
  if (in.bad())
    throw RecordError(
        code::R010,
        "'" + name + "' could not be read to its end; nothing was imported. Check the file and its device.");
  return lines;
}

class Import {
 public:
  Import(RecordStore::Impl& impl, const std::string& name) : impl_(impl), name_(name) {}

  void store(const std::vector<Numbered>& lines) {
    for (const Numbered& line : lines) {
      if (auto* program = std::get_if<ProgramLine>(&line.line)) store_program(*program);
      if (auto* session = std::get_if<SessionLine>(&line.line)) store_session(session->session);
      if (auto* target = std::get_if<TargetLine>(&line.line)) store_target(*target);
    }
    for (const Numbered& line : lines) {
      if (auto* trial = std::get_if<TrialLine>(&line.line)) store_trial(*trial, line.number);
    }
    report.lines = static_cast<std::int64_t>(lines.size());
  }

  ImportReport report;

 private:
  std::int64_t rows(const char* sql) { return impl_.db().integer(sql); }

  void store_program(const ProgramLine& line) {
    std::int64_t before = rows("SELECT max(id) FROM workloads");
    std::int64_t id = intern_workload(impl_, line.program, line.json);
    ++(id > before ? report.workloads : report.known);
    for (const auto& [name, spec] : line.names)
      intern_name(impl_, id, clean_text(name, 1024), clean_text(spec, 16384));
    auto& here = programs_[line.program];
    if (std::find(here.begin(), here.end(), std::pair(digest_of(line.json), id)) == here.end())
      here.emplace_back(digest_of(line.json), id);
  }

  void store_target(const TargetLine& line) {
    std::int64_t before = rows("SELECT max(id) FROM targets");
    std::int64_t id = intern_target(impl_, line.fingerprint, clean_text(line.name, 1024), line.json);
    ++(id > before ? report.targets : report.known);
  }

  // The state that was written last stands. A session at work here is never overwritten.
  void store_session(const Session& s) {
    std::int64_t id = impl_.session_id(s.uid);
    {
      Statement row(impl_.db(), "SELECT state, updated_us FROM sessions WHERE id = ?", id);
      bool known = row.step() && static_cast<SessionState>(row.integer(0)) != SessionState::External;
      ++(known ? report.known : report.sessions);
      if (known && (row.integer(1) >= s.updated_us ||
                    static_cast<SessionState>(row.integer(0)) == SessionState::Running))
        return;
    }
    Statement(impl_.db(),
              "UPDATE sessions SET state = ?, seed = ?, options = ?, budget_trials = ?, budget_seconds = ?, "
              "progress = ?, reason = ?, trials = ?, "
              "started_us = ?, updated_us = ?, ended_us = ?, provenance = ? WHERE id = ?",
              static_cast<int>(s.state == SessionState::Running ? SessionState::Interrupted : s.state),
              static_cast<std::int64_t>(s.seed), s.options, s.budget_trials, s.budget_seconds, s.progress,
              clean_text(s.reason), s.trials, s.started_us, s.updated_us, s.ended_us,
              impl_.provenance_id(s.provenance), id)
        .run();
  }

  std::int64_t workload_of(const TrialLine& line, std::int64_t number) {
    if (auto here = programs_.find(line.program); here != programs_.end())
      return pick(here->second, line, number);
    std::vector<std::pair<Digest, std::int64_t>> known;
    Statement row(impl_.db(), "SELECT json, id FROM workloads WHERE program = ?", line.program);
    while (row.step()) known.emplace_back(digest_of(row.text(0)), row.integer(1));
    return pick(known, line, number);
  }

  std::int64_t pick(const std::vector<std::pair<Digest, std::int64_t>>& programs, const TrialLine& line,
                    std::int64_t number) {
    std::int64_t found = 0;
    for (const auto& [text, id] : programs) {
      if (line.program_text && text != *line.program_text) continue;
      if (found != 0 && found != id)
        refuse_line(
            name_, number,
            {"several programs have the hash " + line.program.hex() + ", and the line does not say which",
             1});
      found = id;
    }
    if (found == 0)
      refuse_line(name_, number,
                  {"its program " + line.program.hex() + " is neither in this log nor in the store", 1});
    return found;
  }

  std::int64_t target_of(const TrialLine& line, std::int64_t number) {
    std::int64_t target = find_target(impl_, line.fingerprint);
    if (target == 0)
      refuse_line(name_, number,
                  {"its target " + line.fingerprint.hex() + " is neither in this log nor in the store", 1});
    return target;
  }

  void store_trial(const TrialLine& line, std::int64_t number) {
    ReadyTrial ready{line.trial, {}};
    ready.trial.key.store = impl_.tag();
    ready.trial.key.workload = workload_of(line, number);
    ready.trial.key.target = target_of(line, number);
    ready.candidate = candidate_of(ready.trial);
    ++(insert_ready(impl_, ready) ? report.trials : report.known);
  }

  RecordStore::Impl& impl_;
  const std::string& name_;
  std::map<Digest, std::vector<std::pair<Digest, std::int64_t>>> programs_;  ///< of this log: text, row
};

}  // namespace

ImportReport RecordStore::import_lines(std::istream& in, const std::string& name) {
  std::vector<Numbered> lines = read_all(in, name);
  Writing turn(*impl_);
  Import import(*impl_, name);
  import.store(lines);
  turn.commit();
  return import.report;
}

}  // namespace lathe::records
