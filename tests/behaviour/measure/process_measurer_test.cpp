// Candidates that misbehave: classed by what they did, with the session alive and the good ones measured.

#include "tuner/measure/process_measurer.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "lathe/schedule.h"
#include "lathe/stmt.h"
#include "lathe/te.h"
#include "lathe/tensor_intrinsic.h"

using namespace lathe;
using tuner::Candidate;

namespace {

constexpr std::int64_t N = 1000;

Program with_value(std::int64_t size, const std::function<Expr(Tensor, Var)>& value) {
  Tensor x = placeholder("x", {size}, f32);
  return program("twice", {x}, {compute("y", {size}, [&](Var i) { return value(x, i); })});
}

/// y = 2 x, which every candidate below claims to compute.
Program twice(std::int64_t size = N) {
  return with_value(size, [](Tensor x, Var i) { return x(i) * 2; });
}

Program calling(const char* function) {
  return with_value(
      N, [&](Tensor x, Var i) { return Expr(new Call(f32, Intrinsic::Extern, {x(i)}, function)); });
}

Candidate candidate(const Program& program) { return {Trace(), program, structural_hash(program)}; }

/// A good program of other code than `twice`.
Candidate good(int variant) {
  return candidate(with_value(
      N, [&](Tensor x, Var i) { return x(i) * 2 + select(i < variant, x(i) - x(i), x(i) * 0.f); }));
}

tuner::ProcessMeasurerOptions options() {
  tuner::ProcessMeasurerOptions o{.command = {.program = TEST_WORKER, .arguments = {}}};
  o.builders = 2;
  o.memory_bytes = std::uint64_t{4} << 30;
  return o;
}

const tuner::Task& task() {
  static const tuner::Task t{twice(), Target::host()};
  return t;
}

tuner::MeasureOptions patience(double timeout = 20) {
  tuner::MeasureOptions o;
  o.timeout = timeout;
  return o;
}

Measurement only(const Program& program, double timeout = 20) {
  const Candidate batch[] = {candidate(program)};
  const auto results = tuner::process_measurer(options())->measure(task(), batch, patience(timeout));
  REQUIRE(results.size() == 1);
  return results[0];
}

/// `twice` by a function of tests/support/misbehaving.cpp.
Measurement only_tensorized(const std::string& symbol, double timeout = 20) {
  register_tensor_intrinsic({symbol, twice(), symbol});
  Schedule s(twice());
  s.tensorize(s.loops<1>(s.block("y"))[0], symbol);
  return only(s.program(), timeout);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

using records::Failure;

}  // namespace

TEST_CASE("a right candidate gets at least ten samples, its object's hash, and no failure") {
  const Measurement m = only(twice());
  CAPTURE(m.error_text);
  REQUIRE(m.failure == Failure::None);
  CHECK(m.seconds.size() >= 10);
  CHECK(m.p10() > 0);
  CHECK(m.yardstick > 0);
  CHECK(m.binary.has_value());
  CHECK(m.object_bytes > 0);
}

TEST_CASE("a candidate that dies of a signal is a crash that names the signal") {
  const Measurement m = only(calling("misbehave_crash"));
  CHECK(m.failure == Failure::Crash);
  CHECK(contains(m.error_text, "SIGSEGV"));
  CHECK(m.seconds.empty());
}

TEST_CASE("what a candidate printed before it died is in the text") {
  const Measurement m = only(calling("misbehave_abort"));
  CHECK(m.failure == Failure::Crash);
  CHECK(contains(m.error_text, "SIGABRT"));
  CHECK(contains(m.error_text, "the kernel says why it aborts"));
}

TEST_CASE("a candidate that ends the process is a crash that names the code") {
  const Measurement m = only(calling("misbehave_exit"));
  CHECK(m.failure == Failure::Crash);
  CHECK(contains(m.error_text, "code 3"));
}

TEST_CASE("a candidate that hangs is timed out") {
  const Measurement m = only(calling("misbehave_hang"), 1.0);
  CHECK(m.failure == Failure::Timeout);
  CHECK(contains(m.error_text, "not done within 1 s"));
}

TEST_CASE("a candidate that writes to every open file cannot pass for a measured one") {
  const Measurement m = only(calling("misbehave_chatter"), 5);
  CHECK(m.failure != Failure::None);
  CHECK(m.seconds.empty());
}

TEST_CASE("a temporary that no memory can hold is out of memory") {
  Tensor x = placeholder("x", {N}, f32);
  const std::int64_t huge = std::int64_t{1} << 36;
  Tensor t = compute("t", {huge}, [&](Var i) { return x(i % N) * 2; });
  const Measurement m =
      only(program("twice", {x}, {compute("y", {N}, [&](Var i) { return t(i * 60000001); })}));
  CAPTURE(m.error_text);
  CHECK(m.failure == Failure::OutOfMemory);
}

TEST_CASE("a candidate that writes half of its output left it incomplete") {
  const Measurement m = only(twice(N / 2));
  CHECK(m.failure == Failure::IncompleteOutput);
  CHECK(contains(m.error_text, "500 of 1000 elements were not written, the first is element 500"));
}

TEST_CASE("a candidate that writes past its output broke the guard") {
  const Measurement m = only(twice(N + 8));
  CHECK(m.failure == Failure::OutOfBounds);
  CHECK(contains(m.error_text, "past the end"));
}

TEST_CASE("a candidate that is right for small indices alone is wrong") {
  const Measurement m =
      only(with_value(N, [](Tensor x, Var i) { return select(i < 900, x(i) * 2, x(i) * 3); }));
  CHECK(m.failure == Failure::WrongResult);
  CHECK(contains(m.error_text, "of 1000 are wrong"));
}

TEST_CASE("a candidate that is right at first and wrong later is unstable") {
  CHECK(only(calling("misbehave_later")).failure == Failure::Unstable);
}

TEST_CASE("a candidate that writes its output at the first call alone is unstable") {
  CHECK(only_tensorized("misbehave_lazy").failure == Failure::Unstable);
}

TEST_CASE("a candidate that is wrong now and then is found out") {
  CHECK(only_tensorized("misbehave_sometimes").failure == Failure::Unstable);
}

TEST_CASE("a candidate that adds to what its output holds is wrong") {
  CHECK(only_tensorized("misbehave_accumulate").failure == Failure::WrongResult);
}

TEST_CASE("a NaN that a candidate wrote is a wrong result, not an element left out") {
  const Measurement m = only_tensorized("misbehave_not_a_number");
  CHECK(m.failure == Failure::WrongResult);
  CHECK(contains(m.error_text, "element 17 is nan"));
}

TEST_CASE("a candidate that writes to an operand is out of bounds, whatever its output") {
  const Measurement m = only_tensorized("misbehave_round_operand");
  CHECK(m.failure == Failure::OutOfBounds);
  CHECK(contains(m.error_text, "\"x\" is only to be read"));
}

TEST_CASE("a candidate that takes all memory is out of memory") {
  auto o = options();
  o.memory_bytes = std::uint64_t{1} << 30;
  const Candidate batch[] = {candidate(calling("misbehave_hoard"))};
  const auto results = tuner::process_measurer(o)->measure(task(), batch, patience());
  CAPTURE(results[0].error_text);
  CHECK(results[0].failure == Failure::OutOfMemory);
}

TEST_CASE("a candidate that prints without end is stopped before it fills the memory") {
  const Measurement m = only(calling("misbehave_print"));
  CHECK(m.failure == Failure::Crash);
  CHECK(contains(m.error_text, "SIGXFSZ"));
}

TEST_CASE("what a candidate starts and leaves behind is ended with it") {
  const std::string file = std::filesystem::temp_directory_path() / ("lathe_pid_" + std::to_string(getpid()));
  setenv("MISBEHAVE_PID_FILE", file.c_str(), 1);
  only(calling("misbehave_daemon"));
  pid_t stray = 0;
  std::ifstream(file) >> stray;
  std::filesystem::remove(file);
  REQUIRE(stray > 0);
  // Killed, it may wait a while for whoever adopted it to take note.
  const auto ended = [&] {
    std::string stat;
    std::getline(std::ifstream("/proc/" + std::to_string(stray) + "/stat"), stat);
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
  };
  for (int i = 0; i < 500 && !ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(ended());
}

TEST_CASE("a candidate that ended is not waited for, whoever holds its connection") {
  const Measurement m = only(calling("misbehave_abandon"));
  CHECK(m.failure == Failure::Crash);
  CHECK(contains(m.error_text, "ended with code 4"));
}

TEST_CASE("a candidate that does not compile says what the compiler said") {
  const Measurement m = only(calling("misbehave_no_such_function"));
  CHECK((m.failure == Failure::Compile || m.failure == Failure::Load));
  CHECK(contains(m.error_text, "misbehave_no_such_function"));
}

TEST_CASE("bad candidates between good ones harm none of them, and results keep the order") {
  std::vector<Candidate> batch;
  for (int i = 0; i < 8; ++i) batch.push_back(good(i + 1));
  batch[1] = candidate(calling("misbehave_crash"));
  batch[3] = candidate(calling("misbehave_hang"));
  batch[5] = candidate(twice(N / 2));
  batch[6] = candidate(calling("misbehave_abort"));
  auto measurer = tuner::process_measurer(options());
  std::vector<Failure> told;
  tuner::MeasureOptions how = patience(6);
  how.on_result = [&](const Measurement& m) { told.push_back(m.failure); };
  const auto results = measurer->measure(task(), batch, how);
  REQUIRE(results.size() == 8);
  std::vector<Failure> failures;
  for (const Measurement& m : results) failures.push_back(m.failure);
  const Failure ok = Failure::None;
  CHECK(failures == std::vector<Failure>{ok, Failure::Crash, ok, Failure::Timeout, ok,
                                         Failure::IncompleteOutput, Failure::Crash, ok});
  CHECK(told == failures);
  // And the measurer still works.
  const Candidate again[] = {good(99)};
  CHECK(measurer->measure(task(), again, patience())[0].failure == ok);
}

TEST_CASE("a candidate that the system kills is out of memory") {
  CHECK(only(calling("misbehave_killed")).failure == Failure::OutOfMemory);
}

TEST_CASE("a candidate that takes down the process that starts candidates harms no other one") {
  const Candidate batch[] = {good(1), candidate(calling("misbehave_kill_parent")), good(2), good(3)};
  const auto results = tuner::process_measurer(options())->measure(task(), batch, patience());
  REQUIRE(results.size() == 4);
  CHECK(results[1].failure == Failure::Crash);
  CHECK(contains(results[1].error_text, "taken down with it"));
  for (int i : {0, 2, 3}) {
    CAPTURE(i, results[i].error_text);
    CHECK(results[i].failure == Failure::None);
  }
}

TEST_CASE(
    "a candidate that overwrites the reference is wrong, and the next one is compared with what is right") {
  const Candidate batch[] = {candidate(calling("misbehave_reference")), good(1)};
  const auto results = tuner::process_measurer(options())->measure(task(), batch, patience());
  REQUIRE(results.size() == 2);
  CHECK(results[0].failure != Failure::None);
  CAPTURE(results[1].error_text);
  CHECK(results[1].failure == Failure::None);
}

TEST_CASE("a candidate whose calls take a sixth of its time each is slow, not hanging") {
  const Measurement m = only_tensorized("misbehave_crawl", 5);
  CAPTURE(m.error_text);
  CHECK(m.failure == Failure::None);
  CHECK(m.p10() >= 0.8);
}

TEST_CASE("a time-out counts from a candidate's own start, however many wait before it") {
  std::vector<Candidate> batch;
  for (int i = 0; i < 8; ++i) {  // 2.4 s in all
    batch.push_back(candidate(with_value(N, [&](Tensor x, Var at) {
      return Expr(new Call(f32, Intrinsic::Extern, {x(at) * 1.f}, "misbehave_slow")) +
             select(at < i, x(at) - x(at), x(at) * 0.f);
    })));
  }
  tuner::ProcessMeasurerOptions one = options();
  one.builders = 1;
  for (const Measurement& m : tuner::process_measurer(one)->measure(task(), batch, patience(2))) {
    CAPTURE(m.error_text);
    CHECK(m.failure == Failure::None);
  }
}

TEST_CASE("schedules that differ in one option alone are other binaries, whatever their order") {
  const auto scheduled = [](const std::function<void(Schedule&, LoopRef)>& how) {
    Schedule s(twice(4096));
    auto [i] = s.loops<1>(s.block("y"));
    how(s, i);
    return Candidate{s.trace(), s.program(), structural_hash(s.program())};
  };
  std::vector<Candidate> batch;
  for (int factor : {8, 16, 64}) {
    batch.push_back(scheduled([&](Schedule& s, LoopRef i) { s.vectorize(s.split(i, {_, factor})[1]); }));
    batch.push_back(scheduled([&](Schedule& s, LoopRef i) { s.unroll(s.split(i, {_, factor})[1]); }));
    batch.push_back(scheduled([&](Schedule& s, LoopRef i) { s.parallel(s.split(i, {_, factor})[0]); }));
  }
  const tuner::Task larger{twice(4096), Target::host()};
  std::map<StructuralHash, Digest> binaries;
  for (int order = 0; order < 3; ++order) {
    std::ranges::rotate(batch, batch.begin() + 4);
    const auto results = tuner::process_measurer(options())->measure(larger, batch, patience());
    std::set<Digest> distinct;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      REQUIRE(results[i].binary);
      distinct.insert(*results[i].binary);
      CHECK(binaries.emplace(batch[i].hash, *results[i].binary).first->second == *results[i].binary);
    }
    CHECK(distinct.size() == batch.size());
  }
}

TEST_CASE("two schedules of one binary are measured once") {
  const Candidate batch[] = {candidate(twice()), candidate(twice())};
  const auto results = tuner::process_measurer(options())->measure(task(), batch, patience());
  REQUIRE(results.size() == 2);
  CHECK(results[0].binary == results[1].binary);
  CHECK(results[0].seconds == results[1].seconds);
}

TEST_CASE("a stop leaves the rest of the batch unmeasured") {
  std::vector<Candidate> batch{good(1), good(2), good(3)};
  int done = 0;
  tuner::MeasureOptions how = patience();
  how.on_result = [&](const Measurement&) { ++done; };
  how.stop = [&] { return done == 1; };
  const auto results = tuner::process_measurer(options())->measure(task(), batch, how);
  CHECK(results.size() == 1);
}

TEST_CASE("a stop ends a candidate that hangs") {
  const Candidate batch[] = {candidate(calling("misbehave_hang"))};
  tuner::MeasureOptions how = patience(1000);
  int asked = 0;
  how.stop = [&] { return ++asked > 100; };
  CHECK(tuner::process_measurer(options())->measure(task(), batch, how).empty());
}

TEST_CASE("leaders are compared in turns; a bad one among them is still classed") {
  const Candidate leaders[] = {good(3), candidate(calling("misbehave_crash")), good(5)};
  const auto results = tuner::process_measurer(options())->compare(task(), leaders, patience());
  REQUIRE(results.size() == 3);
  CHECK(results[0].seconds.size() >= 10);
  CHECK(results[1].failure == Failure::Crash);
  CHECK(results[1].seconds.empty());
  CHECK(results[2].seconds.size() >= 10);
}

TEST_CASE("caches can be cold, and then a sample is one call") {
  tuner::MeasureOptions cold = patience();
  cold.cold = true;
  const Candidate batch[] = {candidate(twice())};
  const auto results = tuner::process_measurer(options())->measure(task(), batch, cold);
  CHECK(results[0].failure == Failure::None);
  CHECK(results[0].seconds.size() >= 3);
}

TEST_CASE("what works in place is verified and timed on fresh data each time") {
  const Buffer x("x", f32, {N});
  const Var i("i");
  const Stmt halve = make_stmt<Store>(x, load(x, {i}) * 0.5f, std::vector<Expr>{i}, Expr(), false);
  const Program in_place("half", {{ParamRole::InOut, x, {}}}, {},
                         make_stmt<For>(i, make_index(N), ForKind::Serial, halve));
  const tuner::Task t{in_place, Target::host()};
  const Candidate batch[] = {candidate(in_place)};
  const auto results = tuner::process_measurer(options())->measure(t, batch, patience());
  CAPTURE(results[0].error_text);
  CHECK(results[0].failure == Failure::None);
}

TEST_CASE("a program that fails without any schedule is an error, not a failed candidate") {
  const tuner::Task bad{calling("misbehave_crash"), Target::host()};
  const Candidate batch[] = {candidate(twice())};
  auto measurer = tuner::process_measurer(options());
  CHECK_THROWS_WITH(measurer->measure(bad, batch, patience()),
                    Catch::Contains("cannot be run even without a schedule") && Catch::Contains("SIGSEGV"));
}

TEST_CASE("a worker program that is not there is an error that names it") {
  tuner::ProcessMeasurerOptions wrong = options();
  wrong.command.program = "/no/such/program";
  const Candidate batch[] = {candidate(twice())};
  auto measurer = tuner::process_measurer(wrong);
  CHECK_THROWS_WITH(measurer->measure(task(), batch, patience()), Catch::Contains("/no/such/program"));
}

TEST_CASE("all about a failed candidate can be kept") {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("lathe-failures-" + std::to_string(getpid()));
  tuner::ProcessMeasurerOptions keep = options();
  keep.keep_failures = dir.string();
  const Candidate batch[] = {good(1), candidate(twice(N / 2))};
  tuner::process_measurer(keep)->measure(task(), batch, patience());
  const std::filesystem::path kept = dir / batch[1].hash.hex();
  CHECK(std::filesystem::exists(kept / "program.json"));
  CHECK(std::filesystem::file_size(kept / "kernel.o") > 0);
  std::stringstream why;
  why << std::ifstream(kept / "failure.txt").rdbuf();
  CHECK(contains(why.str(), "incomplete_output"));
  CHECK_FALSE(std::filesystem::exists(dir / batch[0].hash.hex()));
  std::filesystem::remove_all(dir);
}

TEST_CASE("memory does not grow with the number of candidates") {
  auto measurer = tuner::process_measurer(options());
  const auto resident = [] {
    long pages = 0, ignored = 0;
    std::ifstream("/proc/self/statm") >> ignored >> pages;
    return pages * sysconf(_SC_PAGESIZE) / 1024;
  };
  const auto measure_some = [&](int from) {
    std::vector<Candidate> batch;
    for (int i = 0; i < 16; ++i)
      batch.push_back(i % 8 == 7 ? candidate(twice(N / 2 - from - i)) : good(from + i));
    tuner::MeasureOptions how = patience();
    how.give_up_above = 1e-12;  // two samples are enough here
    measurer->measure(task(), batch, how);
  };
  measure_some(1);
  const long before = resident();
  measure_some(101);
  measure_some(201);
  const long after = resident();
  CAPTURE(before, after);
  CHECK(after - before < 32 * 10);  // KiB: ten for a candidate, 100 MiB for 10,000
}

TEST_CASE("constants that a schedule prepares are laid out before the kernel is verified and timed") {
  Tensor a = placeholder("A", {8, 12}, f32), b = placeholder("B", {12, 20}, f32, Constant);
  Axis r = reduce_axis(12, "k");
  const Program p = program(
      "mm", {a, b}, {compute("C", {8, 20}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); })});
  Schedule s(p);
  s.transform_layout(s.block("C"), b, [](const std::vector<Var>& i) {
    return std::vector<Expr>{floordiv(i[1], 8), i[0], floormod(i[1], 8)};
  });
  const Candidate batch[] = {{s.trace(), s.program(), structural_hash(s.program())}};
  const auto results = tuner::process_measurer(options())->measure({p, Target::host()}, batch, patience());
  REQUIRE(results.size() == 1);
  CAPTURE(results[0].error_text);
  CHECK(results[0].failure == records::Failure::None);
  CHECK(measure_here(p, s.program(), Target::host()).failure == records::Failure::None);
}
