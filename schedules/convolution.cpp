// Convolutions over one, two or three dimensions: with strides, padding, dilation and groups; depthwise; transposed.

#include "schedules/convolution.h"

#include <array>

namespace lathe {
namespace library {
namespace {

/// Names of the reduction over a kernel's dimensions, as many as there are.
std::vector<Axis> kernel_axes(const std::vector<Window>& windows) {
  static const std::array<const char*, 3> names = {"rz", "ry", "rx"};
  std::vector<Axis> out;
  for (std::size_t i = 0; i < windows.size(); ++i)
    out.push_back(reduce_axis(windows[i].kernel, names[3 - windows.size() + i]));
  return out;
}

}  // namespace

std::vector<WorkloadParam> channels_last_params(const std::vector<WorkloadParam>& sizes, std::int64_t k,
                                                std::int64_t s, std::int64_t p) {
  const std::vector<WorkloadParam> channels = {{"ci", 64, "input channels"}, {"co", 64, "output channels"}},
                                   groups = {{"g", 1, "groups"}};
  return sizes + channels + window_params(k, s, p) + groups;
}

std::vector<WorkloadParam> convolution_params(const std::vector<WorkloadParam>& sizes, std::int64_t k,
                                              std::int64_t s, std::int64_t p, const WorkloadParam& layout) {
  return channels_last_params(sizes, k, s, p) + std::vector<WorkloadParam>{layout};
}

Convolution convolution(const WorkloadArgs& args, const std::vector<std::string>& sizes) {
  need_number(args);
  Convolution c{
      args["n"],           args["ci"], args["co"], args["g"], args.has("layout") && args["layout"] == 1,
      windows(args, sizes)};
  args.require(c.groups >= 1, "there is at least 1 group");
  args.require(c.ci % c.groups == 0 && c.co % c.groups == 0,
               std::to_string(c.groups) + " groups do not divide the channels ci and co");
  return c;
}

std::vector<Expr> Convolution::image(std::int64_t channels, bool out) const {
  std::vector<Expr> shape = {n};
  if (channels_first) shape.push_back(channels);
  for (const Window& w : window) shape.push_back(out ? w.out() : w.in);
  if (!channels_first) shape.push_back(channels);
  return shape;
}

std::vector<Expr> Convolution::weights_shape() const {
  std::vector<Expr> shape;
  if (channels_first) shape = {co, ci / groups};
  for (const Window& w : window) shape.push_back(w.kernel);
  if (!channels_first) shape.insert(shape.end(), {ci / groups, co});
  return shape;
}

Tensor Convolution::apply(const Tensor& x, const Tensor& w) const {
  const std::size_t spatial = channels_first ? 2 : 1, rank = window.size();
  const Tensor in = padded(x, window, spatial, zero(x.dtype()));
  std::vector<Axis> axes = kernel_axes(window);
  const Axis rc = reduce_axis(ci / groups, "rc");
  axes.push_back(rc);
  // Subscripts of the image and the weights, for the output channel as it is known to each of them.
  auto product = [&](const std::vector<Var>& at, const Expr& channel, const Tensor& weights,
                     const std::vector<Expr>& filter) {
    const std::size_t first = spatial + (channels_first && filter.size() > 1 ? 1 : 0);
    std::vector<Expr> from = {at[0]}, tap;
    if (channels_first) {
      from.push_back(channel);
      tap = filter;
      tap.push_back(rc);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      from.push_back(window[i].at(at[first + i], axes[i]));
      tap.push_back(axes[i]);
    }
    if (!channels_first) {
      from.push_back(channel);
      tap.push_back(rc);
      tap.insert(tap.end(), filter.begin(), filter.end());
    }
    return sum(wide(in(from)) * wide(weights(tap)), axes);
  };
  const std::size_t c = channel_dimension();
  const std::int64_t each = co / groups;  // output channels of a group
  if (groups == 1 || each == 1) {
    return compute("conv", output_shape(), [&](const std::vector<Var>& at) {
      return product(at, groups == 1 ? Expr(rc) : at[c] * (ci / groups) + rc, w, {at[c]});
    });
  }
  // The groups are a dimension of their own, so that what depends on the group alone is seen to.
  auto split = [&](std::vector<Expr> shape, std::size_t d) {
    shape[d] = groups;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, each);
    return shape;
  };
  auto joined = [&](const std::vector<Var>& at, std::size_t d) {
    std::vector<Expr> from(at.begin(), at.end());
    from[d] = at[d] * each + at[d + 1];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    return from;
  };
  const std::vector<Expr> shape = weights_shape();
  const std::size_t filters = channels_first ? 0 : shape.size() - 1;
  const Tensor grouped = compute("filters", split(shape, filters),
                                 [&](const std::vector<Var>& at) { return w(joined(at, filters)); });
  const Tensor sums = compute("sums", split(output_shape(), c), [&](const std::vector<Var>& at) {
    return product(at, at[c] * (ci / groups) + rc, grouped, {at[c], at[c + 1]});
  });
  return compute("conv", output_shape(), [&](const std::vector<Var>& at) {
    std::vector<Expr> from(at.begin(), at.end());
    from[c] = floordiv(at[c], each);
    from.insert(from.begin() + static_cast<std::ptrdiff_t>(c) + 1, floormod(at[c], each));
    return sums(from);
  });
}

}  // namespace library

