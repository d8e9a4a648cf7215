// Text logs of released formats import for ever, with the same content.

#include "behaviour/records/fixture.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

TEST_CASE("a log of format 1 imports, keeps its ids, and is written again as it was") {
  std::string log = bytes_of(std::string(LATHE_TEST_DATA) + "/format-1.jsonl");
  REQUIRE_FALSE(log.empty());
  RecordStore store = RecordStore::in_memory();
  ImportReport report = import_text(store, log);
  CHECK(report.workloads == 2);
  CHECK(report.sessions == 1);
  CHECK(report.targets == 2);
  CHECK(report.trials == 5);
  CHECK(store.check() == std::vector<std::string>{});

  auto winners = store.winners();
  REQUIRE(winners.size() == 3);
  Trial best = winners[0].trial;
  CHECK(winners[0].workload.spec == "matmul(m=512,n=512,k=512):f32");
  CHECK(winners[0].target.name == "zen3");
  CHECK(best.p10 == 0.0021);
  CHECK(best.times == std::vector<double>{0.0022, 0.0021, 0.0025});
  CHECK(best.trace == R"([["split",0,[16,32]],["vectorize",3]])");
  CHECK(best.provenance == Provenance{"0.1.0", "19.1.7", "", "", "alpha", "lab"});
  CHECK(best.seed == 18446744073709551615u);
  CHECK(text_of(store) == log);
}
