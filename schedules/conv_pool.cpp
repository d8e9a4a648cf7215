// A convolution whose results are pooled while they are in registers.

#include "schedules/convolution.h"
#include "schedules/tiling.h"

namespace lathe {

using namespace library;

void link_conv_pool() {}

LATHE_WORKLOAD(conv2d_max_pool,
               "convolution of images, then the greatest value of each pool x pool window (nhwc)",
               channels_last_params(image_params(), 3, 1, 1) +
                   std::vector<WorkloadParam>{{"pool", 2, "size and stride of the pooling window"}}) {
  const Convolution c = convolution(args, {"h", "w"});
  const DataType t = args.dtype();
  const std::int64_t pool = args["pool"], h = c.window[0].out(), w = c.window[1].out();
  args.require(pool >= 1, "the pooling window is at least 1");
  args.require(pool <= h && pool <= w, "the pooling window " + std::to_string(pool) +
                                           " is larger than the convolution's output, " + std::to_string(h) +
                                           " x " + std::to_string(w));
  Tensor x = placeholder("x", c.input_shape(), t), k = placeholder("k", c.weights_shape(), t, Constant);
  Tensor conv = c.apply(x, k);
  Axis py = reduce_axis(pool, "py"), px = reduce_axis(pool, "px");
  Tensor out = reduced("out", {c.n, h / pool, w / pool, c.co}, t, [&](const std::vector<Var>& at) {
    return max(conv(at[0], at[1] * pool + py, at[2] * pool + px, at[3]), {py, px});
  });
  return program("conv2d_max_pool", {x, k}, {out});
}

// For each tile of pooled pixels and channels: the convolution's tile in registers, then its maxima. The convolution's whole
// result never exists.
//
//     for image and row (parallel):
//       pad   the rows that this one sees
//       for tile of columns, tile of channels:
//         for ry, rx, rc:   conv[pool rows, pool * columns, channels] += pad * k
//         out[columns, channels] = max of conv
LATHE_SCHEDULE(conv2d_max_pool) {
  Schedule& s = schedule;
  if (computes_nothing(s)) return;
  const BlockRef conv = s.block("conv");
  // Sums by group are put together in a block of their own: a case for the rules.
  if (!s.get(conv).is_reduction()) return apply_rules(s, target, {.choices = choices});
  const BlockRef pool = s.consumers(conv)[0];
  const Registers registers = registers_of(target, s.get(conv).writes[0].buffer->dtype);
  auto [i, y, x, o, py, px] = s.loops<6>(pool);
  const std::int64_t window = s.extent(px).value();
  // Accumulators: window * window * columns * vectors, beside a vector of weights and a broadcast pixel. One vector of
  // channels and as many columns as there is room for load least.
  const std::int64_t room = registers.count - 2, best = std::max<std::int64_t>(1, room / (window * window));
  const Expr columns = choose(s, choices, best, {1, 2, 3, 4, 6}),
             channels = choose(s, choices, registers.lanes,
                               {registers.lanes, 2 * registers.lanes, 3 * registers.lanes});
  if (choices == Choices::Open && window * window <= room)
    s.require(columns * channels * (window * window) <= room * registers.lanes);
  auto [xo, xi] = s.split(x, {_, columns});
  auto [oo, oi] = s.split(o, {_, channels});
  s.reorder({i, y, xo, oo, xi, py, px, oi});
  for (LoopRef l : {xi, py, px}) s.unroll(l);
  s.vectorize(oi);

  s.compute_at(conv, oo);
  const std::vector<LoopRef> all = s.loops(conv);
  const std::vector<LoopRef> l(all.end() - 7, all.end());  // image, row, column, channel, ry, rx, rc
  s.reorder({l[4], l[5], l[6], l[0], l[1], l[2], l[3]});
  for (LoopRef tile : {l[1], l[2]}) s.unroll(tile);
  s.vectorize(l[3]);
  s.set_scope(conv, Scope::Local);

  for (BlockRef producer : s.producers(conv)) {
    s.compute_at(producer, y);
    const LoopRef channels = s.loops(producer).back();
    auto [co, ci] = s.split(channels, {_, registers.lanes});
    s.vectorize(ci);
  }
  parallelize(s, pool, 2);
  for (BlockRef rounding : s.consumers(pool)) {
    const LoopRef channels = s.loops(rounding).back();
    auto [co, ci] = s.split(channels, {_, registers.lanes});
    s.vectorize(ci);
    parallelize(s, rounding, 2);
  }
}

}  // namespace lathe
