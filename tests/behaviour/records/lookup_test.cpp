#include <random>

#include "behaviour/records/fixture.h"
#include "support/error_codes/records.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

Miss miss_of(const RecordStore& store, const Query& query) {
  Lookup found = store.lookup(query);
  REQUIRE(std::holds_alternative<Miss>(found));
  return std::get<Miss>(found);
}

}  // namespace

TEST_CASE("a trial that failed is never among the best") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  insert(store, failed(key, "a", Failure::Compile));
  Trial crashed = failed(key, "b", Failure::Crash);
  crashed.times = {1e-9};  // what it had measured when it fell over
  insert(store, crashed);

  Miss miss = miss_of(store, query_of(key_of()));
  CHECK(miss.reason == MissReason::OnlyFailures);
  CHECK(store.best(query_of(key_of()), 3).empty());

  insert(store, timed(key, "c", 2e-3));
  CHECK(best_time(store, query_of(key_of())) == 2e-3);
  auto best = store.best(query_of(key_of()), 3);
  REQUIRE(best.size() == 1);
  CHECK(best[0].scheduled == digest_of("schedule c"));
}

TEST_CASE("everything a trial holds comes back") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  Trial trial = timed(key, "a", 3e-4);
  trial.regime = Regime::Warm;
  trial.core_mhz = 3500.5;
  trial.memory_mhz = 1600;
  trial.registers = 128;
  trial.spill_bytes = 0;
  trial.shared_bytes = 49152;
  trial.seed = 0xffffffffffffffffu;
  trial.round = 7;
  trial.proposal = 113;
  trial.provenance = {"0.1.0", "19.1.7", "12.4", "550.54", "alpha", "lab"};
  trial.created_us = 1'700'000'000'000'000;
  Commit commit = insert(store, trial);

  Trial read = store.trial(commit.uids.at(0).hex());
  CHECK(read.trace == trial.trace);
  CHECK(read.scheduled == trial.scheduled);
  CHECK(read.binary == trial.binary);
  CHECK(read.times == trial.times);
  CHECK(read.p10 == 3e-4);
  CHECK(read.minimum == 3e-4);
  CHECK(read.verification.accepted);
  CHECK(read.verification.max_error == 1e-6);
  CHECK(read.verification.tolerance == 1e-4);
  CHECK(read.verification.reference == "unscheduled");
  CHECK(read.regime == Regime::Warm);
  CHECK(read.core_mhz == 3500.5);
  CHECK(read.memory_mhz == 1600.0);
  CHECK(read.registers == 128);
  CHECK(read.spill_bytes == 0);
  CHECK(read.shared_bytes == 49152);
  CHECK(read.seed == trial.seed);
  CHECK(read.round == 7);
  CHECK(read.proposal == 113);
  CHECK(read.provenance == trial.provenance);
  CHECK(read.created_us == trial.created_us);
  CHECK(read.key == key);
  CHECK_FALSE(read.stale);
  CHECK(read.servable);
  CHECK(store.trial("1").uid == read.uid);
}

TEST_CASE("p10 is the smallest sample with at least a tenth of the samples at or below it") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  for (int n : {1, 2, 9, 10, 11, 20, 21}) {
    Trial trial = timed(key, numbered("n", n), 1);
    trial.times.clear();
    for (int i = n; i >= 1; --i) trial.times.push_back(i);
    Trial read = store.trial(insert(store, trial).uids[0].hex());
    CHECK(read.p10 == (n + 9) / 10);
    CHECK(read.minimum == 1);
  }
}

