// prefetch: no value changes, and lowering asks for each cache line once an iteration.
#include "behaviour/schedule/programs.h"
#include "ir/visitor.h"
#include "lathe/compile.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

/// Prefetch instructions in a lowered program, those of one buffer.
int count_prefetches(const Program& program, const std::string& buffer) {
  int n = 0;
  walk(program->body, [&](const Stmt& s) {
    const Evaluate* e = s.as<Evaluate>();
    const Call* call = e ? e->value.as<Call>() : nullptr;
    const Load* load = call && call->op == Intrinsic::Prefetch ? call->args[0].as<Load>() : nullptr;
    n += load && load->buffer->name == buffer;
    return true;
  });
  return n;
}

}  // namespace

TEST_CASE("a prefetch changes nothing that is computed") {
  for (std::int64_t k : {1, 7, 16, 17}) {
    test::MatMul t = test::matmul(6, 35, k);
    Schedule s(t.program);
    const BlockRef c = s.block(t.c);
    auto [i, j, r] = s.loops<3>(c);
    auto [jo, ji] = s.split(j, {_, 16});
    s.reorder({i, jo, r, ji});
    s.vectorize(ji);
    s.prefetch(c, t.b, r, 4);
    s.prefetch(c, t.a, i);
    CHECK(disagreement(s) == "");
  }
}

TEST_CASE("one prefetch a cache line of what an iteration reads") {
  test::MatMul t = test::matmul(4, 48, 8);
  for (const auto& [width, lines] : std::vector<std::pair<int, int>>{{48, 3}, {24, 2}, {16, 1}, {8, 1}}) {
    Schedule s(t.program);
    const BlockRef c = s.block(t.c);
    auto [i, j, r] = s.loops<3>(c);
    auto [jo, ji] = s.split(j, {_, width});
    s.reorder({i, jo, r, ji});
    s.vectorize(ji);
    s.prefetch(c, t.b, r, 2);
    CHECK(count_prefetches(lower::lower(s.program(), test::avx2()), "B") == lines);
    CHECK(count_prefetches(lower::lower(s.program(), test::avx2()), "A") == 0);
  }
}

TEST_CASE("an intermediate is prefetched where it outlives the loop") {
  test::Chain t = test::chain(256);
  Schedule s(t.program);
  const BlockRef d = s.block(t.d);
  auto [io, ii] = s.split(s.loops(d)[0], {_, 16});
  s.prefetch(d, t.c, io, 2);
  CHECK(count_prefetches(lower::lower(s.program(), test::avx2()), "C") == 1);
  CHECK(disagreement(s) == "");
}

TEST_CASE("compiled code has the prefetch and the right result") {
  test::MatMul t = test::matmul(4, 32, 8);
  Schedule s(t.program);
  const BlockRef c = s.block(t.c);
  auto [i, j, r] = s.loops<3>(c);
  s.reorder({i, r, j});
  s.vectorize(j);
  s.prefetch(c, t.b, r, 4);
  CHECK(llvm_ir(s.program(), test::avx2()).find("llvm.prefetch") != std::string::npos);
}