using namespace library;

void link_convolution() {}

namespace {

Program plain(const std::string& name, const WorkloadArgs& args, const std::vector<std::string>& sizes) {
  const Convolution c = convolution(args, sizes);
  const DataType t = args.dtype();
  Tensor x = placeholder("x", c.input_shape(), t), w = placeholder("k", c.weights_shape(), t, Constant);
  Tensor conv = c.apply(x, w);
  if (conv.dtype() != result_type(t))
    conv = compute("out", conv.shape(), [&](const std::vector<Var>& at) { return narrow(conv(at), t); });
  return program(name, {x, w}, {conv});
}

}  // namespace

LATHE_WORKLOAD(conv1d, "convolution of sequences, x[n,l,ci] * k[k,ci/g,co]",
               convolution_params({{"n", 1, "sequences"}, {"l", 256, "length"}}, 3, 2, 1,
                                  layout_param("nlc", "ncl"))) {
  return plain("conv1d", args, {"l"});
}

LATHE_WORKLOAD(conv2d, "convolution of images, x[n,h,w,ci] * k[k,k,ci/g,co]",
               convolution_params(image_params(), 3, 1, 1)) {
  return plain("conv2d", args, {"h", "w"});
}

LATHE_WORKLOAD(
    conv3d, "convolution of volumes, x[n,depth,h,w,ci] * k[k,k,k,ci/g,co]",
    convolution_params({{"n", 1, "volumes"}, {"depth", 16, "depth"}, {"h", 56, "height"}, {"w", 56, "width"}},
                       3, 1, 1, layout_param("ndhwc", "ncdhw"))) {
  return plain("conv3d", args, {"depth", "h", "w"});
}

LATHE_WORKLOAD(depthwise, "convolution of each channel by itself, x[n,h,w,c] * k[k,k,c] (nchw: k[c,k,k])",
               image_params(112) + std::vector<WorkloadParam>{{"c", 32, "channels"}} +
                   window_params(3, 1, 1) + std::vector<WorkloadParam>{layout_param()}) {
  need_number(args);
  const std::vector<Window> window = windows(args, {"h", "w"});
  const std::int64_t n = args["n"], c = args["c"];
  const bool nchw = args["layout"] == 1;
  const Window &wy = window[0], &wx = window[1];
  Tensor x =
      placeholder("x", nchw ? std::vector<Expr>{n, c, wy.in, wx.in} : std::vector<Expr>{n, wy.in, wx.in, c},
                  args.dtype());
  Tensor w = placeholder(
      "k", nchw ? std::vector<Expr>{c, wy.kernel, wx.kernel} : std::vector<Expr>{wy.kernel, wx.kernel, c},
      args.dtype(), Constant);
  Tensor pad = padded(x, window, nchw ? 2 : 1, zero(args.dtype()));
  Axis ry = reduce_axis(wy.kernel, "ry"), rx = reduce_axis(wx.kernel, "rx");
  const std::vector<Expr> shape =
      nchw ? std::vector<Expr>{n, c, wy.out(), wx.out()} : std::vector<Expr>{n, wy.out(), wx.out(), c};
  Tensor out = reduced("out", shape, args.dtype(), [&](const std::vector<Var>& at) {
    if (nchw)
      return sum(wide(pad(at[0], at[1], wy.at(at[2], ry), wx.at(at[3], rx))) * wide(w(at[1], ry, rx)),
                 {ry, rx});
    return sum(wide(pad(at[0], wy.at(at[1], ry), wx.at(at[2], rx), at[3])) * wide(w(ry, rx, at[3])),
               {ry, rx});
  });
  return program("depthwise", {x, w}, {out});
}

