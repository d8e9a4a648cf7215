// Halide as a peer, in a process of its own: its LLVM and ours in one process would be two of the same
// symbols.
//
//   lathe_bench_halide KEY P1,P2,... THREADS SCHEDULE CPUS
//
// SCHEDULE is hand, mullapudi or adams; CPUS a comma-separated list to run on. It compiles, prints "ready",
// and then answers lines of standard input: "run N" with the seconds that N runs took, "result" with a count
// and that many floats.
#include <Halide.h>
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "../harness/operators.h"

namespace {

using namespace Halide;
using lathe::bench::Case;
using lathe::bench::Problem;

constexpr int Lanes = 8;          // floats in a vector register
constexpr int Panel = 2 * Lanes;  // columns, or output channels, that a register tile covers

std::vector<std::int64_t> numbers(const std::string& list) {
  std::vector<std::int64_t> values;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) values.push_back(std::stoll(item));
  return values;
}

Buffer<float> view(const Problem& p, const char* name, const std::vector<int>& extents) {
  return Buffer<float>(const_cast<float*>(p.data(name)), extents);
}

struct Pipe {
  Func output;
  std::vector<int> extents;  // innermost first
  std::vector<std::pair<ImageParam, Buffer<float>>> inputs;
};

ImageParam input(Pipe& pipe, const char* name, const Buffer<float>& data) {
  ImageParam param(type_of<float>(), data.dimensions(), name);
  param.set(data);
  for (int d = 0; d < data.dimensions(); ++d) param.dim(d).set_estimate(0, data.dim(d).extent());
  pipe.inputs.emplace_back(param, data);
  return param;
}

// c(x, y) = sum over k of a(k, y) b(x, k). By hand: b packed into panels of sixteen columns, a 4x16 tile in
// registers.
Pipe matmul(const Problem& p, bool by_hand) {
  const auto& v = p.what.params;
  const int n = static_cast<int>(v[1]), m = static_cast<int>(v[2]), depth = static_cast<int>(v[3]);
  Pipe pipe;
  ImageParam a = input(pipe, "a", view(p, "a", {depth, n})), b = input(pipe, "b", view(p, "b", {m, depth}));
  Var x("x"), y("y"), xi("xi"), yi("yi"), k("k"), panel("panel");
  RDom r(0, depth);
  Func product("product"), out("out"), packed("packed");
  if (by_hand) {
    packed(xi, k, panel) = BoundaryConditions::constant_exterior(b, 0.0f)(panel * Panel + xi, k);
    product(x, y) += a(r, y) * packed(x % Panel, r, x / Panel);
  } else {
    product(x, y) += a(r, y) * b(x, r);
  }
  out(x, y) = product(x, y);
  if (by_hand) {
    const int rows = n >= 4 ? 4 : 1;
    out.tile(x, y, xi, yi, Panel, rows, TailStrategy::GuardWithIf)
        .reorder(xi, yi, y, x)
        .vectorize(xi, Lanes)
        .unroll(xi)
        .unroll(yi)
        .parallel(x);
    out.bound(x, 0, m).bound(y, 0, n);
    product.compute_at(out, y)
        .bound_extent(x, Panel)
        .bound_extent(y, rows)
        .vectorize(x, Lanes)
        .unroll(x)
        .unroll(y);
    product.update().reorder(x, y, r).vectorize(x, Lanes).unroll(x).unroll(y).unroll(r, 2);
    packed.compute_root().bound(xi, 0, Panel).vectorize(xi, Lanes).unroll(xi).parallel(panel);
  }
  out.set_estimates({{0, m}, {0, n}});
  pipe.output = out;
  pipe.extents = {m, n};
  return pipe;
}

