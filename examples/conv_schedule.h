#pragma once
// A 3x3 convolution with bias and ReLU over an NHWC image, scheduled by hand: a tile of pixels by channels stays in
// registers from the first product to the ReLU.

#include "lathe/schedule.h"
#include "lathe/te.h"

namespace lathe::examples {

struct Convolution {
  /// An image of size x size pixels. `packed`: the weights come as [channels_out / Panel, 3, 3, channels_in, Panel], laid
  /// out ahead by whoever owns them; else as [3, 3, channels_in, channels_out].
  Convolution(std::int64_t size, std::int64_t channels_in, std::int64_t channels_out, bool packed)
      : packed(packed),
        x(placeholder("x", {size, size, channels_in}, f32)),
        w(placeholder("w",
                      packed ? std::vector<Expr>{channels_out / Panel, 3, 3, channels_in, Panel}
                             : std::vector<Expr>{3, 3, channels_in, channels_out},
                      f32, Constant)),
        bias(placeholder("bias", {channels_out}, f32, Constant)) {
    Axis ry = reduce_axis(3, "ry"), rx = reduce_axis(3, "rx"), rc = reduce_axis(channels_in, "rc");
    padded = compute("padded", {size + 2, size + 2, channels_in}, [&](Var y, Var z, Var c) {
      return if_inside(x, {y - 1, z - 1, c}, 0.f);
    });
    conv = compute("conv", {size, size, channels_out}, [&](Var y, Var z, Var o) {
      const Expr weight = packed ? w(floordiv(o, Panel), ry, rx, rc, floormod(o, Panel)) : w(ry, rx, rc, o);
      return sum(padded(y + ry, z + rx, rc) * weight, {ry, rx, rc});
    });
    out = compute("out", conv.shape(), [&](Var y, Var z, Var o) { return relu(conv(y, z, o) + bias(o)); });
  }
  Program program() const { return lathe::program("conv_bias_relu", {x, w, bias}, {out}); }

  static constexpr std::int64_t Panel = 16;  ///< channels of a tile: two vectors of AVX2
  bool packed;
  Tensor x, w, bias, padded, conv, out;
};

/// Schedules it for AVX2 with tiles of `pixels` by 16 channels.
inline void schedule_convolution(Schedule& s, const Convolution& c, std::int64_t pixels) {
  constexpr std::int64_t Panel = Convolution::Panel;
  BlockRef out = s.block(c.out), conv = s.block(c.conv), padded = s.block(c.padded);

  // A panel of weights meets all pixels before the next one comes.
  auto [y, z, o] = s.loops<3>(out);
  auto [panel, channel] = s.split(o, {_, Panel});
  auto [tile, pixel] = s.split(z, {_, pixels});
  s.reorder({panel, y, tile, pixel, channel});

  // The sums of a tile are computed where they are used, in registers.
  s.compute_at(conv, tile);
  auto [p, yy, pixel_tile, cy, cz, co, ry, rx, rc] = s.loops<9>(conv);
  s.reorder({ry, rx, rc, cy, cz, co});
  s.set_scope(conv, Scope::Local);
  for (LoopRef lanes : {channel, co}) s.vectorize(lanes);
  for (LoopRef side_by_side : {pixel, cz}) s.unroll(side_by_side);

  if (!c.packed) {
    BlockRef pack = s.cache_read(conv, c.w, Scope::Global);
    Var a("a"), b("b"), i("i"), j("j");
    s.transform_layout(pack, -1, IndexMap{{a, b, i, j}, {floordiv(j, Panel), a, b, i, floormod(j, Panel)}});
    s.compute_at(pack, panel);
    s.vectorize(s.loops(pack).back());
  }
  s.parallel(panel);

  auto [py, pz, pc] = s.loops<3>(padded);
  s.vectorize(pc);
  s.parallel(py);
}

}  // namespace lathe::examples
