#include <csignal>

#include "behaviour/records/child.h"
#include "behaviour/records/fixture.h"
#include "records/process.h"
#include "support/error_codes/records.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

Session asked() {
  Session session;
  session.seed = 42;
  session.options = R"({"rounds":3})";
  session.budget_trials = 200;
  session.budget_seconds = 1.5;
  session.provenance = provenance();
  return session;
}

}  // namespace

TEST_CASE("a session keeps what it was asked, and what it has reached") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  Digest id = store.begin_session(asked());
  std::vector<Trial> batch = {timed(key, "a", 1e-3), failed(key, "b")};
  Commit commit = store.commit(id, batch, R"({"round":1})");
  CHECK(commit.uids.size() == 2);
  CHECK(commit.duplicates == 0);
  Session read = store.session(id);
  CHECK(read.state == SessionState::Running);
  CHECK(read.seed == 42);
  CHECK(read.options == R"({"rounds":3})");
  CHECK(read.budget_trials == 200);
  CHECK(read.budget_seconds == 1.5);
  CHECK(read.progress == R"({"round":1})");
  CHECK(read.trials == 2);
  CHECK(read.pid == ::getpid());
  CHECK(store.trial(commit.uids[0].hex()).session == id);
  store.end_session(id, SessionState::Finished, "budget used");
  read = store.session(id);
  CHECK(read.state == SessionState::Finished);
  CHECK(read.reason == "budget used");
  CHECK(read.ended_us >= read.started_us);
  CHECK(store.sessions().size() == 1);
}

TEST_CASE("a batch with one bad trial leaves neither its trials nor its progress") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  Digest id = store.begin_session(asked());
  Trial unverified = timed(key, "b", 1e-3);
  unverified.verification.accepted = false;
  std::vector<Trial> batch = {timed(key, "a", 1e-3), unverified};
  CHECK_THROWS_AS(store.commit(id, batch, R"({"round":1})"), RecordError);
  CHECK(store.statistics().trials == 0);
  CHECK(store.session(id).progress == "{}");
}

TEST_CASE("a killed session is interrupted, keeps its batches, and resumes with what is left") {
  Directory directory;
  Digest id;
  RecordStore store = RecordStore::open(directory.file());
  KeyRef key = store.intern(key_of());
  pid_t child = start([&] {
    RecordStore mine = RecordStore::open(directory.file());
    KeyRef own = mine.intern(key_of());
    Digest session = mine.begin_session(asked());
    for (int batch = 0; batch < 3; ++batch) {
      std::vector<Trial> trials;
      for (int i = 0; i < 19; ++i) trials.push_back(timed(own, numbered("s", batch * 19 + i), 1e-3));
      mine.commit(session, trials, "{\"batch\":" + std::to_string(batch) + "}");
    }
    ::raise(SIGKILL);
    return 0;
  });
  CHECK(finish(child) == -SIGKILL);

  auto sessions = store.sessions();
  REQUIRE(sessions.size() == 1);
  id = sessions[0].uid;
  CHECK(sessions[0].state == SessionState::Interrupted);
  CHECK(sessions[0].trials == 57);
  CHECK(store.detect_interrupted() == 1);
  CHECK(store.detect_interrupted() == 0);
  CHECK(store.measured(key).size() == 57);
  CHECK(store.was_measured(key, digest_of("schedule s56")));
  CHECK_FALSE(store.was_measured(key, digest_of("schedule s57")));

  Session resumed = store.resume_session(id);
  CHECK(resumed.state == SessionState::Running);
  CHECK(resumed.budget_trials - resumed.trials == 143);
  CHECK(resumed.progress == R"({"batch":2})");
  CHECK(resumed.seed == 42);
  Trial next = timed(key, "s57", 1e-3);
  store.commit(id, {&next, 1}, "{}");
  CHECK(store.session(id).trials == 58);
}

TEST_CASE(
    "a session that runs cannot be taken over, and one that was taken over cannot be written by its former "
    "owner") {
  Directory directory;
  RecordStore store = RecordStore::open(directory.file());
  Digest id = store.begin_session(asked());
  auto resumes = [&] {
    RecordStore other = RecordStore::open(directory.file());
    try {
      other.resume_session(id);
    } catch (const RecordError& error) {
      return error.code() == code::R014 ? 1 : 2;
    }
    return 0;
  };
  CHECK(in_child(resumes) == 1);
  store.end_session(id, SessionState::Interrupted, "asked to stop");
  CHECK(in_child(resumes) == 0);
  CHECK_THROWS_AS(store.commit(id, {}, "{}"), RecordError);
  CHECK_THROWS_AS(store.heartbeat(id), RecordError);
  store.resume_session(id);  // the child is gone
  store.heartbeat(id);
}

TEST_CASE("an ended or unknown session is not written") {
  RecordStore store = RecordStore::in_memory();
  Digest id = store.begin_session(asked());
  store.end_session(id, SessionState::Finished);
  CHECK_THROWS_AS(store.commit(id, {}, "{}"), RecordError);
  CHECK_THROWS_AS(store.end_session(id, SessionState::Failed), RecordError);
  CHECK_THROWS_AS(store.session(digest_of("nobody")), RecordError);
  CHECK_THROWS_AS(store.resume_session(digest_of("nobody")), RecordError);
}

TEST_CASE("an owner is alive while its process is, and elsewhere while its heart beats") {
  Owner me = this_process();
  CHECK(is_alive(me, 0, 1'000'000'000'000));
  Owner reused = me;
  reused.started += 1;  // the number went to a later process
  CHECK_FALSE(is_alive(reused, 0, 0));
  pid_t child = start([] { return 0; });
  Owner gone{me.space, child, me.started};
  finish(child);
  CHECK_FALSE(is_alive(gone, 0, 0));
  Owner elsewhere{"another machine", me.pid, me.started};
  CHECK(is_alive(elsewhere, 1000, 1000 + kSilenceUs - 1));
  CHECK_FALSE(is_alive(elsewhere, 1000, 1000 + kSilenceUs));
}

TEST_CASE("a process that is dead but not yet waited for is no owner") {
  int status = 0;
  pid_t child = start([] {
    ::pause();
    return 0;
  });
  std::ifstream stat(numbered("/proc/", child) + "/stat");
  std::string field, state;
  std::int64_t started = 0;
  for (int i = 1; i <= 22; ++i) {
    stat >> field;
    if (i == 22) started = std::stoll(field);
  }
  Owner owner{this_process().space, child, started};
  CHECK(is_alive(owner, 0, 0));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  CHECK_FALSE(is_alive(owner, 0, 0));
  ::waitpid(child, &status, 0);
}