// 3x3 convolution of unit stride, bias and relu. By hand: sixteen channels by four pixels in registers,
// weights packed ahead so that a tile's are contiguous.
Pipe convolution(const Problem& p, bool by_hand) {
  const auto& v = p.what.params;
  const int size = static_cast<int>(v[0]), ci = static_cast<int>(v[1]), co = static_cast<int>(v[2]);
  Pipe pipe;
  ImageParam x = input(pipe, "x", view(p, "x", {ci, size, size})),
             bias = input(pipe, "bias", view(p, "bias", {co}));
  Buffer<float> plain = view(p, "w", {co, ci, 3, 3});
  Var c("c"), i("i"), j("j"), cc("cc"), ii("ii");
  RDom r(0, ci, 0, 3, 0, 3);
  Func padded("padded"), conv("conv"), out("out");
  padded(c, i, j) = BoundaryConditions::constant_exterior(x, 0.0f)(c, i, j);
  if (by_hand) {
    Buffer<float> packed(Panel, ci, 3, 3, co / Panel);
    packed.for_each_element([&](int o, int channel, int kx, int ky, int panel) {
      packed(o, channel, kx, ky, panel) = plain(panel * Panel + o, channel, kx, ky);
    });
    ImageParam w = input(pipe, "w", packed);
    conv(c, i, j) += w(c % Panel, r.x, r.y, r.z, c / Panel) * padded(r.x, i + r.y - 1, j + r.z - 1);
  } else {
    ImageParam w = input(pipe, "w", plain);
    conv(c, i, j) += w(c, r.x, r.y, r.z) * padded(r.x, i + r.y - 1, j + r.z - 1);
  }
  out(c, i, j) = max(conv(c, i, j) + bias(c), 0.0f);
  if (by_hand) {
    const int pixels = 4;
    out.bound(c, 0, co).bound(i, 0, size).bound(j, 0, size);
    out.tile(c, i, cc, ii, Panel, pixels)
        .reorder(cc, ii, i, j, c)
        .vectorize(cc, Lanes)
        .unroll(cc)
        .unroll(ii)
        .parallel(c);
    conv.compute_at(out, i).bound_extent(c, Panel).vectorize(c, Lanes).unroll(c).unroll(i);
    conv.update().reorder(c, i, r.x, r.y, r.z).vectorize(c, Lanes).unroll(c).unroll(i).unroll(r.x, 2);
    padded.compute_root().vectorize(c, Lanes).parallel(j);
  }
  out.set_estimates({{0, co}, {0, size}, {0, size}});
  pipe.output = out;
  pipe.extents = {co, size, size};
  return pipe;
}

void use_cpus(const std::string& list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::int64_t cpu : numbers(list)) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void serve(Pipeline& pipeline, Buffer<float>& output) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line.rfind("run ", 0) == 0) {
      const int count = std::stoi(line.substr(4));
      const auto start = std::chrono::steady_clock::now();
      for (int n = 0; n < count; ++n) pipeline.realize(output);
      std::printf("%.9f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    } else if (line == "result") {
      std::printf("%zu\n", output.number_of_elements());
      std::fwrite(output.data(), sizeof(float), output.number_of_elements(), stdout);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string key = argv[1], schedule = argv[4];
  const Case what{key, numbers(argv[2]), true};
  const int threads = std::atoi(argv[3]);
  use_cpus(argv[5]);
  const Problem problem = lathe::bench::make_problem(what, threads);

  Pipe pipe = key == "GMM" ? matmul(problem, schedule == "hand") : convolution(problem, schedule == "hand");
  Pipeline pipeline(pipe.output);
  const Target target = get_host_target().with_feature(Target::NoAsserts).with_feature(Target::NoBoundsQuery);
  if (schedule != "hand") {
    const std::string plugin = schedule == "adams" ? "Adams2019" : "Mullapudi2016";
    load_plugin(std::string(LATHE_HALIDE_PLUGINS) + "/libautoschedule_" +
                (schedule == "adams" ? "adams2019" : "mullapudi2016") + ".so");
    pipeline.auto_schedule(plugin, target, MachineParams(schedule == "adams" ? 16 : threads, 32 << 20, 40));
  }
  pipeline.compile_jit(target);
  Buffer<float> output(pipe.extents);
  std::printf("ready\n");
  std::fflush(stdout);
  serve(pipeline, output);
  return 0;
}
