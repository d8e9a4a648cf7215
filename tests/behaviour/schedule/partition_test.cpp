// Loop partition: what of the lowered program still tests guards.
#include "ir/visitor.h"
#include "lower/lower.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

/// Sums of rows: 19 rows in `blocks` blocks of tiles of 4, the blocks fused with the columns and run in parallel.
struct Blocks {
  explicit Blocks(std::int64_t blocks) : s(sums()) {
    auto [i, j, k] = s.loops<3>(s.blocks()[0]);
    auto [block, tile, row] = s.split(i, {blocks, _, 4});
    s.reorder({block, j, tile, k, row});
    s.parallel(s.fuse({block, j}));
  }
  static Program sums() {
    Tensor a = placeholder("A", {19, 6}, f32), b = placeholder("B", {6, 2}, f32);
    Axis r = reduce_axis(6, "k");
    return program("sums", {a, b},
                   {compute("C", {19, 2}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); })});
  }
  Stmt lowered() const { return lower::lower(s.program(), test::avx2())->body; }
  Schedule s;
};

int tests_in(const Stmt& s) {
  int found = 0;
  walk(s, [&](const Stmt& x) {
    found += x.as<If>() != nullptr;
    return true;
  });
  return found;
}

}  // namespace

TEST_CASE("blocks that a fused loop runs over are free of guards but for the last") {
  Blocks b(2);  // 12 and 7 rows
  CHECK(disagreement(b.s) == "");
  const Stmt lowered = b.lowered();
  const If* choice = nullptr;
  walk(lowered, [&](const Stmt& x) {
    if (const For* loop = x.as<For>(); loop && loop->for_kind == ForKind::Parallel)
      choice = loop->body.as<If>();
    return true;
  });
  REQUIRE(choice != nullptr);
  REQUIRE(choice->else_case.defined());
  CHECK(tests_in(choice->then_case) == 0);
  CHECK(tests_in(choice->else_case) > 0);
}

TEST_CASE("tiles that lie beyond the end are skipped as a whole") {
  Blocks b(4);  // 5 tiles in 4 blocks of 2: the last block and a half have nothing to do
  CHECK(disagreement(b.s) == "");
  bool skipped = false;
  walk(b.lowered(), [&](const Stmt& x) {
    if (const If* test = x.as<If>()) skipped |= test->then_case.as<For>() && tests_in(test->then_case) > 0;
    return true;
  });
  CHECK(skipped);
}

namespace {

/// A product whose sums wait in registers: 9 rows in tiles of 4, columns in tiles of 16.
Schedule product_in_registers(std::int64_t columns) {
  Tensor a = placeholder("A", {9, 5}, f32), b = placeholder("B", {5, columns}, f32);
  Axis r = reduce_axis(5, "k");
  Schedule s(program("product", {a, b}, {compute("C", {9, columns}, [&](Var i, Var j) {
                       return sum(a(i, r) * b(r, j), {r});
                     })}));
  const BlockRef sums = s.block("C");
  const BlockRef store = s.cache_write(sums, Scope::Local);
  s.pad_einsum(sums, {1, 16, 1});  // no guard at the sums: their surplus is computed
  auto [i, j] = s.loops<2>(store);
  auto [io, ii] = s.split(i, {_, 4});
  auto [jo, ji] = s.split(j, {_, 16});
  s.reorder({jo, io, ii, ji});
  s.unroll(ii);
  s.vectorize(ji);
  s.compute_at(sums, io);
  return s;
}

/// Stores to C under a mask that depends on a loop.
int open_masks(const Stmt& s) {
  int found = 0;
  walk(s, [&](const Stmt& x) {
    const Store* store = x.as<Store>();
    if (!store || store->buffer->name != "C" || !store->mask.defined()) return true;
    walk(store->mask, [&](const Expr& e) {
      found += e.as<VarNode>() != nullptr;
      return true;
    });
    return true;
  });
  return found;
}

}  // namespace

TEST_CASE("stores behind a reduction know the lanes that they mask") {
  // A whole number of tiles; one column too many; one vector, a vector and a bit in the last tile; less than a tile.
  for (const std::int64_t columns : {32, 33, 40, 43, 47, 11, 3}) {
    CAPTURE(columns);
    Schedule s = product_in_registers(columns);
    CHECK(disagreement(s) == "");
    CHECK(open_masks(lower::lower(s.program(), test::avx2())->body) == 0);
  }
}