TEST_CASE("each part of the key alone makes a miss that names it") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  insert(store, timed(key, "a", 1e-3));

  SECTION("another dtype is another program") {
    Miss miss = miss_of(store, query_of(key_of("conv2d(n=1,h=56,ci=64):f16")));
    CHECK(miss.reason == MissReason::NoSuchProgram);
    CHECK_FALSE(miss.parts.at(0).fits);
    CHECK(miss.parts.at(0).text.find(
              "1 other workload named 'conv2d', for example conv2d(n=1,h=56,ci=64):f32") !=
          std::string::npos);
    CHECK(miss.parts.at(1).fits);
  }
  SECTION("another target") {
    Key other = key_of();
    other.target.json = R"({"arch":"zen3","caches":{"l1":32768,"l2":1048576}})";
    other.target.fingerprint = digest_of(other.target.json);
    Miss miss = miss_of(store, query_of(other));
    CHECK(miss.reason == MissReason::OtherTarget);
    CHECK(miss.parts.at(0).fits);
    CHECK_FALSE(miss.parts.at(1).fits);
    CHECK(miss.parts.at(1).text.find("caches.l2: 1048576 here, 524288 there") != std::string::npos);
    CHECK(miss.parts.at(1).text.find("l1") == std::string::npos);
  }
  SECTION("another version of the schedule semantics") {
    Miss miss = miss_of(store, query_of(key_of("conv2d(n=1,h=56,ci=64):f32", "zen3", 2)));
    CHECK(miss.reason == MissReason::OtherSemantics);
    CHECK(miss.parts.at(1).fits);
    CHECK(miss.parts.at(2).text.find("version 2 here; the records were made under version 1") !=
          std::string::npos);
  }
  SECTION("an equal hash of a different program") {
    Key colliding = key_of();
    colliding.workload.program_json = R"({"op":"something else"})";
    Miss miss = miss_of(store, query_of(colliding));
    CHECK(miss.reason == MissReason::OtherProgram);
    KeyRef other = store.intern(colliding);
    CHECK(other.workload != key.workload);
    CHECK(miss_of(store, query_of(colliding)).reason == MissReason::NoTrials);
    insert(store, timed(other, "b", 5e-4));
    CHECK(best_time(store, query_of(colliding)) == 5e-4);
    CHECK(best_time(store, query_of(key_of())) == 1e-3);
  }
  SECTION("nothing was tried") {
    Key fresh = key_of("dense(m=8)");
    store.intern(fresh);
    CHECK(miss_of(store, query_of(fresh)).reason == MissReason::NoTrials);
  }
  CHECK(best_time(store, query_of(key_of())) == 1e-3);
}

TEST_CASE("programs that are equal up to names are one workload where the caller can tell") {
  OpenOptions options;
  options.same_program = [](const std::string& a, const std::string& b) {
    return a.substr(0, 6) == b.substr(0, 6);
  };
  RecordStore store = RecordStore::in_memory(options);
  Key first = key_of(), renamed = key_of();
  first.workload.program_json = R"({"x":"n"})";
  renamed.workload.program_json = R"({"x":"m"})";
  KeyRef key = store.intern(first);
  CHECK(store.intern(renamed) == key);
  insert(store, timed(key, "a", 1e-3));
  CHECK(best_time(store, query_of(first)) == 1e-3);
  CHECK(best_time(store, query_of(renamed)) == 1e-3);
}

TEST_CASE("ties go to the earlier trial, whatever the order of insertion") {
  for (bool later_first : {false, true}) {
    RecordStore store = RecordStore::in_memory();
    KeyRef key = store.intern(key_of());
    Trial early = timed(key, "early", 1e-3), late = timed(key, "late", 1e-3);
    early.created_us = 1000;
    late.created_us = 2000;
    insert(store, later_first ? late : early);
    insert(store, later_first ? early : late);
    Lookup found = store.lookup(query_of(key_of()));
    CHECK(std::get<Hit>(found).trial.scheduled == early.scheduled);
    CHECK(store.check().empty());
  }
}

TEST_CASE("times are compared within a regime and a host class") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  Trial warm = timed(key, "warm", 1e-4), slow_host = timed(key, "slow host", 9e-4),
        fast_host = timed(key, "fast host", 5e-4);
  warm.regime = Regime::Warm;
  slow_host.provenance.host = "slow";
  fast_host.provenance.host = "fast";
  for (const Trial& trial : {warm, slow_host, fast_host}) insert(store, trial);

  Query query = query_of(key_of());
  query.regime = Regime::Cold;
  CHECK(best_time(store, query) == 5e-4);  // any class
  query.host_class = "slow";
  CHECK(best_time(store, query) == 9e-4);
  query.host_class = "never seen";
  CHECK(best_time(store, query) == 5e-4);
  query.regime = Regime::Warm;
  CHECK(best_time(store, query) == 1e-4);
  CHECK(store.winners().size() == 3);
}

TEST_CASE("the name of a host class says how many threads there were") {
  CHECK(host_class("build7", 1) == "build7, 1 thread");
  CHECK(host_class("build7", 64) == "build7, 64 threads");
  CHECK(host_class("build7", 0) == "build7");
  for (std::int64_t threads : {1, 2, 64}) CHECK(threads_of(host_class("a, 3 threads", threads)) == threads);
  for (const char* name : {"", "build7", "rack, 2", "2 threads", "a, threads", "a, -2 threads",
                           "a, 0 threads", "a, 2 threads ", "a, 99999999999999999999 threads"})
    CHECK(threads_of(name) == 0);
}