namespace {

// Every output of a transposed convolution is a sum over those taps whose distance fits the stride: tap r reaches output
// y = i*s - p + r from input i, so r = (y + p) mod s + q*s for q = 0, 1, …, and i = (y + p) div s - q. Written so, nothing is
// multiplied by the zeros that the textbook puts between the inputs. With y = u*s + v that is i = u + (v + p) div s - q and
// r = (v + p) mod s + q*s: for each phase v an ordinary convolution along u, all of whose outputs share their weights.
struct TransposedWindow {
  std::int64_t in, kernel, stride, pad, more;
  std::int64_t out() const { return (in - 1) * stride - 2 * pad + kernel + more; }
  /// Values of q.
  std::int64_t taps() const { return (kernel + stride - 1) / stride; }
  /// By which inputs are moved, so that the first one read, (0 + p) div s - (taps - 1), is at 0.
  std::int64_t shift() const { return taps() - 1 - pad / stride; }
  /// Values of u.
  std::int64_t steps() const { return (out() + stride - 1) / stride; }
  /// Inputs with the zeros before and behind them that are read.
  std::int64_t padded() const { return steps() + (stride - 1 + pad) / stride + shift(); }
  /// The input, among the padded ones, that tap q of phase v sees at step u.
  Expr input(const Expr& u, const Expr& v, const Expr& q) const {
    return u + floordiv(v + pad, stride) - q + shift();
  }
  /// Its weight.
  Expr tap(const Expr& v, const Expr& q) const { return floormod(v + pad, stride) + q * stride; }
};

std::vector<TransposedWindow> transposed_windows(const WorkloadArgs& args,
                                                 const std::vector<std::string>& sizes) {
  const std::size_t rank = sizes.size();
  const auto k = each(args, "k", rank), s = each(args, "s", rank), p = each(args, "p", rank),
             op = each(args, "op", rank);
  std::vector<TransposedWindow> out;
  for (std::size_t i = 0; i < rank; ++i) {
    const TransposedWindow w{args[sizes[i]], k[i], s[i], p[i], op[i]};
    args.require(w.in >= 1, sizes[i] + " is at least 1");
    need_window(args, w.kernel, w.stride, w.pad, 1);
    args.require(w.more < w.stride, "the output padding op is less than the stride s");
    args.require(w.out() >= 1, "the padding p takes off everything: " + sizes[i] + " would become " +
                                   std::to_string(w.out()));
    out.push_back(w);
  }
  return out;
}

}  // namespace

LATHE_WORKLOAD(conv2d_transposed,
               "transposed convolution, x[n,h,w,ci], k[k,k,ci,co]; out (h-1)s - 2p + k + op",
               image_params(8) +
                   std::vector<WorkloadParam>{
                       {"ci", 256, "input channels"},
                       {"co", 128, "output channels"},
                       {"k", WorkloadValue::extents({4}), "kernel size"},
                       {"s", WorkloadValue::extents({2}), "stride"},
                       {"p", WorkloadValue::extents({1}), "padding taken off either side"},
                       {"op", WorkloadValue::extents({0}), "more rows and columns at the end, below s"}}) {
  need_number(args);
  const std::vector<TransposedWindow> window = transposed_windows(args, {"h", "w"});
  const TransposedWindow &wy = window[0], &wx = window[1];
  const std::int64_t n = args["n"], ci = args["ci"], co = args["co"];
  Tensor x = placeholder("x", {n, wy.in, wx.in, ci}, args.dtype()),
         w = placeholder("k", {wy.kernel, wx.kernel, ci, co}, args.dtype(), Constant);
  Tensor pad = compute("pad", {n, wy.padded(), wx.padded(), ci}, [&](Var i, Var y, Var z, Var c) {
    return if_inside(x, {i, y - wy.shift(), z - wx.shift(), c}, zero(args.dtype()));
  });
  Axis qy = reduce_axis(wy.taps(), "qy"), qx = reduce_axis(wx.taps(), "qx"), rc = reduce_axis(ci, "rc");
  if (wy.stride == 1 && wx.stride == 1) {  // one phase: the convolution that it is
    Tensor out = reduced("out", {n, wy.out(), wx.out(), co}, args.dtype(), [&](const std::vector<Var>& at) {
      return sum(
          wide(pad(at[0], wy.input(at[1], 0, qy), wx.input(at[2], 0, qx), rc)) * wide(w(qy, qx, rc, at[3])),
          {qy, qx, rc});
    });
    return program("conv2d_transposed", {x, w}, {out});
  }
  // The weights by phase, with zeros up to a multiple of the stride, which are skipped.
  const bool even = wy.taps() * wy.stride == wy.kernel && wx.taps() * wx.stride == wx.kernel;
  Tensor taps =
      compute("taps", {wy.stride, wx.stride, wy.taps(), wx.taps(), ci, co}, [&](const std::vector<Var>& at) {
        const std::vector<Expr> from = {wy.tap(at[0], at[2]), wx.tap(at[1], at[3]), at[4], at[5]};
        return even ? w(from) : if_inside(w, from, zero(args.dtype()));
      });
  Tensor sums = reduced("sums", {n, wy.steps(), wy.stride, wx.steps(), wx.stride, co}, args.dtype(),
                        [&](const std::vector<Var>& at) {
                          const Expr term =
                              wide(pad(at[0], wy.input(at[1], at[2], qy), wx.input(at[3], at[4], qx), rc)) *
                              wide(taps(at[2], at[4], qy, qx, rc, at[5]));
                          const Expr is_tap = wy.tap(at[2], qy) < wy.kernel && wx.tap(at[4], qx) < wx.kernel;
                          return sum(even ? term : select(is_tap, term, zero(term.dtype())), {qy, qx, rc});
                        });
  Tensor out = compute("out", {n, wy.out(), wx.out(), co}, [&](Var i, Var y, Var z, Var o) {
    return sums(i, floordiv(y, wy.stride), floormod(y, wy.stride), floordiv(z, wx.stride),
                floormod(z, wx.stride), o);
  });
  return program("conv2d_transposed", {x, w}, {out});
}

}  // namespace lathe
