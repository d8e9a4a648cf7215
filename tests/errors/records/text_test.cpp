// What the record store says when it refuses, word for word.

#include <sqlite3.h>

#include "behaviour/records/child.h"
#include "behaviour/records/fixture.h"
#include "records/file_state.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const RecordError& error) {
    return error.what();
  }
  return "(not refused)";
}

// With the directory's name replaced by D.
std::string open_refusal(const Directory& directory, const std::string& path,
                         const OpenOptions& options = {}) {
  return replaced(refusal([&] { RecordStore::open(path, options); }), directory.path(), "D");
}

OpenOptions reading() {
  OpenOptions options;
  options.mode = OpenMode::ReadOnly;
  return options;
}

void sql(const std::string& path, const char* text) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  CHECK(sqlite3_exec(db, text, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace

TEST_CASE("texts of refused opens") {
  Directory directory;
  std::string path = directory.file();
  CHECK(open_refusal(directory, path, reading()) ==
        "record store 'D/records.db' does not exist. Correct the path, or make it with `lathe tune … --db` "
        "or `lathe db import`.  [LTH-R001]");
  CHECK(open_refusal(directory, directory.file("a/b.db")) ==
        "record store 'D/a/b.db': 'D/a' is not a directory that exists. Create it, or correct the path.  "
        "[LTH-R001]");
  CHECK(open_refusal(directory, "") ==
        "the path of the record store is empty. Name a file, for example 'records.db'.  [LTH-R001]");
  CHECK(open_refusal(directory, directory.path()) ==
        "record store 'D' is a directory. Name a file, for example 'D/records.db'.  [LTH-R010]");

  write_bytes(path,
              "some text of some length, or of none; neither is a database of SQLite, which begins with "
              "other words than these.");
  CHECK(open_refusal(directory, path) ==
        "'D/records.db' is not a database; it was left untouched. Name a file made by Lathe, or a new one; a "
        "text log (.jsonl) is read with "
        "`lathe db import`.  [LTH-R002]");
  std::filesystem::remove(path);
  sql(path, "PRAGMA application_id = 77; CREATE TABLE t(x)");
  CHECK(open_refusal(directory, path) ==
        "'D/records.db' is a database, but not a record store of Lathe (application id 77); it was left "
        "untouched. Name another file.  [LTH-R002]");
  std::filesystem::remove(path);

  { RecordStore store = RecordStore::open(path); }
  std::filesystem::resize_file(path, 50);
  CHECK(open_refusal(directory, path) ==
        "record store 'D/records.db' is damaged: it was cut to 50 bytes. Restore it from a copy or a text "
        "log (`lathe db import`).  [LTH-R003]");
  std::filesystem::remove(path);
  { RecordStore store = RecordStore::open(path); }
  sql(path, "PRAGMA user_version = 9");
  CHECK(open_refusal(directory, path) ==
        "record store 'D/records.db' has schema 9, this Lathe knows up to 1; it was left untouched. Use the "
        "newer Lathe, or let it write a text "
        "log with `lathe db export`.  [LTH-R004]");
  sql(path, "PRAGMA user_version = 0");
  CHECK(open_refusal(directory, path, reading()) ==
        "record store 'D/records.db' has schema 0, this Lathe reads 1. Open it once for writing, which "
        "brings it up to date (`lathe db check`)."
        "  [LTH-R005]");
  sql(path, "PRAGMA user_version = 1");

  ::chmod(path.c_str(), 0444);
  CHECK(open_refusal(directory, path) ==
        "record store 'D/records.db' cannot be opened for writing: the file is read-only. Open it read-only, "
        "or copy it to a place that you can "
        "write.  [LTH-R006]");
  ::chmod(path.c_str(), 0644);
  ::chmod(directory.path().c_str(), 0555);
  CHECK(open_refusal(directory, path) ==
        "record store 'D/records.db' cannot be opened for writing: its directory is read-only, and SQLite "
        "keeps its log beside the file. Open it "
        "read-only, or copy it to a place that you can write.  [LTH-R006]");
}

TEST_CASE("text of a store on a network file system") {
  CHECK_NOTHROW(refuse_file_system("D/records.db", ""));
  CHECK(refusal([] { refuse_file_system("D/records.db", network_file_system(0x6969)); }) ==
        "record store 'D/records.db' lies on a network or user-space file system (NFS), where locks and "
        "shared memory between "
        "processes do not hold, so that two writers would destroy it. Keep the store on a local disk and "
        "exchange text logs "
        "(`lathe db export`, `lathe db import`), or set trust_file_system where the file system is known to "
        "do both.  [LTH-R007]");
}

TEST_CASE("text of a log that a dead process left in a read-only directory") {
  Directory directory;
  std::string path = directory.file();
  in_child([&] {
    auto* store = new RecordStore(RecordStore::open(path));
    store->intern(key_of());
    return 0;
  });
  std::filesystem::remove(path + "-shm");
  ::chmod(directory.path().c_str(), 0555);
  CHECK(open_refusal(directory, path, reading()) ==
        "record store 'D/records.db' was left by a process that died, with changes not yet merged into the "
        "file, and a read-only open cannot merge "
        "them. Open it once for writing, or copy all its files ('D/records.db*') to a place that you can "
        "write.  [LTH-R017]");
}

TEST_CASE("text of a writer that waited in vain") {
  Directory directory;
  OpenOptions impatient;
  impatient.busy_timeout = std::chrono::milliseconds(200);
  RecordStore store = RecordStore::open(directory.file(), impatient);
  sqlite3* other = nullptr;
  sqlite3_open(directory.file().c_str(), &other);
  sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  CHECK(replaced(refusal([&] { store.intern(key_of()); }), directory.path(), "D") ==
        "record store 'D/records.db': another process has kept it locked for 0.2 s; nothing was written. Let "
        "that process finish (`lathe session "
        "ls` shows running sessions), then try again, or raise the busy timeout.  [LTH-R009]");
  sqlite3_close(other);
}

TEST_CASE("texts of writes that this store does not accept") {
  Directory directory;
  std::string path = directory.file();
  { RecordStore store = RecordStore::open(path); }
  RecordStore store = RecordStore::open(path, reading());
  CHECK(replaced(refusal([&] { store.intern(key_of()); }), directory.path(), "D") ==
        "record store 'D/records.db' was opened read-only; nothing was written. Open it for writing.  "
        "[LTH-R011]");
  RecordStore writer = RecordStore::open(path);
  auto held = writer.snapshot();
  CHECK(replaced(refusal([&] { writer.intern(key_of()); }), directory.path(), "D") ==
        "record store 'D/records.db' is held at a snapshot; nothing was written. Let the snapshot end first. "
        " [LTH-R011]");
}

TEST_CASE("texts of trials that cannot be stored") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  auto text = [&](const std::function<void(Trial&)>& spoil) {
    Trial trial = timed(key, "a", 1e-3);
    spoil(trial);
    std::string message = refusal([&] { insert(store, trial); });
    CHECK(store.statistics().trials == 0);
    return message;
  };
  CHECK(text([](Trial& t) { t.verification.accepted = false; }) ==
        "a trial cannot be stored: it has a time, but its output was not accepted by verification; nothing "
        "was written. Verify first; a rejected "
        "output is Failure::WrongResult.  [LTH-R012]");
  CHECK(text([](Trial& t) {
          t.times = {1e-3, 0};
        }) ==
        "a trial cannot be stored: a sample of its time is 0 s; nothing was written. A candidate that "
        "did not run is a failure with its "
        "class, not a number.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.times = {std::numeric_limits<double>::infinity()}; }) ==
        "a trial cannot be stored: a sample of its time is inf s; nothing was written. A candidate that did "
        "not run is a failure with its class, "
        "not a number.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.times.clear(); }) ==
        "a trial cannot be stored: it has neither times nor a class of failure; nothing was written. Give "
        "the samples, or say why there are none."
        "  [LTH-R012]");
  CHECK(text([](Trial& t) { t.scheduled.reset(); }) ==
        "a trial cannot be stored: it has a time, but no hash of the scheduled program; nothing was written. "
        "Give structural_hash of the program "
        "that was compiled.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.failure = Failure::WrongResult; }) ==
        "a trial cannot be stored: it is accepted and refuted at once; nothing was written. Say "
        "verification.accepted = false.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.trace = "[1,"; }) ==
        "a trial cannot be stored: its trace is not well-formed (not JSON at byte 4); nothing was written. "
        "Hand over what the trace's own writer "
        "makes.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.trace = std::string(4001, '[') + std::string(4001, ']'); }) ==
        "a trial cannot be stored: its trace is not well-formed (brackets nest more than 4000 deep at byte "
        "4001); nothing was written. Hand over what "
        "the trace's own writer makes.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.verification.tolerance = -1; }) ==
        "a trial cannot be stored: its tolerance is not a finite number from 0; nothing was written. Leave "
        "it out where it is unknown.  [LTH-R012]");
  CHECK(text([](Trial& t) { t.key.workload = 99; }) ==
        "a trial cannot be stored: its key is not one of this store; nothing was written. Take the key from "
        "intern() of the same store.  [LTH-R012]");
  Key bad = key_of();
  bad.workload.program_json = "{";
  CHECK(refusal([&] { store.intern(bad); }) ==
        "the program of a workload is not well-formed: not JSON at byte 2; nothing was written. Hand over "
        "the text that Lathe's own writers make."
        "  [LTH-R012]");
}

TEST_CASE("texts of trials and sessions that are not there") {
  RecordStore store = RecordStore::in_memory();
  CHECK(refusal([&] { store.trial("7"); }) ==
        "record store '(in memory)' has no trial 7. `lathe db ls` and `lathe db best` show what there is.  "
        "[LTH-R013]");
  CHECK(refusal([&] { store.trial("7fx"); }) ==
        "'7fx' names no trial: give its number, or at least the first 6 digits of its id.  [LTH-R013]");
  CHECK(refusal([&] { store.trial("abcdef0"); }) ==
        "record store '(in memory)' has no trial whose id begins with abcdef0. `lathe db best` shows ids.  "
        "[LTH-R013]");
  CHECK(refusal([&] { store.session(*Digest::parse("00000000000000000000000000000001")); }) ==
        "record store '(in memory)' has no session 00000000000000000000000000000001. `lathe session ls` "
        "shows those it has.  [LTH-R014]");
  CHECK(refusal([&] { store.end_session({}, SessionState::Running); }) ==
        "a session ends as finished, interrupted or failed, not as running.  [LTH-R014]");
}

TEST_CASE("texts of bad lines name file, line and column") {
  auto text = [&](const std::string& line) {
    RecordStore store = RecordStore::in_memory();
    return refusal([&] { import_text(store, "\n" + line + "\n", "zen3.jsonl"); });
  };
  CHECK(text("{\"lathe\":1,}") ==
        "zen3.jsonl:2:12: not JSON; nothing was imported. Correct or delete the line.  [LTH-R015]");
  CHECK(text("<<<<<<< HEAD") ==
        "zen3.jsonl:2:1: a merge was left undone here; keep the lines of both sides and delete the markers; "
        "nothing was imported. Correct or delete "
        "the line.  [LTH-R015]");
  CHECK(text("{\"lathe\":1,\"kind\":\"trail\"}") ==
        "zen3.jsonl:2:12: \"kind\" must be \"program\", \"session\", \"target\" or \"trial\"; nothing was "
        "imported. Correct or delete the line."
        "  [LTH-R015]");
  CHECK(text("{\"lathe\":1,\"kind\":\"target\",\"target\":\"12\"}") ==
        "zen3.jsonl:2:28: \"target\" must be 32 hexadecimal digits; nothing was imported. Correct or delete "
        "the line.  [LTH-R015]");
  CHECK(
      text(
          R"({"lathe":1,"kind":"target","target":"00000000000000000000000000000001","name":"a","json":{},"size":1})") ==
      "zen3.jsonl:2:93: \"size\" is not a member that format 1 has here; nothing was imported. Correct or "
      "delete the line.  [LTH-R015]");
  CHECK(text(R"({"lathe":1,"kind":"target","kind":"trial"})") ==
        "zen3.jsonl:2:12: \"kind\" is given twice; nothing was imported. Correct or delete the line.  "
        "[LTH-R015]");
  CHECK(text(R"({"lathe":1,"kind":"target","name":"\":","json":{"a":[{"b":1,"b":2}]}})") ==
        "zen3.jsonl:2:55: \"b\" is given twice; nothing was imported. Correct or delete the line.  "
        "[LTH-R015]");
  CHECK(text("{\"lathe\":2}") ==
        "zen3.jsonl:2: the line has format 2, this Lathe reads up to 1; nothing was imported. Use the newer "
        "Lathe, or let it export in the older "
        "format.  [LTH-R018]");
}

TEST_CASE("text of a line whose content is not that of its id") {
  RecordStore store = RecordStore::in_memory();
  insert(store, timed(store.intern(key_of()), "a", 1e-3));
  std::string log = replaced(text_of(store), "\"regime\":\"cold\"", "\"regime\":\"warm\"");
  std::string message = refusal([&] { import_text(store, log); });
  std::size_t column = log.substr(log.rfind("{\"lathe\":1")).find("\"id\"") + 1;
  CHECK(message == "log.jsonl:3:" + std::to_string(column) +
                       ": \"id\" is not that of the line's content: the line was changed; without the member "
                       "it is a trial of its own; nothing was "
                       "imported. Correct or delete the line.  [LTH-R015]");
}

TEST_CASE("text of a miss, part by part") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  insert(store, timed(key, "a", 1e-3));
  Query query = query_of(key_of());
  query.key.target.name = "zen4";
  query.key.target.json =
      R"({"arch":"zen3","caches":{"l1":32768,"l2":1048576},"features":["avx512f","avx"]})";
  query.key.target.fingerprint = *Digest::parse("12345678000000000000000000000000");
  std::string digits = key_of().target.fingerprint.hex().substr(0, 8);
  std::string expected =
      "no record fits (other target)\n"
      "  = program   known: conv2d(n=1,h=56,ci=64):f32\n"
      "  ! target    tuned for 1 other target, not for 'zen4' (12345678)\n"
      "    'zen3' (" +
      digits +
      "), 1 trial, differs in:\n"
      "      caches.l2: 1048576 here, 524288 there\n"
      "      features: only here avx, avx512f\n";
  CHECK(store.why(query) == expected);
  CHECK(refusal([&] { store.require(query); }) ==
        "record store '(in memory)': " + expected +
            "Tune the workload for this target, or build with the default schedule.  [LTH-R016]");

  insert(store, failed(store.intern(key_of("dense(m=1)")), "x", Failure::Timeout));
  insert(store, failed(store.intern(key_of("dense(m=1)")), "y", Failure::Crash));
  insert(store, failed(store.intern(key_of("dense(m=1)")), "z", Failure::Crash));
  CHECK(store.why(query_of(key_of("dense(m=1)"))) ==
        "no record fits (only failures)\n"
        "  = program   known: dense(m=1)\n"
        "  = target    known: 'zen3' (" +
            digits +
            ")\n"
            "  = semantics version 1\n"
            "  ! trials    3 trials, all failed:\n"
            "    crash: 2\n"
            "    timeout: 1\n");
  Trial best = store.trial("1");
  CHECK(store.why(query_of(key_of())) ==
        "trial 1 (" + best.uid.hex() +
            "): 1000 us (p10 of 3 samples, cold, on alpha)\n"
            "  = program  \n  = target   \n  = semantics\n"
            "  ! time      its times are of cold caches: there are none of warm ones.\n");
}
