#include "arith/regions.h"

#include "brute.h"

using namespace lathe;
using namespace lathe::arith;
using namespace lathe::arith::testing;

namespace {

std::string text(const Region& r) {
  std::string s;
  for (const Range& d : r.region.ranges) s += "[" + to_string(d.min) + ", " + to_string(d.extent) + "]";
  return s + (r.exact ? "" : " over");
}
BufferRegion point(const Buffer& b, std::vector<Expr> indices) {
  BufferRegion r{b, {}};
  for (Expr& i : indices) r.ranges.push_back({std::move(i), 1});
  return r;
}
Stmt loop(const Var& v, const Expr& extent, Stmt body) {
  return make_stmt<For>(v, extent, ForKind::Serial, std::move(body));
}
Stmt store(const Buffer& b, std::vector<Expr> indices, const Expr& value) {
  return make_stmt<Store>(b, value, std::move(indices));
}

}  // namespace

TEST_CASE("a strided window has its exact place and extent") {
  Var i("i"), j("j"), r("r");
  Analyzer a;
  a.bind_extent(i, 4);
  const Buffer b("A", f32, {64});
  CHECK(text(relax(point(b, {i * 8 + j * 2 + r}), {{j, 4}, {r, 3}}, true_expr(), a)) == "[i*8, 9]");
  CHECK(text(relax(point(b, {i * 8 - j}), {{j, 4}}, true_expr(), a)) == "[i*8 - 3, 4]");
  CHECK(text(relax(point(b, {i * 8 + j * 2}), {{j, 4}}, true_expr(), a)) == "[i*8, 7] over");
  CHECK(text(relax(point(b, {j * 2 + r}), {{j, 4}, {r, 2}}, true_expr(), a)) == "[0, 8]");
}

TEST_CASE("a tile of a fused index takes the rows it may meet, not the tensor") {
  Var f("f"), v("v");
  Analyzer a;
  a.bind_extent(f, 15);
  const Buffer b("x", f16, {8, 30});
  CHECK(text(relax(point(b, {(f * 16 + v) / 30, (f * 16 + v) % 30}), {{v, 16}}, true_expr(), a)) ==
        "[f*8/15, 2][0, 30] over");
  // Aligned tiles stay inside one row, or are whole rows.
  const Buffer c("c", f16, {8, 64});
  CHECK(text(relax(point(c, {(f * 16 + v) / 64, (f * 16 + v) % 64}), {{v, 16}}, true_expr(), a)) ==
        "[f/4, 1][f%4*16, 16]");
  const Buffer d("d", f16, {60, 8});
  CHECK(text(relax(point(d, {(f * 32 + v) / 8, (f * 32 + v) % 8}), {{v, 32}}, true_expr(), a)) ==
        "[f*4, 4][0, 8] over");
  // All of it.
  CHECK(text(relax(point(b, {(f * 16 + v) / 30, (f * 16 + v) % 30}), {{f, 15}, {v, 16}}, true_expr(), a))
            .substr(0, 15) ==
        "[0, 8][0, 30]" + std::string(text(relax(point(b, {(f * 16 + v) / 30, (f * 16 + v) % 30}),
                                                 {{f, 15}, {v, 16}}, true_expr(), a)))
                              .substr(13, 2));
}

TEST_CASE("a guarded split touches the guarded range and no more") {
  Var o("o"), i("i");
  Analyzer a;
  const Buffer b("A", f32, {10});
  CHECK(text(relax(point(b, {o * 4 + i}), {{o, 3}, {i, 4}}, o * 4 + i < 10, a)) == "[0, 10]");
  CHECK(text(relax(point(b, {o * 4 + i}), {{o, 3}, {i, 4}}, o * 4 + i < 7, a)) == "[0, 7]");
  // Relaxing the inner loop alone keeps the tile's extent: the guard becomes the producer's predicate.
  a.bind_extent(o, 3);
  CHECK(text(relax(point(b, {o * 4 + i}), {{i, 4}}, o * 4 + i < 10, a)) == "[o*4, 4] over");
}

