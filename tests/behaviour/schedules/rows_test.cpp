// Softmax and normalisation of the library against plain loops.
#include <cmath>

#include "behaviour/schedules/check_operator.h"

using namespace lathe;
using namespace lathe::test;

namespace {

/// Softmax (or its logarithm) of x over `axis`, in double.
void plain_softmax(const interp::Array& x, std::size_t axis, bool logarithm, interp::Array& out) {
  std::vector<std::int64_t> outer = x.shape();
  outer[axis] = 1;
  each_position(outer, [&](std::vector<std::int64_t> at) {
    double total = 0;
    for (std::int64_t r = 0; r < x.shape()[axis]; ++r) at[axis] = r, total += std::exp(x.get(at));
    for (std::int64_t r = 0; r < x.shape()[axis]; ++r) {
      at[axis] = r;
      out.set(at, logarithm ? x.get(at) - std::log(total) : std::exp(x.get(at)) / total);
    }
  });
}

double tolerance_of(const std::string& dtype) {
  return dtype == "f16" ? 2e-3 : dtype == "bf16" ? 1.6e-2 : dtype == "f64" ? 1e-12 : 2e-6;
}

}  // namespace

TEST_CASE("softmax and log-softmax of rows") {
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    for (const char* size : {"m=1,n=1", "m=3,n=37", "m=2,n=64", "m=5,n=7", "m=0,n=3"}) {
      for (bool logarithm : {false, true}) {
        const std::string spec = std::string(logarithm ? "log_softmax(" : "softmax(") + size + "):" + dtype;
        CHECK(check_operator(
                  spec, [&](const Arrays& in, Arrays& out) { plain_softmax(in[0], 1, logarithm, out[0]); },
                  Data::Reals, tolerance_of(dtype)) == "");
      }
    }
  }
}

TEST_CASE("softmax and log-softmax over any axis") {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{7}, {5, 9}, {3, 17, 4}, {2, 3, 5, 8}}) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      for (bool logarithm : {false, true}) {
        std::string spec = logarithm ? "log_softmax_over" : "softmax_over";
        spec.append("(shape=").append(joined(shape, 'x'));
        spec.append(",axis=").append(str(std::int64_t(axis))).append(")");
        CHECK(check_operator(
                  spec, [&](const Arrays& in, Arrays& out) { plain_softmax(in[0], axis, logarithm, out[0]); },
                  Data::Reals, 2e-6) == "");
      }
    }
  }
}

TEST_CASE("softmax of large values does not overflow") {
  const Workload w = Workload::parse("softmax(m=1,n=3)");
  const Arrays out = run_compiled(w.program, compile(w.default_schedule(Target::host()), Target::host()),
                                  {interp::Array(f32, {1, 3}, {1e30, 1e30, -1e30})});
  CHECK(out[0] == interp::Array(f32, {1, 3}, {0.5, 0.5, 0}));
}

TEST_CASE("layer norm and rms norm") {
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    for (const auto& [m, n] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 50}, {2, 64}, {4, 7}, {0, 5}}) {
      const std::string args = "(m=" + str(m) + ",n=" + str(n) + "):" + dtype;
      auto rows = [&, m = m, n = n](bool centre) {
        return [=](const Arrays& in, Arrays& out) {
          for (std::int64_t i = 0; i < m; ++i) {
            double mean = 0, squares = 0;
            for (std::int64_t j = 0; centre && j < n; ++j) mean += in[0].get({i, j}) / double(n);
            for (std::int64_t j = 0; j < n; ++j) squares += std::pow(in[0].get({i, j}) - mean, 2) / double(n);
            for (std::int64_t j = 0; j < n; ++j)
              out[0].set({i, j}, (in[0].get({i, j}) - mean) / std::sqrt(squares + 1e-5) * in[1].get(j) +
                                     (centre ? in[2].get(j) : 0));
          }
        };
      };
      // A row of one element has variance 0: rounding of the mean is magnified by 1 / sqrt(1e-5).
      const double tolerance = tolerance_of(dtype) * 4;
      CHECK(check_operator("layer_norm" + args, rows(true), Data::Reals, tolerance) == "");
      CHECK(check_operator("rms_norm" + args, rows(false), Data::Reals, tolerance) == "");
    }
  }
}

TEST_CASE("batch norm with known statistics") {
  for (const char* layout : {"nhwc", "nchw"}) {
    const Workload w = Workload::parse(std::string("batch_norm(n=2,h=3,w=5,c=17,layout=") + layout + ")");
    Arrays in = interp::random_inputs(w.program, 3);
    for (std::int64_t c = 0; c < 17; ++c) in[2].set(c, std::abs(in[2].get(c)) + 0.1);
    const Arrays out =
        run_compiled(w.program, compile(w.default_schedule(Target::host()), Target::host()), in);
    interp::Array want(f64, out[0].shape());
    each_position(want.shape(), [&](const auto& at) {
      const std::int64_t c = at[layout[1] == 'c' ? 1 : 3];
      want.set(at,
               (in[0].get(at) - in[1].get(c)) / std::sqrt(in[2].get(c) + 1e-5) * in[3].get(c) + in[4].get(c));
    });
    CHECK(far_from(out[0], want, 1e-5) == "");
    CHECK(disagreement(w.default_schedule(avx2()), {}, 1e-5) == "");
  }
}

TEST_CASE("norm of matrices") {
  for (const char* size : {"b=1,m=1,n=1", "b=2,m=5,n=7", "b=1,m=16,n=33"}) {
    CHECK(check_operator(
              std::string("norm(") + size + ")",
              [](const Arrays& in, Arrays& out) {
                each_position(in[0].shape(), [&](const auto& at) {
                  out[0].set(at[0], out[0].get(at[0]) + std::pow(in[0].get(at), 2));
                });
                for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, std::sqrt(out[0].get(i)));
              },
              Data::Reals, 2e-6) == "");
  }
}