TEST_CASE("a target with several cores is served what was tuned on as many, whatever is faster") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  Trial one = timed(key, "one", 9e-4), two = timed(key, "two", 5e-4), unknown = timed(key, "unknown", 1e-4);
  one.provenance.host_class = host_class("a", 1);
  two.provenance.host_class = host_class("a", 2);
  insert(store, one);
  Query query = query_of(key_of());
  query.regime = Regime::Cold;
  query.threads = 2;
  Hit hit = std::get<Hit>(store.lookup(query));
  CHECK(hit.trial.p10 == 9e-4);  // better than none
  CHECK_FALSE(hit.stale);
  CHECK(hit.note.find("measured with 1 thread, the target has 2 threads") != std::string::npos);
  CHECK(store.why(query).find("measured with 1 thread") != std::string::npos);

  insert(store, two);
  insert(store, unknown);
  hit = std::get<Hit>(store.lookup(query));
  CHECK(hit.trial.p10 == 5e-4);
  CHECK(hit.note.empty());
  query.threads = 1;
  CHECK(best_time(store, query) == 9e-4);
  query.threads = 0;
  CHECK(best_time(store, query) == 1e-4);
  CHECK(store.winners().size() == 3);
}

TEST_CASE("a time of cold caches is served only where it was asked for or there is no other") {
  RecordStore store = RecordStore::in_memory();
  const KeyRef key = store.intern(key_of());
  Trial cold = timed(key, "cold", 2e-4);
  cold.regime = Regime::Cold;
  insert(store, cold);
  const Hit only = std::get<Hit>(store.lookup(query_of(key_of())));
  CHECK(only.trial.scheduled == cold.scheduled);
  CHECK(only.note == "its times are of cold caches: there are none of warm ones.");
  Trial warm = timed(key, "warm", 9e-4);
  warm.regime = Regime::Warm;
  insert(store, warm);
  const Hit usual = std::get<Hit>(store.lookup(query_of(key_of())));
  CHECK(usual.trial.scheduled == warm.scheduled);
  CHECK(usual.note.empty());
  Query asked = query_of(key_of());
  asked.regime = Regime::Cold;
  CHECK(std::get<Hit>(store.lookup(asked)).trial.scheduled == cold.scheduled);
  const std::vector<KeySummary> all = store.summary();
  REQUIRE(all.size() == 1);
  CHECK(all[0].best == 9e-4);
  CHECK(all[0].best_regime == Regime::Warm);
}

TEST_CASE("a key of several names is listed with all of them") {
  OpenOptions options;
  options.same_program = [](const std::string&, const std::string&) { return true; };
  RecordStore store = RecordStore::in_memory(options);
  Key key = key_of();
  const KeyRef first = store.intern(key);
  key.workload.name = "layer";
  key.workload.spec = "layer.json";
  key.workload.program_json = R"({"other":"names"})";
  const KeyRef second = store.intern(key);
  CHECK(first.workload == second.workload);
  insert(store, timed(first, "one", 1e-3));
  const std::vector<KeySummary> all = store.summary();
  REQUIRE(all.size() == 1);
  CHECK(all[0].specs == std::vector<std::string>{key_of().workload.spec, "layer.json"});
}

TEST_CASE("a schedule that was once found wrong is not served again") {
  for (Failure failure :
       {Failure::WrongResult, Failure::OutOfBounds, Failure::IncompleteOutput, Failure::Unstable}) {
    RecordStore store = RecordStore::in_memory();
    KeyRef key = store.intern(key_of());
    bool refuted_first = failure == Failure::OutOfBounds;
    if (refuted_first) insert(store, failed(key, "a", failure));
    insert(store, timed(key, "a", 1e-3));
    insert(store, timed(key, "b", 2e-3));
    if (!refuted_first) insert(store, failed(key, "a", failure));
    CHECK(best_time(store, query_of(key_of())) == 2e-3);
    insert(store, failed(key, "b", failure));
    CHECK(miss_of(store, query_of(key_of())).reason == MissReason::OnlyRefuted);
    CHECK(store.winners().empty());
    CHECK(store.check().empty());
  }
}

TEST_CASE("whatever comes after what, each insert leaves served what the rule says of the whole") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    RecordStore store = RecordStore::in_memory();
    const KeyRef key = store.intern(key_of());
    for (int i = 0; i < 14; ++i) {
      Trial trial = timed(key, "one", 1e-4 * static_cast<double>(1 + random() % 9));
      trial.regime = random() % 2 ? Regime::Cold : Regime::Warm;
      trial.provenance.host = random() % 2 ? "alpha" : "beta";
      trial.provenance.lathe = random() % 2 ? "0.1.0" : "0.2.0";
      trial.created_us = 1000 + i;
      if (random() % 6 == 0) {
        trial.failure = random() % 2 ? Failure::WrongResult : Failure::Crash;
        trial.times.clear();
        trial.verification.accepted = false;
      }
      insert(store, trial);
      Provenance now;
      now.lathe = random() % 2 ? "0.1.0" : "0.2.0";
      if (random() % 4 == 0) store.mark_stale_times(now);
      INFO("round " << round << ", trial " << i);
      REQUIRE(store.check() == std::vector<std::string>());
    }
  }
}

