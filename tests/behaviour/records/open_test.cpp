// Opening: what works where, and that a refused open leaves everything as it was.

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "behaviour/records/child.h"
#include "behaviour/records/fixture.h"
#include "records/file_state.h"
#include "records/schema.h"
#include "records/sqlite.h"
#include "support/error_codes/records.h"
#include "support/error_codes/te.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

Code refusal(const std::string& path, const OpenOptions& options = {}) {
  try {
    RecordStore::open(path, options);
  } catch (const RecordError& error) {
    return error.code();
  }
  return code::D001;
}

OpenOptions reading() {
  OpenOptions options;
  options.mode = OpenMode::ReadOnly;
  return options;
}

// Every file of the directory with its bytes.
std::string state_of(const std::string& directory) {
  std::vector<std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    entries.push_back(entry.path().filename().string() + "\n" + bytes_of(entry.path().string()));
  }
  std::sort(entries.begin(), entries.end());
  std::string all;
  for (const std::string& entry : entries) all += entry;
  return all;
}

void sql(const std::string& path, const char* text) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  CHECK(sqlite3_exec(db, text, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

void make_store(const std::string& path) {
  RecordStore store = RecordStore::open(path);
  insert(store, timed(store.intern(key_of()), "a", 1e-3));
}

}  // namespace

TEST_CASE("a store that was closed is there when it is opened again") {
  Directory directory;
  make_store(directory.file());
  RecordStore store = RecordStore::open(directory.file());
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
  CHECK(store.statistics().schema == schema_version());
  CHECK_FALSE(std::filesystem::exists(directory.file() + "-journal"));
}

TEST_CASE("a closed store is one file") {
  Directory directory;
  make_store(directory.file());
  CHECK_FALSE(std::filesystem::exists(directory.file() + "-wal"));
  CHECK_FALSE(std::filesystem::exists(directory.file() + "-shm"));
}

TEST_CASE("odd names of files are names of files") {
  Directory directory;
  for (const char* name : {":memory:", "file:x?mode=memory", "a%20b#c?d.db", "with blank.db", "ä.db"}) {
    make_store(directory.file(name));
    CHECK(std::filesystem::exists(directory.file(name)));
    RecordStore store = RecordStore::open(directory.file(name), reading());
    CHECK(best_time(store, query_of(key_of())) == 1e-3);
  }
}

TEST_CASE("what is not a store of ours is refused and left as it was") {
  Directory directory;
  std::string path = directory.file();
  Code expected = code::R002;
  SECTION("a text") { write_bytes(path, std::string(5000, 'x')); }
  SECTION("a short text") { write_bytes(path, "{\"lathe\":1}\n"); }
  SECTION("another program's database") { sql(path, "CREATE TABLE t(x); INSERT INTO t VALUES(1)"); }
  SECTION("another program's database in WAL mode") {
    sql(path, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
  }
  SECTION("another program's database without tables") {
    sql(path, "PRAGMA application_id=7; PRAGMA user_version=1");
  }
  SECTION("a newer store") {
    make_store(path);
    sql(path, "PRAGMA user_version=1000");
    expected = code::R004;
  }
  SECTION("a store cut within its header") {
    make_store(path);
    std::filesystem::resize_file(path, 60);
    expected = code::R003;
  }
  std::string before = state_of(directory.path());
  CHECK(refusal(path) == expected);
  CHECK(refusal(path, reading()) == expected);
  CHECK(state_of(directory.path()) == before);
}

TEST_CASE("a newer schema that is still in the log of a dead process is refused, and the log is kept") {
  Directory directory;
  std::string path = directory.file();
  make_store(path);
  REQUIRE(in_child([&] {
            sqlite3* db = nullptr;
            sqlite3_open(path.c_str(), &db);
            sqlite3_exec(db, "PRAGMA user_version=1000", nullptr, nullptr, nullptr);
            return 0;  // without closing
          }) == 0);
  std::string file = bytes_of(path), log = bytes_of(path + "-wal");
  REQUIRE_FALSE(log.empty());
  CHECK(refusal(path) == code::R004);
  CHECK(bytes_of(path) == file);
  CHECK(bytes_of(path + "-wal") == log);
}

TEST_CASE("an empty file becomes a store when opened for writing, and is refused when opened read-only") {
  Directory directory;
  write_bytes(directory.file(), "");
  CHECK(refusal(directory.file(), reading()) == code::R002);
  CHECK(bytes_of(directory.file()).empty());
  make_store(directory.file());
  RecordStore store = RecordStore::open(directory.file(), reading());
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
}

TEST_CASE("missing files and directories are named") {
  Directory directory;
  OpenOptions existing;
  existing.create = false;
  CHECK(refusal(directory.file(), existing) == code::R001);
  CHECK(refusal(directory.file(), reading()) == code::R001);
  CHECK(refusal(directory.file("a/b/records.db")) == code::R001);
  CHECK(refusal("") == code::R001);
  CHECK(refusal(directory.path()) == code::R010);
  CHECK(state_of(directory.path()).empty());
}

TEST_CASE("a read-only file is read, and not opened for writing, by root neither") {
  Directory directory;
  make_store(directory.file());
  ::chmod(directory.file().c_str(), 0444);
  CHECK(refusal(directory.file()) == code::R006);
  RecordStore store = RecordStore::open(directory.file(), reading());
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
}

TEST_CASE("a store in a read-only directory is read and leaves nothing behind") {
  Directory directory;
  make_store(directory.file());
  ::chmod(directory.file().c_str(), 0444);
  ::chmod(directory.path().c_str(), 0555);
  std::string before = state_of(directory.path());
  CHECK(refusal(directory.file()) == code::R006);
  CHECK(in_unprivileged_child([&] {
          RecordStore store = RecordStore::open(directory.file(), reading());
          return best_time(store, query_of(key_of())) == 1e-3 && store.check().empty() ? 0 : 1;
        }) == 0);
  CHECK(state_of(directory.path()) == before);
}

TEST_CASE("a new store in a read-only directory is refused") {
  Directory directory;
  ::chmod(directory.path().c_str(), 0555);
  CHECK(refusal(directory.file()) == code::R006);
  CHECK(state_of(directory.path()).empty());
}

TEST_CASE(
    "changes that a dead process left unmerged are merged by the next writer, and never overlooked by a "
    "reader") {
  Directory directory;
  std::string path = directory.file();
  REQUIRE(in_child([&] {
            auto* store = new RecordStore(RecordStore::open(path));
            insert(*store, timed(store->intern(key_of()), "a", 1e-3));
            return 0;  // without closing
          }) == 0);
  REQUIRE(std::filesystem::file_size(path + "-wal") > 0);

  SECTION("a reader where it can read the log") {
    RecordStore store = RecordStore::open(path, reading());
    CHECK(best_time(store, query_of(key_of())) == 1e-3);
  }
  SECTION("a reader in a read-only directory without the shared memory") {
    std::filesystem::remove(path + "-shm");
    ::chmod(directory.path().c_str(), 0555);
    CHECK(refusal(path, reading()) == code::R017);
    ::chmod(directory.path().c_str(), 0755);
  }
  RecordStore store = RecordStore::open(path);
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
  CHECK(store.check().empty());
}

TEST_CASE("a read-only store refuses to write") {
  Directory directory;
  make_store(directory.file());
  RecordStore store = RecordStore::open(directory.file(), reading());
  CHECK(store.read_only());
  try {
    store.intern(key_of());
    FAIL("written");
  } catch (const RecordError& error) {
    CHECK(error.code() == code::R011);
  }
}

TEST_CASE("network and user-space file systems are known by their magic numbers") {
  CHECK(network_file_system(0x6969) == "NFS");
  CHECK(network_file_system(0xff534d42) == "SMB (CIFS)");
  CHECK(network_file_system(0xffffffffff534d42) == "SMB (CIFS)");  // where f_type is signed
  CHECK(network_file_system(0x65735546) == "FUSE");
  CHECK(network_file_system(0x01021997) == "9P");
  for (std::uint64_t local :
       {0xef53ull, 0x58465342ull, 0x9123683eull, 0x01021994ull, 0x794c7630ull, 0x2fc12fc1ull}) {
    CHECK(network_file_system(local).empty());  // ext4, xfs, btrfs, tmpfs, overlayfs, zfs
  }
}

TEST_CASE("a writer that waits in vain says so and has written nothing") {
  Directory directory;
  OpenOptions impatient;
  impatient.busy_timeout = std::chrono::milliseconds(100);
  RecordStore store = RecordStore::open(directory.file(), impatient);
  KeyRef key = store.intern(key_of());
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(directory.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  try {
    insert(store, timed(key, "a", 1e-3));
    FAIL("written");
  } catch (const RecordError& error) {
    CHECK(error.code() == code::R009);
  }
  CHECK(best_time(store, query_of(key_of())) == 0);  // reading goes on
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  insert(store, timed(key, "a", 1e-3));
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
}

TEST_CASE("a writer waits for another one") {
  Directory directory;
  RecordStore store = RecordStore::open(directory.file());
  KeyRef key = store.intern(key_of());
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(directory.file().c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  });
  insert(store, timed(key, "a", 1e-3));
  release.join();
  sqlite3_close(other);
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
}

TEST_CASE("a store is not usable in a forked child, whose end does not harm the parent's") {
  Directory directory;
  RecordStore store = RecordStore::open(directory.file());
  KeyRef key = store.intern(key_of());
  CHECK(in_child([&] {
          RecordStore taken = std::move(store);
          try {
            insert(taken, timed(key, "a", 1e-3));
          } catch (const RecordError& error) {
            return error.code() == code::R019 ? 0 : 1;
          }
          return 2;
        }) == 0);
  insert(store, timed(key, "b", 2e-3));
  CHECK(best_time(store, query_of(key_of())) == 2e-3);
  CHECK(store.check().empty());
}

TEST_CASE("opening a store twice in a process keeps the locks of both") {
  Directory directory;
  RecordStore first = RecordStore::open(directory.file());
  first.intern(key_of());
  auto held = first.snapshot();
  { RecordStore second = RecordStore::open(directory.file()); }
  CHECK(in_child([&] {
          RecordStore other = RecordStore::open(directory.file());
          insert(other, timed(other.intern(key_of()), "a", 1e-3));
          return 0;
        }) == 0);
  CHECK(best_time(first, query_of(key_of())) == 0);  // still the state of the snapshot
  { auto gone = std::move(held); }
  CHECK(best_time(first, query_of(key_of())) == 1e-3);
}

TEST_CASE("a snapshot reads the state of one moment, and does not write") {
  Directory directory;
  RecordStore writer = RecordStore::open(directory.file());
  KeyRef key = writer.intern(key_of());
  insert(writer, timed(key, "a", 2e-3));
  RecordStore reader = RecordStore::open(directory.file());
  {
    auto held = reader.snapshot();
    Digest before = reader.digest();
    insert(writer, timed(key, "b", 1e-3));
    CHECK(best_time(reader, query_of(key_of())) == 2e-3);
    CHECK(reader.digest() == before);
    CHECK_THROWS_AS(insert(reader, timed(key, "c", 1e-4)), RecordError);
  }
  CHECK(best_time(reader, query_of(key_of())) == 1e-3);
  CHECK(reader.digest() == writer.digest());
}

TEST_CASE("writing from within a visit is refused, and nothing of it is kept") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  insert(store, timed(key, "a", 2e-3));
  store.for_each_trial({}, [&](const Trial&) {
    CHECK_THROWS_AS(insert(store, timed(key, "b", 1e-3)), RecordError);
    return true;
  });
  CHECK(store.statistics().trials == 1);
}

TEST_CASE("a store that is deleted, renamed or replaced while it is open refuses to write") {
  Directory dir;
  const std::string path = dir.file(), other = dir.file("other.db");
  for (int how = 0; how < 3; ++how) {
    RecordStore store = RecordStore::open(path);
    const KeyRef key = store.intern(key_of());
    insert(store, timed(key, "first", 1));
    if (how == 0) std::filesystem::remove(path);
    if (how == 1) std::filesystem::rename(path, other);
    if (how == 2) {
      write_bytes(dir.file("copy.db"), bytes_of(other));
      std::filesystem::rename(dir.file("copy.db"), path);
    }
    try {
      insert(store, timed(key, "second", 1));
      FAIL("was written to a file that is gone");
    } catch (const RecordError& error) {
      CHECK(error.code() == code::R020);
    }
    CHECK(store.statistics().trials == 1);
  }
}

TEST_CASE("threads take turns at one store") {
  Directory directory;
  RecordStore store = RecordStore::open(directory.file());
  KeyRef key = store.intern(key_of());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        insert(store, timed(key, numbered("s", t * 50 + i), 1e-3 + i * 1e-6));
        (void)store.lookup(query_of(key_of()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(store.statistics().trials == 200);
  CHECK(store.check().empty());
}

TEST_CASE("several processes may create one store at once") {
  Directory directory;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(start([&, i] {
      RecordStore store = RecordStore::open(directory.file());
      insert(store, timed(store.intern(key_of()), numbered("s", i), 1e-3));
      return 0;
    }));
  }
  for (pid_t child : children) CHECK(finish(child) == 0);
  RecordStore store = RecordStore::open(directory.file());
  CHECK(store.statistics().trials == 8);
  CHECK(store.check().empty());
}

TEST_CASE("processes that read the same store decide alike") {
  Directory directory;
  {
    RecordStore store = RecordStore::open(directory.file());
    for (int i = 0; i < 20; ++i) {
      KeyRef key = store.intern(key_of(numbered("conv(", i)));
      if (i % 2 == 0) insert(store, timed(key, "a", 1e-3));
    }
  }
  RecordStore mine = RecordStore::open(directory.file(), reading());
  for (int i = 0; i < 4; ++i) {
    CHECK(in_child([&, expected = mine.digest()] {
            RecordStore store = RecordStore::open(directory.file(), reading());
            return store.digest() == expected ? 0 : 1;
          }) == 0);
  }
}

TEST_CASE("a file that may not grow further refuses the batch and keeps what was acknowledged") {
  Directory directory;
  int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    RecordStore store = RecordStore::open(directory.file());
    KeyRef key = store.intern(key_of());
    rlimit limit{400'000, 400'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int acknowledged = 0;
    try {
      for (; acknowledged < 10'000; ++acknowledged)
        insert(store, timed(key, numbered("s", acknowledged), 1e-3));
      return 1;
    } catch (const RecordError& error) {
      if (error.code() != code::R008) return 2;
    }
    if (acknowledged < 10 || store.statistics().trials != acknowledged) return 3;
    return store.check().empty() ? 0 : 4;
  });
  CHECK(status == 0);
  RecordStore store = RecordStore::open(directory.file());
  CHECK(store.statistics().trials >= 10);
  CHECK(store.check().empty());
}

TEST_CASE("migrations run in order, once, and undo themselves together") {
  Directory directory;
  auto connect = [&] {
    return std::make_unique<Connection>(directory.file(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                        directory.file(), std::chrono::milliseconds(1000));
  };
  CHECK_THROWS_AS(migrate(*connect(), std::vector<Migration>{{1, "CREATE TABLE a(x INTEGER) STRICT"},
                                                             {2, "CREATE nonsense"}}),
                  RecordError);
  CHECK(connect()->integer("SELECT count(*) FROM sqlite_master") == 0);
  CHECK(connect()->integer("PRAGMA application_id") == 0);

  std::vector<Migration> steps = {{1, "CREATE TABLE a(x INTEGER) STRICT; INSERT INTO a VALUES(1)"}};
  migrate(*connect(), steps);
  CHECK(connect()->integer("PRAGMA user_version") == 1);
  steps.push_back({2, "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1"});
  steps.push_back({3, "UPDATE a SET y = y * 10"});
  migrate(*connect(), steps);
  migrate(*connect(), steps);
  CHECK(connect()->integer("SELECT y FROM a") == 20);
  CHECK(connect()->integer("PRAGMA user_version") == 3);
  steps.pop_back();
  CHECK_THROWS_AS(migrate(*connect(), steps), RecordError);
}
