// Sessions: what was asked, how far it got, and who is at it.

#include <chrono>

#include "records/json_text.h"
#include "records/process.h"
#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

constexpr const char* kColumns =
    "SELECT uid, state, seed, options, budget_trials, budget_seconds, progress, reason, trials, started_us, "
    "updated_us, ended_us, provenance, "
    "pid, owner, pid_started FROM sessions ";

std::int64_t clock_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

[[noreturn]] void refuse_unknown(const std::string& path, const Digest& session) {
  throw RecordError(code::R014, "record store '" + path + "' has no session " + session.hex() +
                                    ". `lathe session ls` shows those it has.");
}

bool owner_lives(Statement& row) {
  return is_alive({row.string(14), row.integer(13), row.integer(15)}, row.integer(10), clock_us());
}

Session session_at(RecordStore::Impl& impl, Statement& row) {
  Session s;
  s.uid = row.digest(0);
  s.state = static_cast<SessionState>(row.integer(1));
  s.seed = static_cast<std::uint64_t>(row.integer(2));
  s.options = row.string(3);
  s.budget_trials = row.integer(4);
  s.budget_seconds = row.real(5);
  s.progress = row.string(6);
  s.reason = row.string(7);
  s.trials = row.integer(8);
  s.started_us = row.integer(9);
  s.updated_us = row.integer(10);
  s.ended_us = row.integer(11);
  if (!row.is_null(12)) s.provenance = impl.provenance(row.integer(12));
  s.pid = row.integer(13);
  if (s.state == SessionState::Running && !owner_lives(row)) s.state = SessionState::Interrupted;
  return s;
}

// One statement that fails where the session is unknown or no longer this process's: a session taken over by
// another process must not be written by its former owner, who may only have been stopped for a while.
void require_mine(RecordStore::Impl& impl, const Digest& session) {
  Statement row(impl.db(), "SELECT state, owner, pid, pid_started FROM sessions WHERE uid = ?", session);
  if (!row.step()) refuse_unknown(impl.db().path(), session);
  Owner me = this_process();
  bool mine = row.string(1) == me.space && row.integer(2) == me.pid && row.integer(3) == me.started;
  if (static_cast<SessionState>(row.integer(0)) == SessionState::Running && mine) return;
  throw RecordError(code::R014,
                    "session " + session.hex() + " of record store '" + impl.db().path() +
                        "' is not run by this process (" +
                        (mine ? "it has ended" : "process " + std::to_string(row.integer(2)) + " has it") +
                        "); nothing was written. Resume it first.");
}

}  // namespace

Digest RecordStore::begin_session(const Session& given) {
  std::string options = require_json(given.options, "the options of a session");
  std::string progress = require_json(given.progress, "the progress of a session");
  Writing turn(*impl_);
  Owner me = this_process();
  std::int64_t now = impl_->now_us();
  Provenance by = given.provenance;
  for (std::string* text : {&by.lathe, &by.llvm, &by.nvrtc, &by.driver, &by.host, &by.host_class})
    *text = clean_text(*text, 1024);
  if (by.host_class.empty()) by.host_class = by.host;
  Digest uid = digest_of(me.space + "|" + std::to_string(me.pid) + "|" + std::to_string(me.started) + "|" +
                         std::to_string(now) + "|" + options + std::to_string(given.seed));
  Statement(impl_->db(),
            "INSERT INTO sessions(uid, state, seed, options, budget_trials, budget_seconds, progress, "
            "reason, trials, started_us, updated_us, "
            "ended_us, provenance, owner, pid, pid_started) VALUES(?, 0, ?, ?, ?, ?, ?, '', 0, ?, ?, 0, ?, "
            "?, ?, ?)",
            uid, static_cast<std::int64_t>(given.seed), options, given.budget_trials, given.budget_seconds,
            progress, now, now, impl_->provenance_id(by), me.space, me.pid, me.started)
      .run();
  turn.commit();
  return uid;
}

void RecordStore::heartbeat(const Digest& session) {
  Writing turn(*impl_);
  require_mine(*impl_, session);
  Statement(impl_->db(), "UPDATE sessions SET updated_us = ? WHERE uid = ?", impl_->now_us(), session).run();
  turn.commit();
}

