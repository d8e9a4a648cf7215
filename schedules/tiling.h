#pragma once
// Steps that several schedules of the library take.

#include "lathe/workload.h"

namespace lathe::library {

/// What a target gives to register tiles of `dtype`.
struct Registers {
  std::int64_t lanes;  ///< elements of a vector
  std::int64_t count;  ///< vector registers
};
Registers registers_of(const Target& target, DataType dtype);

/// `value`, or, when choices are open, a choice of which it is the first option.
Expr choose(Schedule& s, Choices choices, std::int64_t value, std::vector<std::int64_t> others);

/// Has the program's last block no element to compute? Then there is nothing to schedule, and no block reads another.
bool computes_nothing(Schedule& s);

/// Makes a reduction over its innermost loop `last` one of `lanes` partial results, which are reduced at the end. The
/// results are reduced in the loop round `last`.
void reduce_in_lanes(Schedule& s, BlockRef block, LoopRef last, const Expr& lanes);

/// Runs the outermost loops of the block, `count` of them fused, in parallel.
void parallelize(Schedule& s, BlockRef block, std::size_t count);

}  // namespace lathe::library
