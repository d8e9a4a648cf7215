#pragma once
// Compiling a batch in worker processes.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tuner/measure/child_process.h"
#include "tuner/measure/measurer.h"

namespace lathe::tuner {

struct Build {
  Measurement result;  ///< a failure, or nothing but the object's size
  std::string object;
};

class Builders {
 public:
  Builders(WorkerCommand command, int count, std::uint64_t memory_bytes);

  /// One result a candidate, in their order; nothing at all when `options.stop` said so. The time-out counts from when a
  /// worker takes the candidate up.
  std::vector<Build> build(const Target& target, std::span<const Candidate> batch,
                           const MeasureOptions& options);

 private:
  struct Slot;
  void take_up(Slot& slot, int candidate, const Target& target, const Program& program,
               const MeasureOptions& options);
  void finish(Slot& slot, Build& build, const MeasureOptions& options);

  WorkerCommand command_;
  std::uint64_t memory_bytes_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace lathe::tuner
