// The text log: deterministic, mergeable, all or nothing.

#include <algorithm>
#include <random>

#include "behaviour/records/fixture.h"
#include "support/error_codes/records.h"
#include "support/error_codes/te.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string number(std::mt19937_64& random) { return std::to_string(random() % 1000); }

Trial random_trial(const KeyRef& key, std::mt19937_64& random, int i) {
  Trial trial = timed(key, number(random), 1e-6 * static_cast<double>(1 + random() % 100000) / 3);
  if (random() % 4 == 0) trial = failed(key, number(random), static_cast<Failure>(1 + random() % 13));
  trial.created_us = 1'700'000'000'000'000 + i;
  trial.seed = random();
  trial.regime = random() % 2 ? Regime::Cold : Regime::Warm;
  trial.provenance = provenance("0." + std::to_string(random() % 3) + ".0", random() % 2 ? "alpha" : "beta");
  if (random() % 2) trial.registers = static_cast<std::int64_t>(random() % 256);
  if (random() % 2) trial.core_mhz = 0.1 * static_cast<double>(random() % 40000);
  if (random() % 8 == 0) trial.verification.max_error = std::numeric_limits<double>::infinity();
  trial.error_text += "\n\t\"quoted\" \\ \x01 \x7f \xc3\xa4 \xff";
  trial.trace = R"([["split", {"factors": [4, 8], "x": 1.50, "y": 1e3}], "\u00e4\n"])";
  if (trial.failure == Failure::None) trial.trace.insert(1, "[\"" + number(random) + "\"],");
  return trial;
}

RecordStore random_store(unsigned seed) {
  RecordStore store = RecordStore::in_memory();
  std::mt19937_64 random(seed);
  std::vector<KeyRef> keys;
  for (int i = 0; i < 4; ++i) {
    keys.push_back(
        store.intern(key_of(numbered("conv(h=", i % 2) + ")", i / 2 ? "zen3" : "skylake", 1 + i % 2)));
  }
  Session session;
  session.seed = seed;
  session.provenance = provenance();
  Digest id = store.begin_session(session);
  for (int i = 0; i < 60; ++i) {
    Trial trial = random_trial(keys[random() % keys.size()], random, i);
    if (i % 3 == 0) {
      store.commit(id, {&trial, 1}, "{\"i\":" + std::to_string(i) + "}");
    } else {
      insert(store, trial);
    }
  }
  if (seed % 2) store.end_session(id, SessionState::Finished, "done");
  return store;
}

Code import_refusal(RecordStore& store, const std::string& text) {
  try {
    import_text(store, text);
  } catch (const RecordError& error) {
    return error.code();
  }
  return code::D001;
}

}  // namespace

TEST_CASE("export, import, export gives the same bytes, the same winners and an intact store") {
  for (unsigned seed : {1u, 2u, 3u, 4u}) {
    RecordStore first = random_store(seed);
    std::string text = text_of(first);
    RecordStore second = RecordStore::in_memory();
    import_text(second, text);
    CHECK(text_of(second) == text);
    CHECK(second.check() == std::vector<std::string>{});
    CHECK(first.check() == std::vector<std::string>{});
    CHECK(second.digest() == first.digest());
    CHECK(text_of(second, {.filter = {}, .winners_only = true}) ==
          text_of(first, {.filter = {}, .winners_only = true}));
  }
}

TEST_CASE("an export is in byte order, and importing it twice changes nothing") {
  RecordStore store = random_store(5);
  std::string text = text_of(store);
  auto lines = lines_of(text);
  CHECK(std::is_sorted(lines.begin(), lines.end()));
  ImportReport again = import_text(store, text);
  CHECK(again.trials == 0);
  CHECK(again.workloads == 0);
  CHECK(again.targets == 0);
  CHECK(again.sessions == 0);
  CHECK(again.known == again.lines);
  CHECK(text_of(store) == text);
}

