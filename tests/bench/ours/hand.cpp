// Group `hand`: schedules that a person wrote, those of the examples.

#include "examples/conv_schedule.h"
#include "examples/matmul_schedule.h"
#include "kernel.h"

namespace lathe::bench {

namespace {

std::optional<Callable> matmul(const Problem& p) {
  const examples::Matmul m(p.what.params[1]);
  Schedule s(m.program());
  examples::schedule_matmul(s, m);
  return kernel_callable(p, s);
}

/// [3,3,ci,co] as [co / Panel, 3, 3, ci, Panel].
Operand packed(const Operand& w) {
  constexpr std::int64_t Panel = examples::Convolution::Panel;
  const std::int64_t rows = w.shape[0] * w.shape[1] * w.shape[2], columns = w.shape[3];
  Operand out = w;
  out.shape = {columns / Panel, w.shape[0], w.shape[1], w.shape[2], Panel};
  out.buffer = Buffer(w.buffer.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      out.buffer.data()[(c / Panel * rows + r) * Panel + c % Panel] = w.buffer.data()[r * columns + c];
  }
  return out;
}

std::optional<Callable> convolution(Problem p) {
  const std::int64_t size = p.what.params[0];
  const examples::Convolution c(size, p.what.params[1], p.what.params[2], p.what.prepared);
  Schedule s(c.program());
  examples::schedule_convolution(s, c, size % 6 <= 2 && size < 28 ? 5 : 6);
  if (p.what.prepared) p.operands[1] = packed(p.operands[1]);
  return kernel_callable(p, s);
}

std::optional<Callable> elementwise(const Problem& p) {
  const std::int64_t n = p.what.params[0];
  Tensor a = placeholder("a", {n}, f32), b = placeholder("b", {n}, f32);
  Tensor added = compute("added", {n}, [&](Var i) { return a(i) + b(i); });
  Tensor positive = compute("positive", {n}, [&](Var i) { return relu(added(i)); });
  Tensor out = compute("out", {n}, [&](Var i) { return sigmoid(positive(i)); });
  Schedule s(program("add_relu_sigmoid", {a, b}, {out}));
  // One pass over memory, whose result is too large to be worth a place in the caches.
  s.compute_inline(s.block(added));
  s.compute_inline(s.block(positive));
  auto [chunk, row, lanes] = s.split(s.loops<1>(s.block(out))[0], {_, 512, 32});
  s.parallel(chunk);
  s.vectorize(lanes);
  s.store_hint(s.block(out), true);
  return kernel_callable(p, s);
}

const bool joined = register_ours("hand", "GMM", matmul) && register_ours("hand", "R50", convolution) &&
                    register_ours("hand", "EW", elementwise);

}  // namespace

}  // namespace lathe::bench
