// What of the lowered program is still masked.
#include "ir/visitor.h"
#include "lower/lower.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

/// Sums of products in a local buffer: 6 rows by `columns`, stored in vectors of 8 or one by one.
Schedule sums_in_registers(std::int64_t columns, bool vector_store) {
  Tensor a = placeholder("A", {6, 5}, f32), b = placeholder("B", {5, columns}, f32);
  Axis r = reduce_axis(5, "k");
  Schedule s(program("sums", {a, b}, {compute("C", {6, columns}, [&](Var i, Var j) {
                       return sum(a(i, r) * b(r, j), {r});
                     })}));
  const BlockRef sums = s.block("C");
  const BlockRef store = s.cache_write(sums, Scope::Local);
  auto [i, j] = s.loops<2>(store);
  auto [io, ii] = s.split(i, {_, 3});
  auto [jo, ji] = s.split(j, {_, 8});
  s.reorder({jo, io, ii, ji});
  s.unroll(ii);
  if (vector_store) s.vectorize(ji);
  s.compute_at(sums, io);
  const std::vector<LoopRef> inner = s.loops(sums);
  s.reorder({inner[4], inner[2], inner[3]});
  s.unroll(inner[2]);
  s.vectorize(inner[3]);
  return s;
}

struct Masks {
  int on_local = 0, on_shared_element = 0;
};

Masks masks_of(const Schedule& s) {
  Masks out;
  const auto count = [&](const Buffer& buffer, const Expr& index, const Expr& mask) {
    if (!mask.defined()) return;
    out.on_local += buffer->name.starts_with("C_local");
    out.on_shared_element += index.as<Broadcast>() != nullptr;
  };
  walk(
      lower::lower(s.program(), test::avx2())->body,
      [&](const Stmt& x) {
        if (const Store* store = x.as<Store>()) count(store->buffer, store->indices[0], store->mask);
        return true;
      },
      [&](const Expr& e) {
        if (const Load* load = e.as<Load>()) count(load->buffer, load->indices[0], load->mask);
        return true;
      });
  return out;
}

}  // namespace

TEST_CASE("sums that do not fill their vectors live in registers") {
  for (const std::int64_t columns : {5, 7, 8, 11, 13, 15, 16, 30}) {
    CAPTURE(columns);
    const Schedule s = sums_in_registers(columns, true);
    CHECK(disagreement(s) == "");
    const Masks masks = masks_of(s);
    CHECK(masks.on_local == 0);
    CHECK(masks.on_shared_element == 0);  // A's elements, one for all lanes, are read as such
  }
}

TEST_CASE("lanes that something else than whole vectors reads are not made up") {
  for (const std::int64_t columns : {3, 7, 11, 30}) {
    CAPTURE(columns);
    CHECK(disagreement(sums_in_registers(columns, false)) == "");
  }
}

namespace {

struct Tests {
  int branches = 0, selections = 0;
};

/// How the lowered program leaves out the terms of sum(i + k < 7 ? A[i, k] * B[k, j] : 0), its `lanes` loop in vectors.
Tests tests_of_partial_sums(std::size_t lanes) {
  Tensor a = placeholder("A", {6, 5}, f32), b = placeholder("B", {5, 8}, f32);
  Axis r = reduce_axis(5, "k");
  Schedule s(program("partial", {a, b}, {compute("C", {6, 8}, [&](Var i, Var j) {
                       return sum(select(i + r < 7, a(i, r) * b(r, j), make_const(f32, 0)), {r});
                     })}));
  const std::vector<LoopRef> loops = s.loops(s.block("C"));
  if (lanes == 0) s.reorder({loops[1], loops[2], loops[0]});
  if (lanes == 1) s.reorder({loops[0], loops[2], loops[1]});
  s.vectorize(loops[lanes]);
  CHECK(disagreement(s) == "");
  Tests out;
  walk(
      lower::lower(s.program(), test::avx2())->body,
      [&](const Stmt& x) {
        out.branches += x.as<If>() != nullptr;
        return true;
      },
      [&](const Expr& e) {
        out.selections += e.as<Select>() != nullptr;
        return true;
      });
  return out;
}

}  // namespace

TEST_CASE("terms that are zero in all lanes are skipped") {
  const Tests same = tests_of_partial_sums(1);
  CHECK(same.branches > 0);
  CHECK(same.selections == 0);
  const Tests different = tests_of_partial_sums(0);
  CHECK(different.branches == 0);
  CHECK(different.selections > 0);
}