Commit RecordStore::commit(const Digest& session, std::span<const Trial> trials,
                           const std::string& progress_json) {
  std::string progress = require_json(progress_json, "the progress of a session");
  std::lock_guard lock(impl_->mutex);
  check_turn(*impl_, true);
  std::vector<ReadyTrial> ready;
  for (Trial trial : trials) {
    trial.session = session;
    ready.push_back(make_ready(*impl_, trial));
  }
  Commit result;
  Writing turn(*impl_);
  require_mine(*impl_, session);
  for (const ReadyTrial& trial : ready) {
    result.uids.push_back(trial.trial.uid);
    if (!insert_ready(*impl_, trial)) ++result.duplicates;
  }
  std::int64_t added = static_cast<std::int64_t>(trials.size()) - result.duplicates;
  Statement(impl_->db(),
            "UPDATE sessions SET trials = trials + ?, progress = ?, updated_us = ? WHERE uid = ?", added,
            progress, impl_->now_us(), session)
      .run();
  turn.commit();
  return result;
}

void RecordStore::end_session(const Digest& session, SessionState state, const std::string& reason) {
  if (state == SessionState::Running || state == SessionState::External) {
    throw RecordError(code::R014, "a session ends as finished, interrupted or failed, not as " +
                                      std::string(to_string(state)) + ".");
  }
  Writing turn(*impl_);
  require_mine(*impl_, session);
  std::int64_t now = impl_->now_us();
  Statement(impl_->db(),
            "UPDATE sessions SET state = ?, reason = ?, updated_us = ?, ended_us = ? WHERE uid = ?",
            static_cast<int>(state), clean_text(reason), now, now, session)
      .run();
  turn.commit();
}

Session RecordStore::resume_session(const Digest& uid) {
  Writing turn(*impl_);
  {
    Statement row(impl_->db(), (std::string(kColumns) + "WHERE uid = ?").c_str(), uid);
    if (!row.step() || static_cast<SessionState>(row.integer(1)) == SessionState::External)
      refuse_unknown(path(), uid);
    Owner me = this_process();
    bool mine = row.string(14) == me.space && row.integer(13) == me.pid && row.integer(15) == me.started;
    if (static_cast<SessionState>(row.integer(1)) == SessionState::Running && !mine && owner_lives(row)) {
      throw RecordError(
          code::R014, "session " + uid.hex() + " of record store '" + path() + "' is being run by process " +
                          std::to_string(row.integer(13)) +
                          "; nothing was changed. Stop that process first, or start a session of your own.");
    }
  }
  Owner me = this_process();
  Statement(impl_->db(),
            "UPDATE sessions SET state = 0, reason = '', updated_us = ?, ended_us = 0, owner = ?, pid = ?, "
            "pid_started = ? WHERE uid = ?",
            impl_->now_us(), me.space, me.pid, me.started, uid)
      .run();
  turn.commit();
  return session(uid);
}

std::vector<Session> RecordStore::sessions() const {
  Reading turn(*impl_);
  std::vector<Session> result;
  Statement row(impl_->db(),
                (std::string(kColumns) + "WHERE state <> 4 ORDER BY started_us DESC, uid").c_str());
  while (row.step()) result.push_back(session_at(*impl_, row));
  return result;
}

Session RecordStore::session(const Digest& uid) const {
  Reading turn(*impl_);
  Statement row(impl_->db(), (std::string(kColumns) + "WHERE uid = ? AND state <> 4").c_str(), uid);
  if (!row.step()) refuse_unknown(path(), uid);
  return session_at(*impl_, row);
}

std::int64_t RecordStore::detect_interrupted() {
  Writing turn(*impl_);
  std::vector<Digest> gone;
  {
    Statement row(impl_->db(), (std::string(kColumns) + "WHERE state = 0").c_str());
    while (row.step()) {
      if (!owner_lives(row)) gone.push_back(row.digest(0));
    }
  }
  for (const Digest& uid : gone) {
    Statement(impl_->db(), "UPDATE sessions SET state = 2 WHERE uid = ?", uid).run();
  }
  turn.commit();
  return static_cast<std::int64_t>(gone.size());
}

}  // namespace lathe::records
