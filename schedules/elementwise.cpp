// Operators that work element by element: chains of functions, and two tensors with broadcasting.

#include <algorithm>

#include "schedules/library.h"

namespace lathe {

using namespace library;

void link_elementwise() {}

LATHE_WORKLOAD(add_relu_sigmoid, "sigmoid(relu(a + b)) over n elements, one pass",
               {{"n", 16777216, "elements"}}) {
  need_float(args);
  const DataType t = args.dtype();
  Tensor a = placeholder("a", {args["n"]}, t), b = placeholder("b", {args["n"]}, t);
  Tensor c = compute("c", a.shape(), [&](Var i) { return a(i) + b(i); });
  Tensor d = compute("d", a.shape(), [&](Var i) { return max(c(i), zero(t)); });
  Tensor out = compute("out", a.shape(), [&](Var i) { return sigmoid(d(i)); });
  return program("add_relu_sigmoid", {a, b}, {out});
}

namespace {

struct Unary {
  const char* name;
  bool any_number;  ///< not for floats alone
  Expr (*apply)(const Expr&);
};
const std::vector<Unary> kUnary = {
    {"relu", true, [](const Expr& x) { return max(x, zero(x.dtype())); }},
    {"neg", true, [](const Expr& x) { return zero(x.dtype()) - x; }},
    {"abs", true, [](const Expr& x) { return abs(x); }},
    {"square", true, [](const Expr& x) { return x * x; }},
    {"exp", false, [](const Expr& x) { return exp(x); }},
    {"log", false, [](const Expr& x) { return log(x); }},
    {"tanh", false, [](const Expr& x) { return tanh(x); }},
    {"erf", false, [](const Expr& x) { return erf(x); }},
    {"sigmoid", false, [](const Expr& x) { return sigmoid(x); }},
    {"silu", false, [](const Expr& x) { return x * sigmoid(x); }},
    {"gelu", false, [](const Expr& x) { return gelu(x); }},
    {"gelu_tanh", false, [](const Expr& x) { return gelu_tanh(x); }},
    {"sqrt", false, [](const Expr& x) { return sqrt(x); }},
    {"rsqrt", false, [](const Expr& x) { return rsqrt(x); }},
    {"sin", false, [](const Expr& x) { return sin(x); }},
    {"cos", false, [](const Expr& x) { return cos(x); }},
    {"floor", false, [](const Expr& x) { return floor(x); }},
    {"ceil", false, [](const Expr& x) { return ceil(x); }},
    {"round", false, [](const Expr& x) { return round(x); }},
    {"trunc", false, [](const Expr& x) { return trunc(x); }},
};

struct BinaryFunction {
  const char* name;
  bool any_number;
  Expr (*apply)(const Expr&, const Expr&);
};
const std::vector<BinaryFunction> kBinary = {
    {"add", true, [](const Expr& x, const Expr& y) { return x + y; }},
    {"sub", true, [](const Expr& x, const Expr& y) { return x - y; }},
    {"mul", true, [](const Expr& x, const Expr& y) { return x * y; }},
    {"div", true, [](const Expr& x, const Expr& y) { return x / y; }},
    {"min", true, [](const Expr& x, const Expr& y) { return min(x, y); }},
    {"max", true, [](const Expr& x, const Expr& y) { return max(x, y); }},
    {"pow", false, [](const Expr& x, const Expr& y) { return pow(x, y); }},
};

template <class Functions>
std::vector<std::string> names_of(const Functions& functions) {
  std::vector<std::string> out;
  for (const auto& f : functions) out.emplace_back(f.name);
  return out;
}

template <class Function>
void need_type_for(const WorkloadArgs& args, const Function& f) {
  need_number(args);
  args.require(f.any_number || args.dtype().is_float(),
               std::string(f.name) + " needs a floating-point type: f32, f64, f16, bf16");
}

/// NumPy's rule: shapes are aligned at their ends, and an axis of extent 1 serves all positions.
std::vector<std::int64_t> broadcast_shape(const WorkloadArgs& args, std::vector<std::int64_t> a,
                                          std::vector<std::int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  std::vector<std::int64_t> out;
  for (std::size_t d = 0; d < rank; ++d) {
    args.require(a[d] == b[d] || a[d] == 1 || b[d] == 1, "extents " + std::to_string(a[d]) + " and " +
                                                             std::to_string(b[d]) +
                                                             " do not broadcast to each other");
    out.push_back(a[d] == 1 ? b[d] : a[d]);
  }
  return out;
}
Expr broadcast_read(const Tensor& x, const std::vector<std::int64_t>& shape, const std::vector<Var>& at) {
  std::vector<Expr> from;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Var& index = at[at.size() - shape.size() + d];
    from.push_back(shape[d] == 1 ? Expr(0) : Expr(index));
  }
  return x(from);
}

}  // namespace

LATHE_WORKLOAD(unary, "functions of each element, one after another, in one pass",
               {{"shape", WorkloadValue::extents({1024, 1024}), "of x"},
                {"op", WorkloadValue::list({0}), "functions, the first one first: op=exp or op=abs+sqrt",
                 names_of(kUnary)}}) {
  const DataType t = args.dtype();
  Tensor x = placeholder("x", to_shape(args.list("shape")), t), y = x;
  const std::vector<std::int64_t>& chain = args.list("op");
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Unary& f = kUnary[static_cast<std::size_t>(chain[i])];
    need_type_for(args, f);
    const Tensor in = y;
    const bool last = i + 1 == chain.size();
    y = compute(last ? "y" : f.name, x.shape(), [&](const std::vector<Var>& at) {
      const Expr value = f.apply(wide_float(in(at)));
      return last ? narrow_float(value, t) : value;
    });
  }
  return program("unary", {x}, {y});
}

LATHE_WORKLOAD(binary,
               "a function of two tensors; axes of extent 1 are broadcast, shapes aligned at their ends",
               {{"a", WorkloadValue::extents({1024, 1024}), "shape of a"},
                {"b", WorkloadValue::extents({1024}), "shape of b"},
                {"op", 0, "the function", names_of(kBinary)}}) {
  const BinaryFunction& f = kBinary[static_cast<std::size_t>(args["op"])];
  need_type_for(args, f);
  const std::vector<std::int64_t>&sa = args.list("a"), &sb = args.list("b");
  const DataType t = args.dtype();
  Tensor a = placeholder("a", to_shape(sa), t), b = placeholder("b", to_shape(sb), t);
  Tensor y = compute("y", to_shape(broadcast_shape(args, sa, sb)), [&](const std::vector<Var>& at) {
    return narrow_float(f.apply(wide_float(broadcast_read(a, sa, at)), wide_float(broadcast_read(b, sb, at))),
                        t);
  });
  return program("binary", {a, b}, {y});
}

}  // namespace lathe