TEST_CASE("merging does not depend on the order of logs or lines; sort -u of two logs is their merge") {
  std::string a = text_of(random_store(6)), b = text_of(random_store(8));
  RecordStore ab = RecordStore::in_memory(), ba = RecordStore::in_memory(), mixed = RecordStore::in_memory();
  import_text(ab, a), import_text(ab, b);
  import_text(ba, b), import_text(ba, a);
  auto lines = lines_of(a + b);
  std::shuffle(lines.begin(), lines.end(), std::mt19937(7));
  import_text(mixed, joined(lines));
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  CHECK(text_of(ab) == text_of(ba));
  CHECK(text_of(mixed) == text_of(ab));
  CHECK(joined(lines) == text_of(ab));
  CHECK(ab.check().empty());
  CHECK(mixed.check().empty());
}

TEST_CASE("when two hosts disagree, each class keeps its own best and no time is made up") {
  RecordStore slow = RecordStore::in_memory(), fast = RecordStore::in_memory();
  Trial a = timed(slow.intern(key_of()), "a", 4e-3);
  a.provenance.host = "slow";
  insert(slow, a);
  Trial b = timed(fast.intern(key_of()), "a", 1e-3);
  b.provenance.host = "fast";
  insert(fast, b);
  import_text(slow, text_of(fast));
  Query query = query_of(key_of());
  CHECK(best_time(slow, query) == 1e-3);
  query.host_class = "slow";
  CHECK(best_time(slow, query) == 4e-3);
  query.host_class = "fast";
  CHECK(best_time(slow, query) == 1e-3);
}

TEST_CASE("a renamed equal program merges into one workload that keeps both names") {
  OpenOptions options;
  options.same_program = [](const std::string& a, const std::string& b) { return a.size() == b.size(); };
  auto make = [&](const char* program, const char* name, double seconds) {
    RecordStore store = RecordStore::in_memory(options);
    Key key = key_of();
    key.workload.program_json = program;
    key.workload.name = name;
    insert(store, timed(store.intern(key), "a", seconds));
    return store;
  };
  RecordStore a = make(R"({"x":1})", "mine", 1e-3), b = make(R"({"y":1})", "yours", 2e-3);
  std::string text_a = text_of(a), text_b = text_of(b);
  import_text(a, text_b);
  import_text(b, text_a);
  CHECK(text_of(a) == text_of(b));
  CHECK(a.statistics().workloads == 1);
  CHECK(a.statistics().trials == 2);
  CHECK(a.check().empty());
}

TEST_CASE("different programs of one hash stay apart through export and import") {
  RecordStore store = RecordStore::in_memory();
  Key one = key_of(), two = key_of();
  two.workload.program_json = R"({"other":1})";
  insert(store, timed(store.intern(one), "a", 1e-3));
  insert(store, timed(store.intern(two), "b", 2e-3));
  RecordStore copy = RecordStore::in_memory();
  import_text(copy, text_of(store));
  CHECK(best_time(copy, query_of(one)) == 1e-3);
  CHECK(best_time(copy, query_of(two)) == 2e-3);
  CHECK(text_of(copy) == text_of(store));
  CHECK(copy.check().empty());
}

TEST_CASE("a text log serves production without a database") {
  RecordStore store = random_store(9);
  std::istringstream in(text_of(store, {.filter = {}, .winners_only = true}));
  RecordStore shipped = RecordStore::from_text(in, "zen3.jsonl");
  CHECK(shipped.digest() == store.digest());
  CHECK(shipped.winners().size() == store.winners().size());
  CHECK(shipped.sessions().empty());
  for (const Winner& winner : store.winners()) {
    Query query;
    query.key = {winner.workload, winner.target, winner.trial.key.semantics};
    query.regime = winner.trial.regime;
    query.host_class = winner.trial.provenance.host_class;
    CHECK(best_time(shipped, query) == winner.trial.p10);
  }
}