TEST_CASE("run-time lengths") {
  Var n("n"), o("o"), r("r");
  Analyzer a;
  a.bind_size(n);
  const Buffer b("A", f32, {n});
  const auto guard = o * 32 + r < n;
  CHECK(text(relax(point(b, {o * 32 + r}), {{o, ceil_div(n, 32)}, {r, 32}}, guard, a)) == "[0, n]");
  a.bind_extent(o, ceil_div(n, 32));
  CHECK(text(relax(point(b, {o * 32 + r}), {{r, 32}}, guard, a)) == "[o*32, 32] over");
  Var i("i");
  CHECK(text(relax(point(b, {i}), {{i, n}}, true_expr(), a)) == "[0, n]");
  CHECK(text(relax(point(b, {n - i - 1}), {{i, n}}, true_expr(), a)) == "[0, n]");
}

TEST_CASE("padding reads inside the shape, and its tiles keep their halo") {
  Var y("y"), z("z"), yo("yo"), yi("yi"), ry("ry");
  const Buffer x("x", f32, {512}), pad("pad", f32, {518}), out("out", f32, {516});
  const Expr inside = 0 <= y - 3 && y - 3 < 512;
  const Stmt padding = loop(y, 518, store(pad, {y}, select(inside, load(x, {y - 3}), 0.f)));
  const Accesses all = accesses(padding, {});
  REQUIRE(all.reads.size() == 1);
  CHECK(text(all.reads[0]) == "[0, 512]");
  CHECK(text(all.writes[0]) == "[0, 518]");
  // In a tile of 8 with a 3-wide window: 10 rows.
  const Stmt window = loop(yi, 8, loop(ry, 3, store(out, {yo * 8 + yi}, load(pad, {yo * 8 + yi + ry}))));
  const Accesses tile = accesses(window, {{yo, 64}});
  CHECK(text(tile.reads[0]) == "[yo*8, 10]");
  CHECK(text(tile.writes[0]) == "[yo*8, 8]");
}

TEST_CASE("a guarded consumer larger than its producer needs only what the guard lets through") {
  Var c("c"), y("y"), x("x");
  const Buffer t("t", f32, {4, 4, 4}), u("u", f32, {4, 8, 8});
  const Stmt consumer =
      loop(y, 8, loop(x, 8, store(u, {c, y, x}, select(y < 4 && x < 4, load(t, {c, y, x}), 0.f))));
  CHECK(text(accesses(consumer, {{c, 4}}).reads[0]) == "[c, 1][0, 4][0, 4]");
  // The guard narrows beyond the shape too.
  const Buffer wide("wide", f32, {4, 8, 8});
  const Stmt other = loop(y, 8, make_stmt<If>(y < 5, store(u, {c, y, 0}, load(wide, {c, y, 1}))));
  CHECK(text(accesses(other, {{c, 4}}).reads[0]) == "[c, 1][0, 5][1, 1]");
  CHECK(text(accesses(other, {{c, 4}}).writes[0]) == "[c, 1][0, 5][0, 1]");
}

TEST_CASE("data-dependent subscripts read the whole dimension") {
  Var i("i"), j("j");
  const Buffer a("A", f16, {4, 6}), index("idx", i32, {3}), out("out", f16, {3, 6});
  const Stmt take = loop(i, 3, loop(j, 6, store(out, {i, j}, load(a, {load(index, {i}), j}))));
  const Accesses found = accesses(take, {});
  REQUIRE(found.reads.size() == 2);
  CHECK(found.reads[0].region.buffer.same_as(index));
  CHECK(text(found.reads[0]) == "[0, 3]");
  CHECK(text(found.reads[1]) == "[0, 4][0, 6] over");
}

TEST_CASE("what is never executed is not accessed") {
  Var b("b"), r("r");
  const Buffer v("v", f32, {0}), out("out", f32, {2, 3}), w("w", f32, {7});
  const Stmt empty = loop(b, 2, loop(r, 3, store(out, {b, r}, select(r < 0, load(v, {r}), load(w, {r})))));
  const Accesses found = accesses(empty, {});
  REQUIRE(found.reads.size() == 1);
  CHECK(found.reads[0].region.buffer.same_as(w));
  const Accesses none = accesses(loop(r, 0, store(w, {r}, load(w, {r}))), {});
  CHECK(none.reads.empty());
  CHECK(none.writes.empty());
}

