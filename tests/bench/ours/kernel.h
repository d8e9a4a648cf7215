#pragma once
// A compiled kernel as a callable: what the files of this folder hand to the harness.

#include <stdexcept>

#include "../harness/bench.h"
#include "lathe/compile.h"
#include "lathe/runtime/c_api.h"

namespace lathe::bench {

/// Runs `kernel` on the problem's operands, in their order, and one output after them. The kernel's parameters must have
/// that order and those shapes; `compile` and `make_problem` do not know of each other.
inline Callable kernel_callable(const Problem& problem, Kernel kernel) {
  Buffer output(element_count(problem.output));
  std::vector<void*> buffers;
  for (const Operand& operand : problem.operands) buffers.push_back(operand.buffer.data());
  buffers.push_back(output.data());
  // The problem rides along: it owns the operands.
  auto run = [problem, kernel, buffers] {
    if (lathe_num_threads() != problem.threads) lathe_set_num_threads(problem.threads);  // makes a new pool
    if (kernel.run(buffers.data(), nullptr) != LATHE_OK) throw std::runtime_error(lathe_last_error());
  };
  return make_callable("lathe", run, output);
}

}  // namespace lathe::bench
