#include "bench/harness/operators.h"

#include <set>

using namespace lathe::bench;

namespace {

// Output positions of one dimension, counted: those whose window lies inside the padded input.
std::int64_t positions(std::int64_t in, const Convolution& c) {
  std::int64_t count = 0;
  for (std::int64_t start = -c.pad; start + c.dilation * (c.kernel - 1) < in + c.pad; start += c.stride)
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a convolution's output has a position for each window inside the padded input") {
  for (const char* group : {"hand", "default", "tuned"}) {
    for (const Operator& op : operators_of(group)) {
      if (std::set<std::string>{"C1D", "C2D", "C3D", "GRP", "DIL", "DEP", "R50", "CBR", "RES"}.count(
              op.key) == 0)
        continue;
      for (const Shape& params : op.cases) {
        const Case what{op.key, params, false};
        const Convolution c = convolution_of(what);
        INFO(op.key << " " << what.text());
        for (int d = 0; d < c.rank(); ++d) CHECK(c.out[d] == positions(c.in[d], c));
      }
    }
  }
}

TEST_CASE("a transposed convolution's output is what the same convolution would read back") {
  for (const Operator& op : operators_of("default")) {
    if (op.key != "T2D") continue;
    for (const Shape& params : op.cases) {
      Convolution c = convolution_of({op.key, params, false});
      for (int d = 0; d < c.rank(); ++d) CHECK(positions(c.out[d], c) == c.in[d]);
    }
  }
}

TEST_CASE("the operations of a product and of a convolution are counted as defined") {
  CHECK(make_problem({"GMM", {2, 3, 5, 7}, false}, 1).flops == 2.0 * 2 * 3 * 5 * 7);
  CHECK(make_problem({"C2D", {1, 5, 6, 3, 4, 3, 1, 1}, false}, 1).flops == 2.0 * 5 * 6 * 9 * 3 * 4);
  CHECK(make_problem({"DEP", {1, 5, 6, 8, 3, 1, 1}, false}, 1).flops == 2.0 * 5 * 6 * 9 * 8);
  CHECK(make_problem({"GRP", {1, 5, 6, 8, 12, 3, 1, 1}, false}, 1).flops == 2.0 * 5 * 6 * 9 * 2 * 12);
}

TEST_CASE("bytes count every operand and the output once") {
  CHECK(make_problem({"EW", {1000}, false}, 1).bytes == 12000);
  CHECK(make_problem({"SFM", {3, 5}, false}, 1).bytes == 120);
  CHECK(make_problem({"GMV", {3, 5}, false}, 1).bytes == 4 * (15 + 5 + 3));
}

TEST_CASE("operands are signed, reproducible and differ by name") {
  const Problem p = make_problem({"EW", {1000}, false}, 1), q = make_problem({"EW", {1000}, false}, 1);
  int negative = 0, same = 0;
  for (int i = 0; i < 1000; ++i) {
    CHECK(p.data("a")[i] == q.data("a")[i]);
    CHECK((p.data("a")[i] >= -1 && p.data("a")[i] < 1));
    negative += p.data("a")[i] < 0;
    same += p.data("a")[i] == p.data("b")[i];
  }
  CHECK(negative > 400);
  CHECK(negative < 600);
  CHECK(same < 10);
}

TEST_CASE("operators with constants are measured with and without preparing them") {
  int prepared = 0, plain = 0;
  for (const Case& what : cases_of("default", false)) {
    if (what.key == "GMM") ++(what.prepared ? prepared : plain);
    if (what.key == "SFM") CHECK(!what.prepared);
  }
  CHECK(prepared == 7);
  CHECK(plain == 7);
}

TEST_CASE("long sums may differ by more than short ones") {
  CHECK(make_problem({"NRM", {1, 256, 256}, false}, 1).tolerance() == 1e-4f);
  CHECK(make_problem({"NRM", {1, 1024, 1024}, false}, 1).tolerance() == 16e-4f);
  CHECK(make_problem({"SFM", {8, 1 << 20}, false}, 1).tolerance() == 1e-4f);
}
