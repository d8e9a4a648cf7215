#pragma once
// A compiled kernel as a callable: what the files of this folder hand to the harness.

#include <memory>
#include <stdexcept>

#include "../harness/bench.h"
#include "lathe/prepare.h"
#include "lathe/runtime/c_api.h"

namespace lathe::bench {

/// The addresses of the program's parameters: the problem's operands in their order, and the output after them. A program
/// may have several equal parameters where the problem has one array of them (three projections of one input).
inline std::vector<void*> addresses_of(const Problem& problem, const Buffer& output, const Program& program) {
  std::vector<void*> addresses;
  const auto add = [&](float* array, std::int64_t elements) {
    for (float* part = array; part < array + elements;) {
      std::int64_t size = 1;
      for (const Expr& e : program->params.at(addresses.size()).buffer->shape) size *= as_int(e).value();
      addresses.push_back(part);
      part += size;
    }
  };
  for (const Operand& operand : problem.operands) add(operand.buffer.data(), element_count(operand.shape));
  add(output.data(), output.size());
  return addresses;
}

/// Runs the schedule on the problem's operands. The program's parameters must have their order and shapes; it and
/// `make_problem` do not know of each other. What the schedule lays out ahead of the calls is laid out here.
inline Callable kernel_callable(const Problem& problem, const Schedule& schedule) {
  auto kernel = std::make_shared<PreparedCode>();
  const Program& program = schedule.program();
  const Target target = Target::host();
  verify(schedule, target);
  *kernel = link_prepared(program->name, target, compile_prepared_object(program, target));
  Buffer output(element_count(problem.output));
  std::vector<void*> buffers = addresses_of(problem, output, program);
  if (kernel->prepare(buffers) != LATHE_OK) throw std::runtime_error(lathe_last_error());
  // The problem rides along: it owns the operands.
  auto run = [problem, kernel, buffers] {
    if (lathe_num_threads() != problem.threads) lathe_set_num_threads(problem.threads);  // makes a new pool
    if (kernel->run(buffers.data()) != LATHE_OK) throw std::runtime_error(lathe_last_error());
  };
  return make_callable("lathe", run, output);
}

}  // namespace lathe::bench
