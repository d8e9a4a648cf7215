// Stale times, pruning, compaction, and what the check finds.

#include <sqlite3.h>

#include <random>

#include "behaviour/records/fixture.h"
#include "support/error_codes/records.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

void sql(const std::string& path, const char* text) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  CHECK(sqlite3_exec(db, text, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

Trial timed_by(const KeyRef& key, const std::string& name, double seconds, const std::string& version) {
  Trial trial = timed(key, name, seconds);
  trial.provenance.lathe = version;
  return trial;
}

}  // namespace

TEST_CASE("after an upgrade a record still replays, and only its time is stale") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  insert(store, timed_by(key, "a", 1e-3, "0.1.0"));
  Query query = query_of(key_of());
  query.current = provenance("0.2.0");

  Hit before = std::get<Hit>(store.lookup(query));
  CHECK(before.stale);
  CHECK(before.note.find("measured with Lathe 0.1.0, LLVM 19.1.7, this is Lathe 0.2.0, LLVM 19.1.7") !=
        std::string::npos);
  CHECK(store.mark_stale_times(provenance("0.2.0")) == 1);
  CHECK(store.mark_stale_times(provenance("0.2.0")) == 0);
  CHECK(best_time(store, query) == 1e-3);
  CHECK_FALSE(store.was_measured(key, digest_of("schedule a")));

  query.accept_stale = false;
  Lookup refused = store.lookup(query);
  REQUIRE(std::holds_alternative<Miss>(refused));
  CHECK(std::get<Miss>(refused).reason == MissReason::OnlyStale);
  query.accept_stale = true;

  SECTION("the first bad candidate of a new session does not displace it") {
    insert(store, timed_by(key, "b", 9e-3, "0.2.0"));
    CHECK(best_time(store, query) == 1e-3);
    query.accept_stale = false;
    CHECK(best_time(store, query) == 9e-3);
  }
  SECTION("its new time replaces its stale one") {
    insert(store, timed_by(key, "a", 3e-3, "0.2.0"));
    CHECK(best_time(store, query) == 3e-3);
    insert(store, timed_by(key, "b", 2e-3, "0.2.0"));
    CHECK(best_time(store, query) == 2e-3);
  }
  SECTION("found wrong under the new version it is gone") {
    Trial wrong = failed(key, "a", Failure::WrongResult);
    wrong.provenance.lathe = "0.2.0";
    insert(store, wrong);
    CHECK(best_time(store, query) == 0);
  }
  SECTION("found wrong under the old version only, it counts again when the new one accepts it") {
    Trial wrong = failed(key, "a", Failure::WrongResult);
    wrong.provenance.lathe = "0.1.0";
    insert(store, wrong);
    store.mark_stale_times(provenance("0.2.0"));
    CHECK(best_time(store, query) == 0);
    insert(store, timed_by(key, "a", 3e-3, "0.2.0"));
    CHECK(best_time(store, query) == 3e-3);
  }
  CHECK(store.check() == std::vector<std::string>{});
}

TEST_CASE("a version that a trial does not know cannot make it stale") {
  Provenance cpu{"0.1.0", "19.1.7", "", "", "alpha", ""}, now{"0.1.0", "19.1.7", "12.4", "550", "beta", ""};
  CHECK(same_versions(cpu, now));
  now.llvm = "19.1.8";
  CHECK_FALSE(same_versions(cpu, now));
  Provenance gpu{"0.1.0", "", "12.4", "550", "alpha", ""};
  now.driver = "551";
  CHECK_FALSE(same_versions(gpu, now));
}

TEST_CASE("stale marks travel with the text") {
  RecordStore store = RecordStore::in_memory();
  insert(store, timed(store.intern(key_of()), "a", 1e-3));
  std::string fresh = text_of(store);
  store.mark_stale_times(provenance("0.2.0"));
  std::string stale = text_of(store);
  CHECK(stale != fresh);
  RecordStore one = RecordStore::in_memory(), two = RecordStore::in_memory();
  import_text(one, fresh), import_text(one, stale);
  import_text(two, stale), import_text(two, fresh);
  CHECK(text_of(one) == stale);
  CHECK(text_of(two) == stale);
  CHECK(one.check().empty());
}

TEST_CASE("going back to the older version makes its times count again") {
  RecordStore store = RecordStore::in_memory();
  insert(store, timed(store.intern(key_of()), "a", 1e-3));
  std::string before = text_of(store);
  CHECK(store.mark_stale_times(provenance("0.2.0")) == 1);
  CHECK(store.mark_stale_times(provenance("0.1.0")) == 1);
  CHECK(text_of(store) == before);
}

TEST_CASE("pruning keeps the best of every group, the winners, and every refutation") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  for (int i = 0; i < 20; ++i) {
    Trial cold = timed(key, numbered("s", i), 1e-3 + 1e-5 * i), warm = cold;
    warm.regime = Regime::Warm;
    insert(store, cold);
    insert(store, warm);
  }
  Trial old_crash = failed(key, "x", Failure::Crash), old_wrong = failed(key, "s0", Failure::WrongResult);
  old_crash.created_us = old_wrong.created_us = 1000;
  insert(store, old_crash);
  insert(store, old_wrong);
  insert(store, failed(key, "y", Failure::Crash));
  PruneOptions options;
  options.keep_top = 3;
  options.drop_failures_before_us = 2000;
  options.dry_run = true;
  PruneReport foreseen = store.prune(options);
  CHECK(store.statistics().trials == 43);
  options.dry_run = false;
  PruneReport report = store.prune(options);
  CHECK(report.timed_removed == 34);
  CHECK(report.failures_removed == 1);
  CHECK(report.kept == 8);
  CHECK(foreseen.timed_removed == report.timed_removed);
  CHECK(foreseen.kept == report.kept);
  CHECK(store.statistics().trials == 8);
  CHECK(best_time(store, query_of(key_of())) == 1e-3 + 1e-5);
  insert(store, timed(key, "s0", 1e-4));  // from an old log, say
  CHECK(best_time(store, query_of(key_of())) == 1e-3 + 1e-5);
  CHECK(store.check() == std::vector<std::string>{});
}