TEST_CASE("&& and || narrow what their right side reads") {
  Var i("i");
  const Buffer flags("flags", f32, {8}), out("out", f32, {16});
  const Expr guarded = i < 5 && load(flags, {i}) > 0.f, either = i >= 6 || load(flags, {i}) > 0.f;
  CHECK(text(accesses(loop(i, 16, store(out, {i}, select(guarded, 1.f, 0.f))), {}).reads[0]) == "[0, 5]");
  CHECK(text(accesses(loop(i, 16, store(out, {i}, select(either, 1.f, 0.f))), {}).reads[0]) == "[0, 6]");
}

TEST_CASE("blocks inside are seen through their bindings and predicates") {
  Var o("o"), i("i"), vi("vi");
  const Buffer a("A", f32, {30}), b("B", f32, {30});
  auto block = std::make_unique<Block>();
  block->label = make_label("copy");
  block->iters = {{vi, 30, IterKind::Spatial}};
  block->bindings = {o * 8 + i};
  block->predicate = o * 8 + i < 30;
  block->body = store(b, {vi}, load(a, {vi}));
  const Stmt nest = loop(o, 4, loop(i, 8, Stmt(block.release())));
  const Accesses found = accesses(nest, {});
  CHECK(text(found.reads[0]) == "[0, 30]");
  CHECK(text(found.writes[0]) == "[0, 30]");
}

TEST_CASE("a write is exact only when the box is what is written") {
  Var i("i"), j("j");
  Analyzer a;
  const Buffer b("B", f32, {16, 16});
  auto exact = [&](std::vector<Expr> indices, const Expr& predicate) {
    return relax(point(b, std::move(indices)), {{i, 4}, {j, 4}}, predicate, a).exact;
  };
  CHECK(exact({i, j}, true_expr()));
  CHECK(exact({i * 4 + j, make_index(3)}, true_expr()));
  CHECK_FALSE(exact({i, i}, true_expr()));
  CHECK_FALSE(exact({i * 2, j}, true_expr()));
  CHECK_FALSE(exact({i, j}, i + j < 4));
  CHECK(exact({i, j}, i < 3 && j >= 1));
  CHECK_FALSE(exact({i, i + j}, true_expr()));
}

TEST_CASE("unions, containment, clipping") {
  Var o("o"), n("n");
  Analyzer a;
  a.bind_extent(o, 4);
  a.bind_size(n);
  const Buffer b("B", f32, {32});
  auto box = [&](const Expr& low, const Expr& extent) { return Region{{b, {{low, extent}}}, true}; };
  CHECK(text(unite(box(o * 8, 4), box(o * 8 + 4, 4), a)) == "[o*8, 8]");
  CHECK(text(unite(box(o * 8, 2), box(o * 8 + 4, 4), a)) == "[o*8, 8] over");
  CHECK(text(unite(box(o * 8, 8), box(o * 8 + 2, 4), a)) == "[o*8, 8]");
  CHECK(text(unite(box(o * 8 - 1, 3), box(o * 8, 3), a)) == "[o*8 - 1, 4]");
  CHECK(text(unite(box(o, 1), box(2, 1), a)) == "[o - 1, 4] over");
  CHECK(covers(box(0, 32).region, box(o * 8, 8).region, a));
  CHECK(covers(box(0, 32).region, box(o * 8 - 3, 40).region, a));
  CHECK_FALSE(covers(box(o * 8, 7).region, box(o * 8, 8).region, a));
  CHECK(disjoint(box(o * 8, 4).region, box(o * 8 + 4, 4).region, a));
  CHECK_FALSE(disjoint(box(o * 8, 5).region, box(o * 8 + 4, 4).region, a));
  const BufferRegion clipped = clip(box(o * 8 - 1, 10).region, a);
  for (std::int64_t v = 0; v < 4; ++v) {
    const Point p{{o.node(), v}};
    CHECK(*value_of(clipped.ranges[0].min, p) == std::max<std::int64_t>(0, v * 8 - 1));
    CHECK(*value_of(clipped.ranges[0].extent, p) ==
          std::min<std::int64_t>(32, v * 8 + 9) - std::max<std::int64_t>(0, v * 8 - 1));
  }
  CHECK(text({whole(b), true}) == "[0, 32]");
}
