#include "lathe/record_check.h"

#include <sstream>

#include "behaviour/schedule/programs.h"

using namespace lathe;

namespace {

records::Trial trial(RecordStore& store, const Workload& w, const std::string& trace,
                     const Digest& scheduled) {
  records::Trial t;
  t.key = store.intern(record_key(w, Target::parse("zen3")));
  t.trace = trace;
  t.scheduled = scheduled;
  t.times = {2e-3};
  t.regime = records::Regime::Warm;
  t.verification = {true, 0.0, 1.0, "unscheduled"};
  return t;
}

}  // namespace

TEST_CASE("every record of a log is replayed, and what no longer fits is named with its reason") {
  Workload w;
  w.program = test::matmul(8, 8, 8).program;
  w.spec = "matmul(m=8,n=8,k=8):f32";
  Schedule good(w.program), bad(w.program);
  good.split(good.loops(good.block("C"))[0], {_, 4});
  bad.split(bad.loops(bad.block("C"))[1], {_, 2});
  RecordStore store = RecordStore::in_memory(store_options());
  std::string broken = bad.trace().to_json(true);
  broken.replace(broken.find("\"split\""), 7, "\"splut\"");
  const records::Trial batch[] = {
      trial(store, w, good.trace().to_json(true), structural_hash(good.program())),
      trial(store, w, broken, structural_hash(bad.program()))};
  store.insert(batch);
  // A log is what is checked in practice.
  std::stringstream text;
  store.export_lines(text);
  const RecordStore log = RecordStore::from_text(text, "log", store_options());

  const Target zen3 = Target::parse("zen3");
  const std::vector<CheckedRecord> checked = check_records(log, {.compile_for = &zen3});
  REQUIRE(checked.size() == 2);
  std::size_t problems = 0;
  for (const CheckedRecord& r : checked) {
    CHECK(r.workload == w.spec);
    CHECK(r.target == "zen3");
    if (r.problem.empty()) continue;
    ++problems;
    CHECK(r.problem.find("splut") != std::string::npos);
  }
  CHECK(problems == 1);

  const std::string junit = junit_text({{"a<b", checked}});
  CHECK(junit.find("<testsuite name=\"a&lt;b\" tests=\"2\" failures=\"1\">") != std::string::npos);
  CHECK(junit.find("<failure message=") != std::string::npos);
}

TEST_CASE("a trace that makes another program than was measured is a problem") {
  Workload w;
  w.program = test::matmul(8, 8, 8).program;
  w.spec = "matmul(m=8,n=8,k=8):f32";
  Schedule s(w.program), t(w.program);
  s.split(s.loops(s.block("C"))[0], {_, 4});
  t.split(t.loops(t.block("C"))[0], {_, 2});
  RecordStore store = RecordStore::in_memory(store_options());
  const records::Trial batch[] = {trial(store, w, s.trace().to_json(true), structural_hash(t.program()))};
  store.insert(batch);
  const std::vector<CheckedRecord> checked = check_records(store);
  REQUIRE(checked.size() == 1);
  CHECK(checked[0].problem.find("LTH-U021") != std::string::npos);
}
