#pragma once
// A compiled kernel as a callable: what the files of this folder hand to the harness.

#include <memory>
#include <stdexcept>

#include "../harness/bench.h"
#include "lathe/prepare.h"
#include "lathe/runtime/c_api.h"

namespace lathe::bench {

/// Runs the schedule on the problem's operands, in their order, and one output after them. The program's parameters must
/// have that order and those shapes; it and `make_problem` do not know of each other. What the schedule lays out ahead of
/// the calls is laid out here.
inline Callable kernel_callable(const Problem& problem, const Schedule& schedule) {
  auto kernel = std::make_shared<PreparedCode>();
  const Program& program = schedule.program();
  const Target target = Target::host();
  verify(schedule, target);
  *kernel = link_prepared(program->name, target, compile_prepared_object(program, target));
  Buffer output(element_count(problem.output));
  std::vector<void*> buffers;
  for (const Operand& operand : problem.operands) buffers.push_back(operand.buffer.data());
  buffers.push_back(output.data());
  if (kernel->prepare(buffers) != LATHE_OK) throw std::runtime_error(lathe_last_error());
  // The problem rides along: it owns the operands.
  auto run = [problem, kernel, buffers] {
    if (lathe_num_threads() != problem.threads) lathe_set_num_threads(problem.threads);  // makes a new pool
    if (kernel->run(buffers.data()) != LATHE_OK) throw std::runtime_error(lathe_last_error());
  };
  return make_callable("lathe", run, output);
}

}  // namespace lathe::bench