TEST_CASE("a bad line is refused with its place, and nothing of the log is imported") {
  std::string good = text_of(random_store(10));
  auto lines = lines_of(good);
  std::string trial = lines.back();
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = trial;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  std::vector<std::pair<std::string, Code>> bad = {
      {"{", code::R015},
      {"[]", code::R015},
      {"nonsense", code::R015},
      {"<<<<<<< ours", code::R015},
      {R"({"kind":"trial"})", code::R015},
      {R"({"lathe":1,"kind":"trail"})", code::R015},
      {R"({"lathe":0,"kind":"trial"})", code::R015},
      {R"({"lathe":2,"kind":"anything","new":true})", code::R018},
      {trial.substr(0, trial.size() / 2), code::R015},
      {replaced("\"semantics\":", "\"semantic\":"), code::R015},
      {replaced("\"created_us\":1", "\"created_us\":2"),
       code::R015},  // the content no longer is that of the id
      {replaced("\"regime\":\"", "\"regime\":\"luke"), code::R015},
      {replaced("\"verified\":", "\"verified\":1,\"x\":"), code::R015},
      {replaced("\"created_us\":", "\"created_us\":-9e400,\"y\":"), code::R015},
      {std::string(100'000, '['), code::R015},
      {"\"\xff\"", code::R015},
  };
  for (const auto& [line, code] : bad) {
    RecordStore store = RecordStore::in_memory();
    CAPTURE(line.substr(0, 80));
    CHECK(import_refusal(store, good + line + "\n" + good) == code);
    CHECK(store.statistics().trials == 0);
    CHECK(store.statistics().workloads == 0);
  }
}

TEST_CASE("a trial whose program is in neither log nor store is refused as a whole") {
  auto lines = lines_of(text_of(random_store(11)));
  RecordStore store = RecordStore::in_memory();
  CHECK(import_refusal(store, lines.back() + "\n") == code::R015);
  CHECK(store.statistics().trials == 0);
}

TEST_CASE("blank lines and carriage returns do no harm") {
  RecordStore store = random_store(12), copy = RecordStore::in_memory();
  std::string text;
  for (const std::string& line : lines_of(text_of(store))) text += line + "\r\n\n";
  import_text(copy, text);
  CHECK(text_of(copy) == text_of(store));
}

TEST_CASE("a filter exports a log that is complete in itself") {
  RecordStore store = random_store(13);
  for (Filter filter :
       {Filter{.workload = "conv(h=0)", .target = "", .semantics = {}, .session = {}},
        Filter{.workload = "conv", .target = "zen3", .semantics = {}, .session = {}},
        Filter{.workload = "", .target = "", .semantics = 2, .session = {}},
        Filter{.workload = "", .target = "", .semantics = {}, .session = store.sessions()[0].uid},
        Filter{.workload = "", .target = "", .semantics = {}, .session = {}, .timed_only = true},
        Filter{.workload = "",
        .target = "",
        .semantics = {},
        .session = {},
        .timed_only = false,
        .failed_only = true,
        .limit = 3}}) {
    RecordStore copy = RecordStore::in_memory();
    std::string text = text_of(store, {.filter = filter, .winners_only = false});
    ImportReport report = import_text(copy, text);
    std::int64_t expected = 0;
    store.for_each_trial(filter, [&](const Trial&) { return ++expected, true; });
    CHECK(report.trials == expected);
    CHECK(report.trials > 0);
    CHECK(report.trials < store.statistics().trials);
    CHECK(copy.check().empty());
  }
}

TEST_CASE("random bytes never import and never crash") {
  std::string good = text_of(random_store(14));
  std::mt19937_64 random(15);
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    RecordStore store = RecordStore::in_memory();
    try {
      import_text(store, text);
    } catch (const RecordError&) {
      CHECK(store.statistics().trials == 0);
    }
    CHECK(store.check().empty());
  }
}
