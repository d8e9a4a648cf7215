// Eigen, compiled for this machine's own instruction set.
#include <omp.h>

#include <Eigen/Core>

#include "../harness/bench.h"

namespace lathe::bench {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Matrix>;
using Output = Eigen::Map<Matrix>;
using ArrayIn = Eigen::Map<const Eigen::ArrayXf>;
using ArrayOut = Eigen::Map<Eigen::ArrayXf>;

std::vector<Callable> products(const Problem& p) {
  const Shape& v = p.what.params;
  Buffer c(element_count(p.output));
  const int threads = p.threads;
  auto run = [=] {
    Eigen::setNbThreads(threads);
    for (std::int64_t i = 0; i < v[0]; ++i) {
      Output(c.data() + i * v[1] * v[2], v[1], v[2]).noalias() =
          Input(p.data("a") + i * v[1] * v[3], v[1], v[3]) * Input(p.data("b") + i * v[3] * v[2], v[3], v[2]);
    }
  };
  return {make_callable("eigen", run, c)};
}

std::vector<Callable> matrix_vector(const Problem& p) {
  const Shape& v = p.what.params;
  Buffer y(v[0]);
  auto run = [=] {
    Eigen::setNbThreads(p.threads);
    Output(y.data(), v[0], 1).noalias() = Input(p.data("a"), v[0], v[1]) * Input(p.data("x"), v[1], 1);
  };
  return {make_callable("eigen", run, y)};
}

// Eigen runs these on one thread only.
std::vector<Callable> single_thread(const Problem& p) {
  if (p.threads > 1) return {};
  const Shape& v = p.what.params;
  Buffer y(element_count(p.output));
  std::function<void()> run;
  if (p.what.key == "NRM") {
    if (v[0] != 1) return {};
    run = [=] { y.data()[0] = ArrayIn(p.data("x"), p.operand("x").buffer.size()).matrix().norm(); };
  } else if (p.what.key == "TRN") {
    run = [=] { Output(y.data(), v[1], v[0]) = Input(p.data("x"), v[0], v[1]).transpose(); };
  } else if (p.what.key == "EW") {
    run = [=] {
      ArrayOut(y.data(), v[0]) =
          (ArrayIn(p.data("a"), v[0]) + ArrayIn(p.data("b"), v[0])).max(0.0f).logistic();
    };
  } else if (p.what.key == "exp") {
    run = [=] { ArrayOut(y.data(), v[0]) = ArrayIn(p.data("x"), v[0]).exp(); };
  } else if (p.what.key == "tanh") {
    run = [=] { ArrayOut(y.data(), v[0]) = ArrayIn(p.data("x"), v[0]).tanh(); };
  } else {
    run = [=] { ArrayOut(y.data(), v[0]) = ArrayIn(p.data("x"), v[0]).logistic(); };
  }
  return {make_callable("eigen", run, y)};
}

const bool joined = register_peer({"GMM"}, products) && register_peer({"GMV"}, matrix_vector) &&
                    register_peer({"NRM", "TRN", "EW", "exp", "tanh", "sigmoid"}, single_thread) &&
                    register_version([] {
                      return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                             std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
                    });

}  // namespace

}  // namespace lathe::bench
