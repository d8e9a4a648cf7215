#include "support/schedule_fuzzer/fuzzer.h"

namespace lathe::fuzz {
namespace {

/// What a refused primitive, or one applied to a fork, must not change.
struct Snapshot {
  explicit Snapshot(const Schedule& s)
      : program(s.program()), hash(structural_hash(program)), steps(s.trace().steps.size()) {}
  bool same(const Schedule& s) const {
    return s.program().same_as(program) && structural_hash(s.program()) == hash &&
           s.trace().steps.size() == steps;
  }
  Program program;
  StructuralHash hash;
  std::size_t steps;
};

/// Applies one move; what it does wrong, if anything.
std::string step(const Move& move, Schedule& s, Scene& scene, Outcome& outcome) {
  look_round(s, scene);
  const Snapshot before(s);
  const Schedule fork = s.fork();
  const std::string name = name_of(move);
  try {
    apply(move, s, scene);
    ++outcome.accepted;
  } catch (const ScheduleError& error) {
    ++outcome.refused;
    if (std::string(error.what()).find(std::string(describe(error.code()).id)) == std::string::npos)
      return name + ": the error's text lacks its code\n" + error.what();
    // A move of two primitives may have done the first.
    if (s.trace().steps.size() == before.steps && !before.same(s))
      return name + ": refused, but the schedule has changed\n" + error.what();
  } catch (const InternalError& error) {
    return name + ": internal error: " + error.what();
  } catch (const std::exception& error) {
    return name + ": an exception that is no ScheduleError: " + error.what();
  }
  if (!before.same(fork)) return name + ": a fork taken before has changed";
  return "";
}

}  // namespace

Outcome run(const Subject& subject, const std::vector<Move>& moves, std::uint64_t seed,
            const OracleOptions& options) {
  Outcome outcome;
  auto decisions = std::make_shared<Random>(seed);
  Schedule s(subject.program,
             [decisions](const Instruction&, const std::vector<std::vector<std::int64_t>>& all) {
               return decisions->below(all.size());
             });
  Scene scene;
  for (const Move& move : moves) {
    *decisions = Random(move.seed);
    outcome.failure = step(move, s, scene, outcome);
    if (!outcome.failure.empty()) {
      outcome.steps = s.trace().to_cpp() + "  // then " + name_of(move) + ", of\n" + to_string(s.program());
      return outcome;
    }
  }
  outcome.failure = violated(subject, s, options);
  if (!outcome.failure.empty()) outcome.steps = s.trace().to_cpp();
  return outcome;
}

std::vector<Move> shrink(std::vector<Move> moves,
                         const std::function<bool(const std::vector<Move>&)>& fails) {
  for (std::size_t chunk = (moves.size() + 1) / 2; chunk > 0;) {
    bool dropped = false;
    for (std::size_t from = 0; from < moves.size();) {
      std::vector<Move> rest = moves;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(from),
                 rest.begin() + static_cast<std::ptrdiff_t>(std::min(from + chunk, rest.size())));
      if (fails(rest)) {
        moves = std::move(rest);
        dropped = true;
      } else {
        from += chunk;
      }
    }
    if (!dropped || chunk > moves.size()) chunk /= 2;
  }
  return moves;
}

std::string kind_of(const std::string& failure) { return failure.substr(0, failure.find('\n')); }

}  // namespace lathe::fuzz