TEST_CASE("a crash or a time-out does not refute a schedule") {
  for (Failure failure : {Failure::Crash, Failure::Timeout, Failure::OutOfMemory, Failure::Other}) {
    RecordStore store = RecordStore::in_memory();
    KeyRef key = store.intern(key_of());
    insert(store, timed(key, "a", 1e-3));
    insert(store, failed(key, "a", failure));
    CHECK(best_time(store, query_of(key_of())) == 1e-3);
  }
}

TEST_CASE("the best k schedules come in order, each once") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  for (int i = 0; i < 20; ++i) insert(store, timed(key, numbered("s", i % 5), 1e-3 * ((i * 7) % 20 + 1)));
  auto best = store.best(query_of(key_of()), 10);
  REQUIRE(best.size() == 5);
  for (std::size_t i = 1; i < best.size(); ++i) CHECK(best[i - 1].p10 < best[i].p10);
  CHECK(store.best(query_of(key_of()), 2).size() == 2);
  CHECK(store.best(query_of(key_of()), 0).empty());
}

TEST_CASE(
    "neighbours seed a search: the same program elsewhere first, then the nearest shapes; never the key "
    "itself") {
  RecordStore store = RecordStore::in_memory();
  Key here = key_of("conv2d(n=1,h=56,ci=64):f32", "zen3");
  auto add = [&](const Key& key, double seconds) { insert(store, timed(store.intern(key), "s", seconds)); };
  add(key_of("conv2d(n=1,h=7,ci=512):f32", "zen3"), 1e-3);
  add(key_of("conv2d(n=1,h=56,ci=128):f32", "zen3"), 2e-3);
  add(key_of("conv2d(n=1,h=56,ci=128):f32", "skylake"), 3e-3);
  add(key_of("conv2d(n=1,h=56,ci=64):f32", "skylake"), 4e-3);
  add(key_of("dense(m=1):f32", "zen3"), 5e-3);
  add(key_of("conv2d(n=1,h=56,ci=64):f32", "other", 9), 6e-3);
  auto near = store.nearest(here, 10);
  REQUIRE(near.size() == 4);
  CHECK(near[0].trial.p10 == 4e-3);
  CHECK(near[0].same_program);
  CHECK(near[1].trial.p10 == 2e-3);
  CHECK(near[1].same_target);
  CHECK(near[2].trial.p10 == 1e-3);
  CHECK(near[3].trial.p10 == 3e-3);
  CHECK(store.nearest(here, 1).size() == 1);
  CHECK(std::holds_alternative<Miss>(store.lookup(query_of(here))));

  add(here, 1e-4);
  CHECK(store.nearest(here, 10).size() == 4);
}

TEST_CASE("a trial is found by number and by the head of its id") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  for (int i = 0; i < 50; ++i) insert(store, timed(key, std::to_string(i), 1e-3));
  Trial trial = store.trial("17");
  CHECK(store.trial(trial.uid.hex()).id == 17);
  CHECK_THROWS_AS(store.trial("123456"), RecordError);
  CHECK_THROWS_AS(store.trial("99999999999999999999"), RecordError);
}

TEST_CASE("the head of an id is found where all its digits are decimal") {
  RecordStore store = RecordStore::in_memory();
  KeyRef key = store.intern(key_of());
  const auto decimal = [](const Digest& uid) {
    const std::string head = uid.hex().substr(0, 6);
    return std::all_of(head.begin(), head.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  int found = 0;
  for (int i = 0; i < 200; ++i) insert(store, timed(key, std::to_string(i), 1e-3));
  store.for_each_trial({}, [&](const Trial& t) {
    if (!decimal(t.uid)) return true;
    ++found;
    CHECK(store.trial(t.uid.hex().substr(0, 6)).id == t.id);
    return true;
  });
  CHECK(found > 0);  // six in a hundred
}

TEST_CASE("a key of another store is refused, not taken for one of this store") {
  RecordStore one = RecordStore::in_memory(), two = RecordStore::in_memory();
  KeyRef key = one.intern(key_of("conv(h=1)"));
  two.intern(key_of("dense(m=1)"));
  try {
    insert(two, timed(key, "a", 1e-3));
    FAIL("written");
  } catch (const RecordError& error) {
    CHECK(error.code() == code::R012);
  }
  CHECK_THROWS_AS(two.measured(key), RecordError);
  CHECK_THROWS_AS(two.was_measured(key, digest_of("x")), RecordError);
  RecordStore moved = std::move(one);
  insert(moved, timed(key, "a", 1e-3));
  CHECK(moved.statistics().trials == 1);
}
