// Group `compile`: what a candidate costs the tuner before it runs, and what thousands of them leave behind.

#include <algorithm>
#include <fstream>
#include <string>

#include "../harness/bench.h"
#include "driver/code_options.h"
#include "lathe/runtime/timer.h"
#include "lathe/workload.h"

namespace lathe::bench {

namespace {

constexpr double BytesPerMegabyte = 1e6;

Figure figure_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples.front(), samples[samples.size() / 2]};
}

template <class Work>
Figure milliseconds(int samples, Work work) {
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) {
    runtime::Timer timer;
    work();
    all.push_back(timer.seconds() * 1e3);
  }
  return figure_of(std::move(all));
}

/// Resident memory of this process in bytes, by the kernel's count of pages.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

Row row_of(const std::string& key, const std::string& what, Unit unit, Figure ours) {
  Row row;
  row.group = "compile";
  row.key = key;
  row.what = what;
  row.unit = unit;
  row.ours = ours;
  return row;
}

/// The two halves of building a candidate: the trace onto the program and through our passes, then LLVM.
void time_candidate(const std::string& spec, const MeasureOptions& options, std::vector<Row>& rows) {
  const Target target = Target::host();
  const Workload workload = Workload::parse(spec);
  const Trace trace = workload.default_schedule(target).trace();
  const int samples = options.quick ? 10 : 40;
  Program lowered;
  const Figure ours = milliseconds(samples, [&] {
    Schedule s(workload.program);
    s.replay(trace);
    lowered = lower_until(s.program(), target);
  });
  const codegen::cpu::Machine machine = driver::machine_for(target);
  const Figure llvm = milliseconds(samples, [&] {
    const std::vector<char> object =
        codegen::cpu::compile_lowered(lowered, machine, driver::codegen_options(target));
    codegen::cpu::load(object, codegen::cpu::kernel_symbol(lowered));
  });
  rows.push_back(row_of("replay+lowering", spec, Unit::Milliseconds, ours));
  rows.push_back(row_of("llvm", spec, Unit::Milliseconds, llvm));
}

/// Growth of resident memory from the first kernel to the last, each released before the next.
Row grow(const MeasureOptions& options) {
  const int count = options.quick ? 500 : 10'000;
  const Target target = Target::host();
  double first = 0;
  for (int i = 0; i < count; ++i) {
    Tensor x = placeholder("x", {64 + i}, f32);
    Tensor y = compute("y", {64 + i}, [&](Var v) { return relu(x(v)) * 2.f; });
    Schedule s(program("kernel", {x}, {y}));
    s.vectorize(s.loops<1>(s.block(y))[0]);
    const Kernel kernel = compile(s, target);
    if (i == 0) first = resident_bytes();
  }
  const double grown = (resident_bytes() - first) / BytesPerMegabyte;
  return row_of("resident memory", std::to_string(count) + " kernels", Unit::Megabytes, {grown, grown});
}

std::vector<Row> measure(const MeasureOptions& options) {
  std::vector<Row> rows;
  if (options.threads != 1) return rows;  // building has one
  time_candidate("matmul(m=512,n=512,k=512):f32", options, rows);
  time_candidate("conv2d_bias_relu(h=56,w=56,ci=64,co=64,k=3,s=1,p=1):f32", options, rows);
  rows.push_back(grow(options));
  return rows;
}

const bool joined = register_measurement("compile", measure);

}  // namespace

}  // namespace lathe::bench
