// Pooling: the greatest or the mean value of each window, or of each channel as a whole.

#include <limits>

#include "schedules/convolution.h"

namespace lathe {

using namespace library;

void link_pooling() {}

namespace {

std::vector<WorkloadParam> pool_params(std::int64_t k, std::int64_t s) {
  const std::vector<WorkloadParam> channels = {{"c", 64, "channels"}}, layout = {layout_param()};
  return image_params(112) + channels + window_params(k, s, 0) + layout;
}
std::vector<WorkloadParam> global_params() {
  return image_params(7) + std::vector<WorkloadParam>{{"c", 2048, "channels"}, layout_param()};
}

/// Images [n,h,w,c] or [n,c,h,w] under one way of writing.
struct Images {
  bool nchw;
  explicit Images(const WorkloadArgs& args) : nchw(args["layout"] == 1) {}
  std::vector<Expr> at(const Expr& i, const Expr& y, const Expr& x, const Expr& c) const {
    return nchw ? std::vector<Expr>{i, c, y, x} : std::vector<Expr>{i, y, x, c};
  }
  std::size_t spatial() const { return nchw ? 2 : 1; }
  std::size_t channel() const { return nchw ? 1 : 3; }
};

std::vector<Window> pool_windows(const WorkloadArgs& args) {
  std::vector<Window> out = windows(args, {"h", "w"});
  for (const Window& w : out)
    args.require(w.pad < w.span(),
                 "a padding of " + std::to_string(w.pad) + " leaves windows without a pixel");
  return out;
}

/// A value below all others.
Expr lowest(DataType t) {
  if (t.is_float()) return make_float(t, -std::numeric_limits<double>::infinity());
  return make_int(t, t.is_unsigned() ? 0 : std::int64_t{1} << (t.bits - 1));
}

/// Rows (or columns) of the image that the window at output `y` covers.
Expr covered(const Window& w, const Expr& y) {
  if (w.pad == 0) return Expr(w.kernel);
  // Taps r with 0 <= y*s - p + r*d < in: from ceil((p - y*s) / d) up to ceil((in + p - y*s) / d).
  const Expr start = w.pad - times(y, w.stride);
  const Expr first = max(floordiv(start + (w.dilation - 1), w.dilation), 0);
  const Expr end = min(floordiv(start + (w.in + w.dilation - 1), w.dilation), w.kernel);
  return end - first;
}

}  // namespace

LATHE_WORKLOAD(max_pool, "the greatest value of each window; padding is not counted", pool_params(2, 2)) {
  need_number(args);
  const Images images(args);
  const std::vector<Window> window = pool_windows(args);
  const Window &wy = window[0], &wx = window[1];
  Tensor x = placeholder("x", images.at(args["n"], wy.in, wx.in, args["c"]), args.dtype());
  Tensor pad = padded(x, window, images.spatial(), lowest(args.dtype()));
  Axis ry = reduce_axis(wy.kernel, "ry"), rx = reduce_axis(wx.kernel, "rx");
  Tensor out =
      compute("out", images.at(args["n"], wy.out(), wx.out(), args["c"]), [&](const std::vector<Var>& at) {
        const Expr y = wy.at(at[images.spatial()], ry), z = wx.at(at[images.spatial() + 1], rx);
        return max(pad(images.at(at[0], y, z, at[images.channel()])), {ry, rx});
      });
  return program("max_pool", {x}, {out});
}

LATHE_WORKLOAD(avg_pool, "the mean of each window; pad_counts: padding counts as zeros",
               pool_params(2, 2) +
                   std::vector<WorkloadParam>{{"pad_counts", 0, "1: divide by k*k at the border too"}}) {
  need_float(args);
  const Images images(args);
  const std::vector<Window> window = pool_windows(args);
  const Window &wy = window[0], &wx = window[1];
  const DataType t = wide_type(args.dtype());
  Tensor x = placeholder("x", images.at(args["n"], wy.in, wx.in, args["c"]), args.dtype());
  Tensor pad = padded(x, window, images.spatial(), zero(args.dtype()));
  Axis ry = reduce_axis(wy.kernel, "ry"), rx = reduce_axis(wx.kernel, "rx");
  const std::vector<Expr> shape = images.at(args["n"], wy.out(), wx.out(), args["c"]);
  Tensor total = compute("total", shape, [&](const std::vector<Var>& at) {
    const Expr y = wy.at(at[images.spatial()], ry), z = wx.at(at[images.spatial() + 1], rx);
    return sum(wide(pad(images.at(at[0], y, z, at[images.channel()]))), {ry, rx});
  });
  Tensor out = compute("out", shape, [&](const std::vector<Var>& at) {
    Expr count = Expr(wy.kernel * wx.kernel);
    if (args["pad_counts"] == 0)
      count = covered(wy, at[images.spatial()]) * covered(wx, at[images.spatial() + 1]);
    return narrow(total(at) / cast(t, count), args.dtype());
  });
  return program("avg_pool", {x}, {out});
}

LATHE_WORKLOAD(global_max_pool, "the greatest value of each channel of an image, out[n,c]", global_params()) {
  need_number(args);
  const Images images(args);
  Tensor x = placeholder("x", images.at(args["n"], args["h"], args["w"], args["c"]), args.dtype());
  Axis ry = reduce_axis(args["h"], "ry"), rx = reduce_axis(args["w"], "rx");
  Tensor out = compute("out", {args["n"], args["c"]}, [&](Var i, Var c) {
    return max(x(images.at(i, ry, rx, c)), {ry, rx});
  });
  return program("global_max_pool", {x}, {out});
}

LATHE_WORKLOAD(global_avg_pool, "the mean of each channel of an image, out[n,c]", global_params()) {
  need_float(args);
  const Images images(args);
  const DataType t = args.dtype();
  Tensor x = placeholder("x", images.at(args["n"], args["h"], args["w"], args["c"]), t);
  Axis ry = reduce_axis(args["h"], "ry"), rx = reduce_axis(args["w"], "rx");
  Tensor total = compute("total", {args["n"], args["c"]}, [&](Var i, Var c) {
    return sum(wide(x(images.at(i, ry, rx, c))), {ry, rx});
  });
  const Expr count =
      make_float(wide_type(t), static_cast<double>(args["h"]) * static_cast<double>(args["w"]));
  Tensor out = compute("out", total.shape(), [&](Var i, Var c) { return narrow(total(i, c) / count, t); });
  return program("global_avg_pool", {x}, {out});
}

}  // namespace lathe
