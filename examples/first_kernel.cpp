// A first kernel: write an operator, schedule it, compile it, run it.
//
// The operator is a fully connected layer, y = relu(x w + b). The program says what every element is; the schedule says in
// which order, in what memory and with which instructions it is computed, and can change nothing else.

#include <algorithm>
#include <cstdio>

#include "lathe/compile.h"
#include "lathe/runtime/fill.h"

using namespace lathe;

int main() {
  constexpr std::int64_t Rows = 30, Inputs = 64, Outputs = 100;

  // What.
  Tensor x = placeholder("x", {Rows, Inputs}, f32), w = placeholder("w", {Inputs, Outputs}, f32, Constant),
         b = placeholder("b", {Outputs}, f32, Constant);
  Axis r = reduce_axis(Inputs, "r");
  Tensor xw = compute("xw", {Rows, Outputs}, [&](Var i, Var j) { return sum(x(i, r) * w(r, j), {r}); });
  Tensor y = compute("y", {Rows, Outputs}, [&](Var i, Var j) { return relu(xw(i, j) + b(j)); });
  Schedule s(program("layer", {x, w, b}, {y}));
  std::printf("As written:\n\n%s\n", to_string(s.program()).c_str());

  // How: 16 columns of 4 rows at a time, each sum finished in registers before bias and relu are applied to it.
  BlockRef sums = s.block(xw);
  auto [i, j] = s.loops<2>(s.block(y));
  auto [io, ii] = s.split(i, {_, 4});
  auto [jo, ji] = s.split(j, {_, 16});  // 100 = 6 * 16 + 4: the rest is guarded
  s.reorder({io, jo, ii, ji});
  s.compute_at(sums, jo);  // the sums of one tile, in the loop of the tile
  s.set_scope(sums, Scope::Local);
  auto [to, tjo, ti, tj, tr] = s.loops<5>(sums);
  s.reorder({tr, ti, tj});
  for (LoopRef lanes : {tj, ji}) s.vectorize(lanes);
  for (LoopRef rows : {ti, ii}) s.unroll(rows);
  s.parallel(io);
  std::printf("As scheduled:\n\n%s\n", to_string(s.program()).c_str());

  // Machine code in this process, and a call of it.
  Kernel layer = compile(s, Target::host());
  runtime::Tensor vx(f32, {Rows, Inputs}), vw(f32, {Inputs, Outputs}), vb(f32, {Outputs}),
      vy(f32, {Rows, Outputs});
  runtime::fill_integers(vx, 1);  // whole numbers: every order of additions gives the same sum
  runtime::fill_integers(vw, 2);
  runtime::fill_integers(vb, 3);
  layer({&vx, &vw, &vb, &vy});

  for (std::int64_t row = 0; row < Rows; ++row) {
    for (std::int64_t column = 0; column < Outputs; ++column) {
      float want = vb.as<float>()[column];
      for (std::int64_t k = 0; k < Inputs; ++k)
        want += vx.as<float>()[row * Inputs + k] * vw.as<float>()[k * Outputs + column];
      if (vy.as<float>()[row * Outputs + column] != std::max(want, 0.f)) return std::puts("wrong"), 1;
    }
  }
  std::puts("y is right in every element.");
}
