#pragma once
// What the operators of the library share.
//
// The library is written in the public language alone: every file here is an example of it. An operator is a function from
// arguments to a program (LATHE_WORKLOAD) and, where the rules do not suffice, a function that schedules it (LATHE_SCHEDULE).
//
// Types    Products and sums are formed in a *wide* type: f32 for f16 and bf16, 32 bits for 8- and 16-bit integers, the type
//   itself otherwise. A result of half type is rounded once, at the end; an integer result stays wide, as nothing says how
//   to scale it.
// Layouts  Row-major. Images are NHWC unless a key says nchw, their weights [k…, ci/g, co], or [co, ci/g, k…] with nchw.

#include "lathe/workload.h"

namespace lathe::library {

// ---- types

DataType wide_type(DataType t);
/// Of the result of an operator with arguments of type `t`.
DataType result_type(DataType t);
/// `e` in the wide type.
Expr wide(Expr e);
/// A wide `e` as a result of an operator with arguments of type `t`.
Expr narrow(Expr e, DataType t);
inline Expr zero(DataType t) { return make_const(t, 0); }
/// The same for functions of single elements: half types are computed in f32, all others in their own type.
Expr wide_float(Expr e);
Expr narrow_float(Expr e, DataType t);
/// Refuses types for which the operator has no meaning (LTH-W004).
void need_number(const WorkloadArgs& args);
void need_float(const WorkloadArgs& args);

/// A tensor whose element is a reduction of wide values, as a result for arguments of type `t`: half types get a second
/// compute that rounds. `f` takes `const std::vector<Var>&` and gives a Reduction.
template <class F>
Tensor reduced(const std::string& name, const std::vector<Expr>& shape, DataType t, F&& f) {
  if (result_type(t) == wide_type(t)) return compute(name, shape, f);
  Tensor sum = compute(name + "_wide", shape, f);
  return compute(name, shape, [&](const std::vector<Var>& at) { return narrow(sum(at), t); });
}

// ---- activations

/// x * P(X <= x) for a standard normal X (Hendrycks and Gimpel 2016), by erf; and their approximation by tanh.
Expr gelu(const Expr& x);
Expr gelu_tanh(const Expr& x);

// ---- shapes

std::vector<Expr> to_shape(const std::vector<std::int64_t>& extents);
/// The positions at which a reduction is read: `at` for the dimensions that are kept, `axes` for the others.
std::vector<Expr> with_axes(const std::vector<Var>& at, const std::vector<bool>& reduced,
                            const std::vector<Axis>& axes);
/// The axis that `key` names in a tensor of `rank` dimensions; checked (LTH-W004).
std::size_t axis_of(const WorkloadArgs& args, const std::string& key, std::size_t rank);
/// Whether each axis of `rank` ones is in the list `key`; each may be named once (LTH-W004).
std::vector<bool> chosen_axes(const WorkloadArgs& args, const std::string& key, std::size_t rank);
/// x*s without the factor 1.
inline Expr times(Expr x, std::int64_t s) { return s == 1 ? x : x * s; }

/// What a kernel sees in one dimension of an image.
struct Window {
  std::int64_t in = 1;      ///< size of the image
  std::int64_t kernel = 1;  ///< taps
  std::int64_t stride = 1;
  std::int64_t pad = 0;  ///< on either side
  std::int64_t dilation = 1;
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  std::int64_t out() const { return (in + 2 * pad - span()) / stride + 1; }
  /// What tap r sees at output y, in the padded image.
  Expr at(const Expr& y, const Expr& r) const { return times(y, stride) + times(r, dilation); }
};
/// The values of `key`, one for each of `rank` dimensions; one number serves all.
std::vector<std::int64_t> each(const WorkloadArgs& args, const std::string& key, std::size_t rank);
/// Checks what every window must fulfil (LTH-W004).
void need_window(const WorkloadArgs& args, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                 std::int64_t dilation);
/// The windows of the dimensions whose sizes are called `sizes`, from the keys k, s, p and d; each of these is one number
/// or one for each dimension. Checks that they fit (LTH-W004).
std::vector<Window> windows(const WorkloadArgs& args, const std::vector<std::string>& sizes);
/// The padded image; x itself where nothing is to be padded. `spatial` is the first spatial dimension of x.
Tensor padded(const Tensor& x, const std::vector<Window>& windows, std::size_t spatial, Expr value);

/// Keys of a window. `k`, `s`, `p`, `d` may be given as one number or one for each dimension (k=1x7).
std::vector<WorkloadParam> window_params(std::int64_t k, std::int64_t s, std::int64_t p);
/// One list of keys after another.
std::vector<WorkloadParam> operator+(std::vector<WorkloadParam> a, const std::vector<WorkloadParam>& b);

}  // namespace lathe::library
