#include "schedules/library.h"

#include <algorithm>
#include <array>

namespace lathe {

// A static library brings along only those of its objects that something asks for; each family has a name to ask for.
#define LATHE_FAMILY(name) void link_##name();
#include "schedules/families.def"
#undef LATHE_FAMILY

void link_library() {
#define LATHE_FAMILY(name) link_##name();
#include "schedules/families.def"
#undef LATHE_FAMILY
}

}  // namespace lathe

namespace lathe::library {

DataType wide_type(DataType t) {
  if (t.bits >= 32) return t;
  return t.is_float() ? f32 : t.is_unsigned() ? u32 : i32;
}

DataType result_type(DataType t) { return t.is_float() ? t : wide_type(t); }

Expr wide(Expr e) {
  const DataType t = wide_type(e.dtype());
  return t == e.dtype() ? e : cast(t, std::move(e));
}

Expr narrow(Expr e, DataType t) {
  return e.dtype() == result_type(t) ? e : cast(result_type(t), std::move(e));
}

Expr wide_float(Expr e) { return e.dtype().is_float() ? wide(std::move(e)) : e; }

Expr narrow_float(Expr e, DataType t) { return t.is_float() ? narrow(std::move(e), t) : e; }

void need_number(const WorkloadArgs& args) {
  args.require(!args.dtype().is_bool(), "it computes with numbers, and bool is none");
}

void need_float(const WorkloadArgs& args) {
  args.require(args.dtype().is_float(), "it needs a floating-point type: f32, f64, f16, bf16");
}

Expr gelu(const Expr& x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  return x * (erf(x * make_float(x.dtype(), kSqrtHalf)) + make_float(x.dtype(), 1)) *
         make_float(x.dtype(), 0.5);
}

Expr gelu_tanh(const Expr& x) {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
  const DataType t = x.dtype();
  const Expr inner = (x + x * x * x * make_float(t, kCubic)) * make_float(t, kSqrtTwoOverPi);
  return x * (tanh(inner) + make_float(t, 1)) * make_float(t, 0.5);
}

std::vector<Expr> to_shape(const std::vector<std::int64_t>& extents) {
  return {extents.begin(), extents.end()};
}

std::vector<Expr> with_axes(const std::vector<Var>& at, const std::vector<bool>& reduced,
                            const std::vector<Axis>& axes) {
  std::vector<Expr> out;
  std::size_t kept = 0, axis = 0;
  for (bool r : reduced) {
    if (r)
      out.push_back(axes[axis++]);
    else
      out.push_back(at[kept++]);
  }
  return out;
}

std::size_t axis_of(const WorkloadArgs& args, const std::string& key, std::size_t rank) {
  const std::vector<bool> chosen = chosen_axes(args, key, rank);
  return static_cast<std::size_t>(std::find(chosen.begin(), chosen.end(), true) - chosen.begin());
}

std::vector<bool> chosen_axes(const WorkloadArgs& args, const std::string& key, std::size_t rank) {
  std::vector<bool> out(rank, false);
  for (std::int64_t axis : args.list(key)) {
    const std::string name = "axis " + std::to_string(axis);
    args.require(axis < static_cast<std::int64_t>(rank),
                 "\"" + key + "\" names " + name + " of a tensor with axes 0 to " + std::to_string(rank - 1));
    args.require(!out[static_cast<std::size_t>(axis)], "\"" + key + "\" names " + name + " twice");
    out[static_cast<std::size_t>(axis)] = true;
  }
  return out;
}

std::vector<std::int64_t> each(const WorkloadArgs& args, const std::string& key, std::size_t rank) {
  const std::vector<std::int64_t>& given = args.list(key);
  args.require(given.size() == 1 || given.size() == rank,
               "\"" + key + "\" is one number or " + std::to_string(rank) + " of them");
  return given.size() == rank ? given : std::vector<std::int64_t>(rank, given[0]);
}

void need_window(const WorkloadArgs& args, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                 std::int64_t dilation) {
  constexpr std::int64_t kMost = 1 << 20;  // so that no arithmetic on shapes overflows
  args.require(kernel >= 1, "the kernel size k is at least 1");
  args.require(stride >= 1, "the stride s is at least 1");
  args.require(dilation >= 1, "the dilation d is at least 1");
  args.require(std::max({kernel, stride, pad, dilation}) <= kMost,
               "k, s, p and d are at most " + std::to_string(kMost));
}

std::vector<Window> windows(const WorkloadArgs& args, const std::vector<std::string>& sizes) {
  const std::size_t rank = sizes.size();
  const auto k = each(args, "k", rank), s = each(args, "s", rank), p = each(args, "p", rank),
             d = each(args, "d", rank);
  std::vector<Window> out;
  for (std::size_t i = 0; i < rank; ++i) {
    const Window w{args[sizes[i]], k[i], s[i], p[i], d[i]};
    need_window(args, w.kernel, w.stride, w.pad, w.dilation);
    args.require(w.in + 2 * w.pad >= w.span(), "the kernel spans " + std::to_string(w.span()) + ", but \"" +
                                                   sizes[i] + "\" with its padding is " +
                                                   std::to_string(w.in + 2 * w.pad));
    out.push_back(w);
  }
  return out;
}

Tensor padded(const Tensor& x, const std::vector<Window>& windows, std::size_t spatial, Expr value) {
  if (std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.pad == 0; })) return x;
  std::vector<Expr> amounts(x.shape().size(), Expr(0));
  for (std::size_t i = 0; i < windows.size(); ++i) amounts[spatial + i] = windows[i].pad;
  return pad(x, amounts, amounts, std::move(value), "pad");
}

std::vector<WorkloadParam> window_params(std::int64_t k, std::int64_t s, std::int64_t p) {
  return {{"k", WorkloadValue::extents({k}), "kernel size"},
          {"s", WorkloadValue::extents({s}), "stride"},
          {"p", WorkloadValue::extents({p}), "padding on either side"},
          {"d", WorkloadValue::extents({1}), "dilation"}};
}

std::vector<WorkloadParam> operator+(std::vector<WorkloadParam> a, const std::vector<WorkloadParam>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace lathe::library
