// What a cost model sees of scheduled programs.
#include <set>

#include "lathe/workload.h"
#include "tuner/features/cpu_draft.h"
#include "tuner/features/statement_features.h"

using namespace lathe;
using namespace lathe::tuner;

namespace {

const Target& cpu() {
  static const Target target = Target::parse("zen3");
  return target;
}

Schedule matmul(std::int64_t size) {
  return Schedule(Workload::parse("matmul(m=" + std::to_string(size) + ",n=" + std::to_string(size) +
                                  ",k=" + std::to_string(size) + ")")
                      .program);
}

const AccessView& access_to(const StatementView& s, const std::string& name) {
  for (const AccessView& a : s.accesses) {
    if (a.buffer->name == name) return a;
  }
  FAIL("no access to " << name);
  throw std::logic_error("unreachable");
}

}  // namespace

TEST_CASE("a matmul's statement: its loops, one multiply-add, three accesses") {
  const ProgramView p = view(matmul(64).program());
  REQUIRE(p.statements.size() == 1);
  const StatementView& s = p.statements[0];
  CHECK(s.extents == std::vector<std::int64_t>{64, 64, 64});
  CHECK(s.operations.float_multiply_add == 1);
  CHECK(s.operations.all() == 1);
  CHECK(s.reduction);
  REQUIRE(s.accesses.size() == 3);
  CHECK(s.accesses[0].buffer->name == "C");
  CHECK(s.accesses[0].read);
  CHECK(access_to(s, "A").elements == std::vector<double>{4096, 64, 64, 1});
  CHECK(access_to(s, "B").elements == std::vector<double>{4096, 4096, 64, 1});
  CHECK(access_to(s, "B").lines == std::vector<double>{256, 256, 64, 1});
  CHECK(access_to(s, "B").stride == std::vector<std::int64_t>{0, 1, 64});
}

TEST_CASE("tiles show in what the inner loops touch") {
  Schedule s = matmul(64);
  auto [i, j, k] = s.loops<3>(s.block("C"));
  auto [io, ii] = s.split(i, {_, 4});
  auto [jo, ji] = s.split(j, {_, 16});
  s.reorder({io, jo, k, ii, ji});
  s.unroll(ii);
  s.vectorize(ji);
  const ProgramView p = view(s.program());
  const StatementView& v = p.statements.at(0);
  CHECK(v.body == 3);
  CHECK(v.vector_loop == 4);
  CHECK(v.accesses[0].elements[3] == 64);
  CHECK(access_to(v, "A").elements[3] == 4);
  CHECK(access_to(v, "B").lines[3] == 1);
  const StatementCost c = cost(v, CpuModel(cpu()));
  CHECK(c.accumulators == 8);
}

TEST_CASE("a guard's waste shows") {
  Schedule s = matmul(60);
  auto [i, j, k] = s.loops<3>(s.block("C"));
  s.split(j, {_, 16});
  const ProgramView p = view(s.program());
  CHECK(p.statements.at(0).guarded);
  CHECK(p.statements.at(0).useful == Approx(60.0 / 64));
}

TEST_CASE("every row has one length, whatever the program") {
  const CpuModel model(cpu());
  const std::size_t width = statement_feature_names().size();
  CHECK(width > 150);
  std::set<std::string> names(statement_feature_names().begin(), statement_feature_names().end());
  CHECK(names.size() == width);
  for (const char* spec :
       {"matmul(m=7,n=19,k=5)", "matmul(m=0,n=4,k=3)", "softmax(m=3,n=37)", "layer_norm(m=2,n=1)",
        "conv2d_bias_relu(h=5,w=13,ci=3,co=17)", "depthwise(h=6,w=7,c=11)", "transpose(m=9,n=17)",
        "add_relu_sigmoid(n=0)", "max_pool(h=6,w=7,c=5)"}) {
    const Workload w = Workload::parse(spec);
    for (const Program& program : {w.program, w.default_schedule(cpu()).program()}) {
      INFO(spec);
      FeatureTable table(width);
      const ProgramView p = view(program);
      add_features(p, model, table);
      CHECK(table.programs() == 1);
      CHECK(table.rows() == p.statements.size());
      CHECK(table.rows() > 0);
      for (std::size_t r = 0; r < table.rows(); ++r) {
        for (float v : table.row(r)) REQUIRE(std::isfinite(v));
      }
      CHECK(std::isfinite(cost(p, model)));
    }
  }
}

TEST_CASE("the draft prefers register tiles to scalar loops, and few accumulators' spills to many's") {
  const CpuModel model(cpu());
  auto tiled = [&](std::int64_t rows, std::int64_t columns) {
    Schedule s = matmul(256);
    auto [i, j, k] = s.loops<3>(s.block("C"));
    auto [io, ii] = s.split(i, {_, rows});
    auto [jo, ji] = s.split(j, {_, columns});
    s.reorder({io, jo, k, ii, ji});
    s.unroll(ii);
    s.vectorize(ji);
    return cost(view(s.program()), model);
  };
  const double plain = cost(view(matmul(256).program()), model);
  CHECK(tiled(4, 16) < plain / 4);
  CHECK(tiled(4, 16) < tiled(1, 8));
  CHECK(tiled(4, 16) < tiled(16, 64));
}
