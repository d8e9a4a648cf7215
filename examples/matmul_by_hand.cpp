// A matrix product scheduled by hand, step by step: from three plain loops to the structure of a BLAS kernel.
//
//     matmul_by_hand [N = 512]
//
// Each step prints its loop nest, checks the result, and measures the speed on one thread. The steps are those of
// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008).

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lathe/compile.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/timer.h"

using namespace lathe;

namespace {

/// Operands, and the product that every step must reproduce to the last bit: whole numbers, so that the order of the
/// additions does not matter.
struct Data {
  explicit Data(std::int64_t n) : n(n), a(f32, {n, n}), b(f32, {n, n}), c(f32, {n, n}), want(f32, {n, n}) {
    runtime::fill_integers(a, 1);
    runtime::fill_integers(b, 2);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t j = 0; j < n; ++j)
          want.as<float>()[i * n + j] += a.as<float>()[i * n + k] * b.as<float>()[k * n + j];
      }
    }
  }
  std::int64_t n;
  runtime::Tensor a, b, c, want;
};

/// Shows, checks and measures the schedule as it stands.
void report(const char* step, const Schedule& s, Data& data, double& previous) {
  std::printf("==== %s\n\n%s\n", step, to_string(s.program()).c_str());
  const Kernel kernel = compile(s, Target::host());
  runtime::fill_poison(data.c);
  kernel({&data.a, &data.b, &data.c});
  if (!std::ranges::equal(data.c.as<float>(), data.want.as<float>())) {
    std::printf("wrong result\n");
    std::exit(1);
  }
  double best = 1e30;
  runtime::Timer all;
  for (int run = 0; run < 3 || (run < 30 && all.seconds() < 0.3); ++run) {
    runtime::Timer timer;
    kernel({&data.a, &data.b, &data.c});
    best = std::min(best, timer.seconds());
  }
  const double n = static_cast<double>(data.n), speed = 2 * n * n * n / best / 1e9;
  std::printf("%s: %.2f GF/s", step, speed);
  if (previous > 0) std::printf(", %.2f times the step before", speed / previous);
  std::printf("\n\n");
  previous = speed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 512;
  if (n < 1) {
    std::fprintf(stderr, "usage: matmul_by_hand [N >= 1]\n");
    return 2;
  }
  // A tile of 6 x 16 sums fits the 16 vector registers of AVX2; a panel of B of 256 rows fits the first cache with the
  // rows of A that meet it; 120 rows of A the second.
  constexpr std::int64_t TileRows = 6, TileColumns = 16, Rows = 120;
  const std::int64_t panel_rows = std::min<std::int64_t>(n, 256);

  Tensor a = placeholder("A", {n, n}, f32), b = placeholder("B", {n, n}, f32);
  Axis k = reduce_axis(n, "k");
  Tensor c = compute("C", {n, n}, [&](Var i, Var j) { return sum(a(i, k) * b(k, j), {k}); });
  Schedule s(program("matmul", {a, b}, {c}));
  Data data(n);
  double speed = 0;
  report("naive", s, data, speed);

  // Work on blocks that stay in the caches, and inside them on one tile of C at a time. No size needs to divide: what
  // sticks out is guarded.
  BlockRef product = s.block(c);
  auto [i, j, r] = s.loops<3>(product);
  auto [block_row, tile_row, row] = s.split(i, {_, Rows / TileRows, TileRows});
  auto [tile_column, column] = s.split(j, {_, TileColumns});
  auto [panel, depth] = s.split(r, {_, panel_rows});
  s.reorder({panel, block_row, tile_column, tile_row, depth, row, column});
  report("tiled", s, data, speed);

  // Keep the sums of a tile in registers: loaded before the loop over `depth`, stored after it. By itself it moves work
  // about; it is what lets the next step use it.
  BlockRef store = s.cache_write(product, Scope::Local, tile_row);
  report("tile of sums in local memory", s, data, speed);

  // One vector instruction for `column`, all rows of the tile side by side; loads and stores of the tile likewise.
  s.vectorize(column);
  s.unroll(row);
  for (BlockRef copy : {s.block("C_load"), store}) {
    std::vector<LoopRef> loops = s.loops(copy);
    s.vectorize(loops.back());
    s.unroll(loops[loops.size() - 2]);
  }
  report("vectorised and unrolled", s, data, speed);

  // Copy each panel of B into the order in which it is read: a column of tiles after another, each one contiguous.
  BlockRef pack = s.cache_read(product, b, Scope::Global);
  s.transform_layout(pack, -1, [] {
    Var k("k"), j("j");
    return IndexMap{{k, j}, {floordiv(j, TileColumns), k, floormod(j, TileColumns)}};
  }());
  s.compute_at(pack, panel);
  std::vector<LoopRef> loops = s.loops(pack);
  auto [packed_tile, lane] = s.split(loops.back(), {_, TileColumns});
  s.reorder({packed_tile, loops[loops.size() - 2], lane});
  s.vectorize(lane);
  report("packed", s, data, speed);
}
