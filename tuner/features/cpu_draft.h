#pragma once
// An analytic estimate of what a scheduled program costs on a CPU: what the search believes before the first measurement.
//
// A roofline for each innermost store. Cycles of arithmetic, of loads and stores, and of each cache level's traffic are
// estimated on their own; the largest counts in full and the others in part, since they overlap imperfectly:
//
//   arithmetic   vector operations of the body / throughput, or the latency of the accumulators where there are too few
//   loads        of one body: an element that does not move with the vector is broadcast, what is not contiguous is gathered
//   level C      lines that the largest inner nest which fits C touches, once an iteration of the loops round it
//
// The numbers are those of a current x86 core, on no particular scale: only the order of two schedules matters, and the
// learned model corrects what is wrong (the draft is its prior).

#include "tuner/features/program_view.h"

namespace lathe::tuner {

/// Cycles, of one thread's share.
struct StatementCost {
  double arithmetic = 0, loads = 0, overhead = 0;
  double second_level = 0, third_level = 0, memory = 0;  ///< traffic into L1, into L2, into the last level
  double accumulators = 0;                               ///< vector registers that the body's result takes
  double loads_per_operation = 0;
  double parallel = 1;  ///< trips of the parallel loops
  double parallel_speed = 1;
  double cycles = 0;  ///< all in all
};

struct CpuModel {
  double lanes_bits = 256, registers = 16, cores = 1;
  double l1 = 32 << 10, l2 = 256 << 10, l3 = 8 << 20;
  explicit CpuModel(const Target& target);
};

StatementCost cost(const StatementView& statement, const CpuModel& cpu);
/// Cycles of the whole program.
double cost(const ProgramView& program, const CpuModel& cpu);

/// Bytes that come into a cache of `capacity` bytes while the statement runs.
double traffic(const StatementView& statement, double capacity);

}  // namespace lathe::tuner
