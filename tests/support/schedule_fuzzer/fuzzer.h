#pragma once
// One seed of the schedule fuzzer: a subject, a sequence of moves, what must hold; and the shrinking of what fails.

#include <functional>

#include "support/schedule_fuzzer/moves.h"
#include "support/schedule_fuzzer/oracle.h"

namespace lathe::fuzz {

struct Outcome {
  std::string failure;  ///< "" when all is well; see `violated`
  int accepted = 0, refused = 0;
  std::string steps;  ///< the schedule as C++, and the last move when that failed
};

/// Applies the moves one by one. Each must either succeed or throw a ScheduleError whose text renders, leave a fork taken
/// before as it was, and, when refused, leave the schedule as it was. The schedule that remains must hold to `violated`.
Outcome run(const Subject& subject, const std::vector<Move>& moves, std::uint64_t seed,
            const OracleOptions& options = {});

/// Drops moves while `fails` holds of the rest.
std::vector<Move> shrink(std::vector<Move> moves, const std::function<bool(const std::vector<Move>&)>& fails);

/// The moves of a seed.
inline std::vector<Move> moves_of(std::uint64_t seed) { return random_moves(seed, 14); }

/// The first line of a failure, by which failures of one kind are recognised.
std::string kind_of(const std::string& failure);

}  // namespace lathe::fuzz