TEST_CASE("pruning with nothing asked removes nothing") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  insert(store, timed(key, "a", 1e-3));
  insert(store, failed(key, "b"));
  PruneReport report = store.prune({});
  CHECK(report.kept == 2);
  CHECK(store.statistics().trials == 2);
}

TEST_CASE("compaction gives back the space of what was pruned") {
  Directory directory;
  RecordStore store = RecordStore::open(directory.file());
  KeyRef key = store.intern(key_of());
  std::vector<Trial> trials;
  for (int i = 0; i < 2000; ++i) trials.push_back(timed(key, numbered("s", i), 1e-3 + 1e-6 * i));
  store.insert(trials);
  store.compact();
  PruneOptions options;
  options.keep_top = 1;
  store.prune(options);
  CHECK(store.compact() > 100'000);
  CHECK(store.statistics().file_bytes < 200'000);
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
  CHECK(store.check().empty());
}

TEST_CASE("statistics and summary count what is there") {
  RecordStore store = RecordStore::in_memory();
  KeyRef a = store.intern(key_of("conv(h=1)")), b = store.intern(key_of("dense(m=1)"));
  insert(store, timed(a, "s", 2e-3));
  insert(store, timed(a, "t", 1e-3));
  insert(store, failed(a, "u", Failure::Timeout));
  insert(store, failed(b, "v", Failure::Crash));
  Statistics s = store.statistics();
  CHECK(s.trials == 4);
  CHECK(s.timed == 2);
  CHECK(s.failed == 2);
  CHECK(s.workloads == 2);
  CHECK(s.targets == 1);
  CHECK(s.winners == 1);
  CHECK(s.failures ==
        std::vector<std::pair<Failure, std::int64_t>>{{Failure::Crash, 1}, {Failure::Timeout, 1}});
  auto rows = store.summary();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].workload.spec == "conv(h=1)");
  CHECK(rows[0].trials == 3);
  CHECK(rows[0].timed == 2);
  CHECK(rows[0].best == 1e-3);
  CHECK_FALSE(rows[1].best);
  CHECK(store.summary({.workload = "dense", .target = "", .semantics = {}, .session = {}}).size() == 1);
  CHECK(store.winners({.workload = "dense", .target = "", .semantics = {}, .session = {}}).empty());
  CHECK(store.winners({.workload = "", .target = "zen3", .semantics = {}, .session = {}}).size() == 1);
  CHECK(store
            .winners({.workload = key_of("conv(h=1)").workload.program.hex().substr(0, 6),
                      .target = "",
                      .semantics = {},
                      .session = {}})
            .size() == 1);
}

TEST_CASE("the check finds what was changed behind the store's back") {
  Directory directory;
  {
    RecordStore store = RecordStore::open(directory.file());
    KeyRef key = store.intern(key_of());
    for (int i = 0; i < 5; ++i) insert(store, timed(key, numbered("s", i), 1e-3 + 1e-5 * i));
    insert(store, failed(key, "s9", Failure::WrongResult));
    REQUIRE(store.check().empty());
  }
  const char* change =
      GENERATE("UPDATE trials SET p10 = p10 / 2, minimum = minimum / 2 WHERE id = 3",
               "UPDATE trials SET times = x'00' WHERE id = 2", "UPDATE trials SET trace = '[]' WHERE id = 2",
               "UPDATE trials SET trace = '{' WHERE id = 2", "UPDATE trials SET servable = 0 WHERE id = 1",
               "DELETE FROM winners", "UPDATE winners SET trial = 3", "UPDATE winners SET workload = 77",
               "DELETE FROM workloads", "DELETE FROM trials WHERE id = 1",
               "UPDATE trials SET error_text = 'x' WHERE id = 6", "UPDATE targets SET json = '{'",
               "DELETE FROM provenances");
  CAPTURE(change);
  sql(directory.file(), change);
  RecordStore store = RecordStore::open(directory.file());
  CHECK_FALSE(store.check().empty());
}

TEST_CASE("a damaged page is an error with a way out, never a crash or a silent miss of the check") {
  Directory directory;
  {
    RecordStore store = RecordStore::open(directory.file());
    KeyRef key = store.intern(key_of());
    std::vector<Trial> trials;
    for (int i = 0; i < 500; ++i) trials.push_back(timed(key, numbered("s", i), 1e-3 + 1e-5 * i));
    store.insert(trials);
  }
  std::string good = bytes_of(directory.file());
  std::mt19937_64 random(1);
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bad = good;
    std::size_t page = 1 + random() % (good.size() / 4096 - 1);
    for (int i = 0; i < 200; ++i) bad[page * 4096 + random() % 4096] = static_cast<char>(random());
    write_bytes(directory.file(), bad);
    try {
      RecordStore store = RecordStore::open(directory.file());
      if (!store.check().empty()) ++refused;
      (void)store.lookup(query_of(key_of()));
      (void)text_of(store);
    } catch (const RecordError& error) {
      CHECK((error.code() == code::R003 || error.code() == code::R013));
    }
  }
  CHECK(refused > 50);
}
