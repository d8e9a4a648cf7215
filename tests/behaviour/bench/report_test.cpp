#include "bench/harness/report.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace lathe::bench;

namespace {

Row row(Unit unit, std::optional<double> ours, std::map<std::string, double> peers) {
  Row r;
  r.group = "hand", r.key = "GMM", r.what = "1,2,3,4", r.unit = unit;
  if (ours) r.ours = Figure{*ours, *ours};
  for (const auto& [name, value] : peers) r.peers[name] = {value, value};
  return r;
}

// A file of the test's own, removed at the end.
struct Scratch {
  std::filesystem::path folder;
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "lathe-report-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
  std::string file() const { return (folder / "out").string(); }
  std::string text() const {
    std::ifstream in(file());
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
};

}  // namespace

TEST_CASE("a ratio above one is better for us, in rates and in times") {
  CHECK(row(Unit::GflopsPerSecond, 10, {{"a", 5}, {"b", 8}}).ratio() == Approx(1.25));
  CHECK(row(Unit::GigabytesPerSecond, 4, {{"a", 5}, {"b", 8}}).ratio() == Approx(0.5));
  CHECK(row(Unit::Milliseconds, 2, {{"a", 4}, {"b", 3}}).ratio() == Approx(1.5));
  CHECK(row(Unit::NanosecondsPerElement, 6, {{"a", 4}, {"b", 3}}).ratio() == Approx(0.5));
}

TEST_CASE("a row without us or without peers has no ratio") {
  CHECK(!row(Unit::GflopsPerSecond, std::nullopt, {{"a", 5}}).ratio());
  CHECK(!row(Unit::GflopsPerSecond, 5, {}).ratio());
}

TEST_CASE("a summary is of the rows of its group and threads that have a ratio") {
  std::vector<Row> rows = {
      row(Unit::GflopsPerSecond, 2, {{"a", 1}}), row(Unit::GflopsPerSecond, 1, {{"a", 2}}),
      row(Unit::GflopsPerSecond, std::nullopt, {{"a", 2}}), row(Unit::GflopsPerSecond, 9, {{"a", 1}})};
  rows[3].threads = 2;
  const Summary summary = summarise(rows, "hand", 1);
  CHECK(summary.rows == 2);
  CHECK(summary.geomean == Approx(1.0));
  CHECK(summary.worst == Approx(0.5));
  CHECK(summarise(rows, "tuned", 1).rows == 0);
}

TEST_CASE("the JSON has the ceilings and a row a case") {
  Scratch scratch;
  Ceilings ceilings;
  ceilings.fma_gflops = {{1, 100.0}, {2, 200.0}};
  ceilings.nt_copy_gbs["256MB"] = {{1, 25.0}};
  std::vector<Row> rows = {row(Unit::GflopsPerSecond, 10, {{"a", 5}}),
                           row(Unit::Milliseconds, std::nullopt, {})};
  rows[0].trials = 64;
  rows[0].wrong = {"b"};
  write_json(scratch.file(), {"a CPU", {"a 1.0"}}, ceilings, rows);
  const auto json = nlohmann::json::parse(scratch.text());
  CHECK(json["ceilings"]["fma_gflops"]["2"] == 200.0);
  CHECK(json["ceilings"]["nt_copy_gbs"]["256MB"]["1"] == 25.0);
  REQUIRE(json["rows"].size() == 2);
  const auto& first = json["rows"][0];
  CHECK(first["group"] == "hand");
  CHECK(first["key"] == "GMM");
  CHECK(first["case"] == "1,2,3,4");
  CHECK(first["threads"] == 1);
  CHECK(first["unit"] == "GF/s");
  CHECK(first["ours"] == 10.0);
  CHECK(first["peers"]["a"] == 5.0);
  CHECK(first["ratio"] == 2.0);
  CHECK(first["trials"] == 64);
  CHECK(first["wrong"][0] == "b");
  CHECK(json["rows"][1]["ours"].is_null());
  CHECK(json["rows"][1]["ratio"].is_null());
}

TEST_CASE("refreshing a page changes what stands between the marks, and only that") {
  Scratch scratch;
  std::ofstream(scratch.file()) << "before\n<!-- bench:hand -->\nold\n<!-- /bench:hand -->\nafter\n";
  Ceilings ceilings;
  ceilings.fma_gflops = {{1, 100.0}};
  const std::vector<Row> rows = {row(Unit::GflopsPerSecond, 90, {{"a", 45}})};
  refresh_markdown(scratch.file(), {"a CPU", {}}, ceilings, rows);
  const std::string once = scratch.text();
  CHECK(once.rfind("before\n<!-- bench:hand -->", 0) == 0);
  CHECK(once.find("old") == std::string::npos);
  CHECK(once.find("<!-- /bench:hand -->\nafter\n") != std::string::npos);
  CHECK(once.find("| GMM | 1,2,3,4 | 1 | GF/s | 90.0 (90.0) | 90% | 2.00 | a 45.0 (45.0) |") !=
        std::string::npos);
  refresh_markdown(scratch.file(), {"a CPU", {}}, ceilings, rows);
  CHECK(scratch.text() == once);
}
