// Processes that are killed at any moment: what was acknowledged is there, once; what was not is absent as a whole; everybody
// else goes on.

#include <fcntl.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "behaviour/records/child.h"
#include "behaviour/records/fixture.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

// Each writer appends the uids of a batch to a file of its own after the store has acknowledged it. One write of less than a
// page is whole or absent.
void acknowledge(int file, const Commit& commit) {
  std::string line;
  for (const Digest& uid : commit.uids) line += uid.hex() + "\n";
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(97);
}

int acknowledgements(const Directory& directory, int writer) {
  return ::open(directory.file(numbered("ack", writer)).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                0644);
}

// A session of `batches` batches of `size` trials: most with times, some failures, one refutation a batch.
int tune(const Directory& directory, int writer, int batches, int size) {
  int file = acknowledgements(directory, writer);
  RecordStore store = RecordStore::open(directory.file());
  KeyRef key = store.intern(key_of(numbered("conv(h=", writer % 3) + "):f32"));
  Session session;
  session.provenance = provenance();
  Digest id = store.begin_session(session);
  std::mt19937_64 random(static_cast<unsigned>(writer) + 1000);
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<Trial> trials;
    for (int i = 0; i < size; ++i) {
      std::string name = numbered("w", writer) + numbered("b", batch) + numbered("i", i);
      trials.push_back(i % 5 == 3 ? failed(key, name, Failure::Crash)
                                  : timed(key, name, 1e-3 + 1e-9 * static_cast<double>(random() % 100000)));
    }
    if (batch > 0)
      trials[0] = failed(key, numbered("w", writer) + numbered("b", batch - 1) + "i0", Failure::WrongResult);
    acknowledge(file, store.commit(id, trials, "{\"batch\":" + std::to_string(batch) + "}"));
  }
  store.end_session(id, SessionState::Finished);
  return 0;
}

std::vector<std::string> acknowledged(const Directory& directory, int writer) {
  std::vector<std::string> uids;
  std::ifstream in(directory.file(numbered("ack", writer)));
  for (std::string line; std::getline(in, line);) uids.push_back(line);
  return uids;
}

struct Count {
  std::map<std::string, int> trials;
  std::map<Digest, std::int64_t> of_session;
};

Count count_trials(const RecordStore& store) {
  Count count;
  store.for_each_trial({}, [&](const Trial& trial) {
    ++count.trials[trial.uid.hex()];
    ++count.of_session[*trial.session];
    return true;
  });
  return count;
}

// One round: `writers` tune, `victims` of them are killed at random moments, another process exports throughout.
void round_of_kills(int writers, int victims, int batches, int size, unsigned seed) {
  Directory directory;
  { RecordStore store = RecordStore::open(directory.file()); }
  std::vector<pid_t> children;
  for (int i = 0; i < writers; ++i)
    children.push_back(start([&, i] { return tune(directory, i, batches, size); }));
  pid_t exporter = start([&] {
    OpenOptions reading;
    reading.mode = OpenMode::ReadOnly;
    for (int i = 0; i < 5; ++i) {
      RecordStore store = RecordStore::open(directory.file(), reading);
      RecordStore copy = RecordStore::in_memory();
      import_text(copy, text_of(store));
      if (!copy.check().empty()) return 1;
    }
    return 0;
  });
  std::mt19937 random(seed);
  for (int i = 0; i < victims; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    ::kill(children[i], SIGKILL);
  }
  for (int i = 0; i < writers; ++i) {
    int status = finish(children[i]);
    CHECK((i < victims ? status == -SIGKILL || status == 0 : status == 0));
  }
  CHECK(finish(exporter) == 0);

  RecordStore store = RecordStore::open(directory.file());
  CHECK(store.check() == std::vector<std::string>{});
  Count count = count_trials(store);
  for (int i = 0; i < writers; ++i) {
    auto uids = acknowledged(directory, i);
    CHECK(std::set<std::string>(uids.begin(), uids.end()).size() == uids.size());
    if (i >= victims) CHECK(uids.size() == static_cast<std::size_t>(batches) * size);
    for (const std::string& uid : uids) {
      if (count.trials[uid] != 1) FAIL("trial " << uid << " is there " << count.trials[uid] << " times");
    }
  }
  for (const Session& session : store.sessions()) {
    CHECK(session.state != SessionState::Running);
    CHECK(session.trials % size == 0);  // whole batches
    CHECK(session.trials == count.of_session[session.uid]);
    if (session.trials > 0)
      CHECK(session.progress == "{\"batch\":" + std::to_string(session.trials / size - 1) + "}");
  }
  RecordStore copy = RecordStore::in_memory();
  import_text(copy, text_of(store));
  CHECK(copy.digest() == store.digest());
}

}  // namespace

TEST_CASE("killed writers lose nothing that was acknowledged, and the others finish") {
  round_of_kills(6, 3, 20, 8, 1);
}

TEST_CASE("eight writers, two of them killed, one record a transaction") { round_of_kills(8, 2, 60, 1, 2); }

TEST_CASE("a store that is created while its creator is killed opens for everybody else") {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    Directory directory;
    pid_t creator = start([&] { return tune(directory, 0, 50, 2); });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15'000));
    ::kill(creator, SIGKILL);
    finish(creator);
    RecordStore store = RecordStore::open(directory.file());
    KeyRef key = store.intern(key_of());
    insert(store, timed(key, "mine", 1e-3));
    CHECK(store.check().empty());
    Count count;
    store.for_each_trial({}, [&](const Trial& trial) { return ++count.trials[trial.uid.hex()], true; });
    for (const std::string& uid : acknowledged(directory, 0)) CHECK(count.trials[uid] == 1);
  }
}

TEST_CASE("twenty rounds of kills", "[.long]") {
  for (unsigned seed = 10; seed < 30; ++seed) round_of_kills(8, 4, 60, 10, seed);
}
