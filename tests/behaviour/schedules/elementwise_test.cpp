// Elementwise operators of the library against the C++ library.
#include <cmath>

#include "behaviour/schedules/check_operator.h"

using namespace lathe;
using namespace lathe::test;

namespace {

using Function = std::function<double(double)>;
const std::map<std::string, Function> kFunctions = {
    {"relu", [](double x) { return x < 0 ? 0.0 : x; }},
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::abs(x); }},
    {"square", [](double x) { return x * x; }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
    {"gelu", [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
    {"gelu_tanh",
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
     }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
};

Reference each_element(const std::vector<std::string>& chain) {
  return [chain](const Arrays& in, Arrays& out) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) {
      double v = in[0].get(i);
      for (const std::string& f : chain) v = kFunctions.at(f)(v);
      out[0].set(i, v);
    }
  };
}

}  // namespace

TEST_CASE("every function of one tensor") {
  std::size_t known = 0;
  for (const WorkloadKind& kind : workload_kinds()) {
    if (kind.name != "unary") continue;
    for (const std::string& name : kind.params[1].words) {
      INFO(name);
      ++known;
      for (const char* dtype : {"f32", "f64", "f16"}) {
        const double tolerance = dtype[1] == '1' ? 1e-3 : dtype[1] == '6' ? 1e-13 : 1e-6;
        CHECK(check_operator("unary(shape=3x19,op=" + name + "):" + dtype, each_element({name}), Data::Reals,
                             tolerance) == "");
      }
    }
  }
  CHECK(known == kFunctions.size());
}

TEST_CASE("chains of functions in one pass") {
  CHECK(check_operator("unary(shape=1003,op=abs+sqrt+tanh)", each_element({"abs", "sqrt", "tanh"}),
                       Data::Reals, 1e-6) == "");
  CHECK(check_operator("unary(shape=2x3x4x5,op=neg+relu+square):i8",
                       each_element({"neg", "relu", "square"})) == "");
  CHECK(check_operator("unary(shape=1,op=square+exp+log):f64", each_element({"square", "exp", "log"}),
                       Data::Reals, 1e-12) == "");
  CHECK(check_operator("unary(shape=4x0,op=exp)", each_element({"exp"})) == "");
  // Rounded once, at the end: x*x of 300 is no f16.
  const Workload w = Workload::parse("unary(shape=1,op=square+sqrt):f16");
  const Arrays out = run_compiled(w.program, compile(w.default_schedule(Target::host()), Target::host()),
                                  {interp::Array::full(f16, {1}, 300)});
  CHECK(out[0].get(0) == 300);
}

TEST_CASE("functions of two tensors, broadcast as in NumPy") {
  struct Shapes {
    std::vector<std::int64_t> a, b;
  };
  for (const Shapes& shapes : std::vector<Shapes>{{{7}, {7}},
                                                  {{5, 17}, {17}},
                                                  {{5, 17}, {5, 1}},
                                                  {{1}, {3, 4}},
                                                  {{4, 1, 9}, {3, 1}},
                                                  {{2, 3, 4}, {2, 3, 4}},
                                                  {{0, 3}, {3}}}) {
    for (const std::string op : {"add", "sub", "mul", "div", "min", "max", "pow"}) {
      for (const char* dtype : {"f32", "f16", "i32"}) {
        if (op == "pow" && dtype[0] == 'i') continue;
        const std::string spec =
            "binary(a=" + joined(shapes.a, 'x') + ",b=" + joined(shapes.b, 'x') + ",op=" + op + "):" + dtype;
        const Reference reference = [&](const Arrays& in, Arrays& out) {
          each_position(out[0].shape(), [&](const auto& at) {
            auto read = [&](const interp::Array& x) {
              std::vector<std::int64_t> from(at.end() - std::ptrdiff_t(x.shape().size()), at.end());
              for (std::size_t d = 0; d < from.size(); ++d) from[d] = x.shape()[d] == 1 ? 0 : from[d];
              return x.get(from);
            };
            const double a = read(in[0]), b = read(in[1]);
            const bool whole = dtype[0] == 'i';
            out[0].set(at, op == "add"   ? a + b
                           : op == "sub" ? a - b
                           : op == "mul" ? a * b
                           : op == "min" ? std::min(a, b)
                           : op == "max" ? std::max(a, b)
                           : op == "pow" ? std::pow(a, b)
                           : whole       ? (b == 0 ? 0 : std::trunc(a / b))
                                         : a / b);
          });
        };
        CHECK(check_operator(spec, reference, Data::Integers,
                             op == "pow" || op == "div" ? 1e-3 * (dtype[1] == '1') + 1e-6 : 0) == "");
      }
    }
  }
}

TEST_CASE("add, relu and sigmoid in one pass") {
  for (const char* args : {"n=1", "n=1003", "n=0", "n=64"}) {
    for (const char* dtype : {"f32", "f64"}) {
      CHECK(check_operator(
                std::string("add_relu_sigmoid(") + args + "):" + dtype,
                [](const Arrays& in, Arrays& out) {
                  for (std::int64_t i = 0; i < out[0].size(); ++i)
                    out[0].set(i, 1 / (1 + std::exp(-std::max(0.0, in[0].get(i) + in[1].get(i)))));
                },
                Data::Reals, 1e-6) == "");
    }
  }
}
