// What the search pays for analysis. Hidden: run it by hand with `[.speed]`.

#include <ctime>

#include "arith/iter_map.h"

using namespace lathe;
using namespace lathe::arith;

namespace {

template <class F>
void measure(const char* what, F f) {
  const int rounds = 20000;
  const std::clock_t start = std::clock();
  for (int i = 0; i < rounds; ++i) f();
  const double ns = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  WARN(what << ": " << static_cast<int>(ns / rounds) << " ns");
}

}  // namespace

TEST_CASE("the time of typical questions", "[.speed]") {
  Var i("i"), j("j"), k("k"), n("n"), f("f"), v("v");
  Analyzer a;
  a.bind_extent(i, 32);
  a.bind_extent(j, 4);
  a.bind_extent(k, 8);
  a.bind_extent(f, 15);
  a.bind_extent(v, 16);
  a.bind_size(n);
  const Expr binding = i * 32 + j * 8 + k;
  const Expr fused = floordiv(i * 32 + j * 8 + k, 8), split = floormod(floordiv(i * 32 + j * 8 + k, 8), 4);
  const Expr guard = i * 32 + j * 8 + k < n, decided = i * 32 + j * 8 + k < 1024;
  measure("binding as it is", [&] { return a.simplify(binding); });
  measure("(i*32 + j*8 + k) / 8", [&] { return a.simplify(fused); });
  measure("(i*32 + j*8 + k) / 8 % 4", [&] { return a.simplify(split); });
  measure("guard with a run-time size", [&] { return a.simplify(guard); });
  measure("guard that vanishes", [&] { return a.can_prove(decided); });
  measure("bound", [&] { return a.bound(fused); });
  measure("an analyzer with four loops", [&] {
    Analyzer b;
    b.bind_extent(i, 32);
    b.bind_extent(j, 4);
    b.bind_extent(k, 8);
    b.bind_extent(f, 15);
  });
  const Buffer buffer("A", f32, {8, 30});
  const BufferRegion tile{buffer, {{floordiv(f * 16 + v, 30), 1}, {floormod(f * 16 + v, 30), 1}}};
  measure("relax a fused and split tile", [&] { return relax(tile, {{v, 16}}, true_expr(), a); });
  const std::vector<Domain> loops{{i, 32}, {j, 4}, {k, 8}};
  measure("iterator map of a split",
          [&] { return detect_iter_map({i * 32 + j * 8 + k}, {1024}, loops, true_expr(), a); });
  measure("iterator map of a guarded split",
          [&] { return detect_iter_map({i * 32 + j * 8 + k}, {1000}, loops, i * 32 + j * 8 + k < 1000, a); });
}
