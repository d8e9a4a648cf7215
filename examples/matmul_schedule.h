#pragma once
// A matrix product scheduled by hand, from three plain loops to the structure of a BLAS kernel. The steps are those of
// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008). `matmul_by_hand` shows what each of
// them gains.

#include <algorithm>
#include <functional>

#include "lathe/schedule.h"
#include "lathe/te.h"

namespace lathe::examples {

struct Matmul {
  explicit Matmul(std::int64_t n)
      : n(n),
        a(placeholder("A", {n, n}, f32)),
        b(placeholder("B", {n, n}, f32)),
        k(reduce_axis(n, "k")),
        c(compute("C", {n, n}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), {k}); })) {}
  Program program() const { return lathe::program("matmul", {a, b}, {c}); }

  std::int64_t n;
  Tensor a, b;
  Axis k;
  Tensor c;
};

/// Schedules it for AVX2, telling `after` each step that is done.
inline void schedule_matmul(
    Schedule& s, const Matmul& m, const std::function<void(const char* step)>& after = [](const char*) {}) {
  // A tile of 6 x 16 sums fits the 16 vector registers of AVX2. Blocks of A of 48 x 512 take a fifth of the second cache;
  // a tile is loaded and stored again for each panel of B, which the depth of 512 makes rare. The panels are equally deep,
  // for a guard in the loop over `depth` is dear.
  constexpr std::int64_t TileRows = 6, TileColumns = 16, Rows = 48, MaxDepth = 512;
  const std::int64_t panels = (m.n + MaxDepth - 1) / MaxDepth, panel_rows = (m.n + panels - 1) / panels;

  // Work on blocks that stay in the caches, and inside them on one tile of C at a time. No size needs to divide: what
  // sticks out is guarded.
  BlockRef product = s.block(m.c);
  auto [i, j, r] = s.loops<3>(product);
  auto [block_row, tile_row, row] = s.split(i, {_, Rows / TileRows, TileRows});
  auto [tile_column, column] = s.split(j, {_, TileColumns});
  auto [panel, depth] = s.split(r, {_, panel_rows});
  s.reorder({panel, block_row, tile_column, tile_row, depth, row, column});
  after("tiled");

  // Keep the sums of a tile in registers: loaded before the loop over `depth`, stored after it. By itself it moves work
  // about; it is what lets the next step use it.
  BlockRef store = s.cache_write(product, Scope::Local, tile_row);
  after("tile of sums in local memory");

  // One vector instruction for `column`, all rows of the tile side by side; loads and stores of the tile likewise.
  s.vectorize(column);
  s.unroll(row);
  for (BlockRef copy : {s.block("C_load"), store}) {
    std::vector<LoopRef> loops = s.loops(copy);
    s.vectorize(loops.back());
    s.unroll(loops[loops.size() - 2]);
  }
  after("vectorised and unrolled");

  // Copy each panel of B into the order in which it is read: a column of tiles after another, each one contiguous.
  BlockRef pack_b = s.cache_read(product, m.b, Scope::Global);
  Var x("i"), y("k"), z("j");
  s.transform_layout(pack_b, -1, IndexMap{{y, z}, {floordiv(z, TileColumns), y, floormod(z, TileColumns)}});
  s.compute_at(pack_b, panel);
  std::vector<LoopRef> loops = s.loops(pack_b);
  auto [b_tile, lane] = s.split(loops.back(), {_, TileColumns});
  s.reorder({b_tile, loops[loops.size() - 2], lane});
  s.vectorize(lane);
  after("B packed");

  // The block of A likewise: the six rows of a tile lie side by side. In A itself, with rows a power of two apart, they
  // would fall into the same few sets of the caches.
  BlockRef pack_a = s.cache_read(product, m.a, Scope::Global);
  s.transform_layout(pack_a, -1, IndexMap{{x, y}, {floordiv(x, TileRows), y, floormod(x, TileRows)}});
  s.compute_at(pack_a, block_row);
  loops = s.loops(pack_a);
  auto [a_tile, a_row] = s.split(loops[loops.size() - 2], {_, TileRows});
  s.reorder({a_tile, loops.back(), a_row});
  s.unroll(a_row);
  after("A packed");

  s.parallel(b_tile);
  s.parallel(block_row);
  after("on all threads");
}

}  // namespace lathe::examples
