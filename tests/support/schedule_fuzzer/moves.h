#pragma once
// Random steps of a schedule.
//
// A move is a primitive and a seed. It draws its operands from the schedule as it stands, by the names of blocks and
// loops hashed with the seed rather than by position: when a failing sequence is shrunk, the moves that remain go on
// meaning the same. Most operands are sensible; some are stale handles, loops of other blocks, factors of zero.

#include <cstdint>
#include <string>
#include <vector>

#include "lathe/schedule.h"
#include "support/schedule_fuzzer/random.h"

namespace lathe::fuzz {

struct Move {
  std::size_t kind = 0;  ///< into the table of moves
  std::uint64_t seed = 0;
};

/// What moves remember: handles seen so far, which may be stale.
struct Scene {
  std::vector<LoopRef> loops;
  std::vector<BlockRef> blocks;
  std::vector<Factor> factors;
};

/// A sequence of 1 .. `longest` moves.
std::vector<Move> random_moves(std::uint64_t seed, std::size_t longest);
const char* name_of(const Move& move);

/// Asks for the handles of all blocks and loops (which the trace records).
void look_round(Schedule& s, Scene& scene);
/// Applies the move; throws what the primitive throws.
void apply(const Move& move, Schedule& s, Scene& scene);

}  // namespace lathe::fuzz
