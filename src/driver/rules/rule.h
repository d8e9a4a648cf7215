#pragma once
// Rules: how a program is scheduled that nobody has scheduled by hand.
//
// A rule looks at one block and, where it applies, rewrites the nest round it. The rules run in the order of a table, each
// over all blocks that there are when its turn comes; what one of them makes (copies, tiles) the later ones find. A step
// that the schedule refuses is dropped as a whole, so a program that fits no rule stays as it is: right, and slow.
//
// A rule asks `choose` for its factors. With Choices::Fixed it gets the value that the rule thinks best, which makes a
// default schedule; with Choices::Open the value is left open, the best one being its first option, and the trace is a
// template for the tuner.

#include <functional>
#include <vector>

#include "lathe/workload.h"

namespace lathe::rules {

/// The target, and how choices are met.
class Context {
 public:
  Context(const Target& target, const RuleOptions& options);

  std::int64_t lanes() const { return lanes_; }  ///< f32 elements of a vector
  /// Sums of the block's result in a vector.
  std::int64_t lanes(const Block& block) const;
  std::int64_t registers() const { return registers_; }  ///< vectors
  std::int64_t cores() const { return cores_; }
  std::int64_t second_level_bytes() const { return second_level_bytes_; }  ///< of one core
  std::int64_t last_level_bytes() const { return last_level_bytes_; }
  bool open() const { return options_.choices == Choices::Open; }
  bool parallel() const { return options_.parallel; }

  /// `best`, or an open choice among it and the others, called `name` ("block.what").
  Expr choose(Schedule& s, std::int64_t best, std::vector<std::int64_t> others,
              const std::string& name = {}) const;

 private:
  RuleOptions options_;
  std::int64_t lanes_, registers_, cores_, second_level_bytes_, last_level_bytes_;
};

struct Rule {
  const char* name;
  const char* summary;  ///< one line
  /// Gets a copy of the schedule, so that what it asks for does not enter the trace.
  bool (*applies)(Schedule&, BlockRef, const Context&);
  /// Throws ScheduleError when the schedule refuses a step; nothing of the rule is kept then.
  void (*apply)(Schedule&, BlockRef, const Context&);
};
/// In the order in which they run.
const std::vector<Rule>& table();

// ---- the rules, each in a file of its name

extern const Rule inline_elementwise;
extern const Rule tile_depthwise;
extern const Rule tile_narrow_contraction;
extern const Rule tile_contraction;
extern const Rule stream_contraction;
extern const Rule tile_transposition;
extern const Rule reduce_in_lanes;
extern const Rule compute_in_rows;
extern const Rule vectorize_rows;
extern const Rule run_in_parallel;
extern const Rule stream_stores;

// ---- what they ask about a schedule; nothing of it enters the trace

/// Applies `step` as a whole, or nothing of it; says which.
bool attempt(Schedule& s, const std::function<void(Schedule&)>& step);
bool alive(const Schedule& s, BlockRef b);
/// A large number when it is known at run time only.
std::int64_t extent(const Schedule& s, LoopRef l);
/// The loops that a block which was just made or moved has to itself, one a variable.
std::vector<LoopRef> own_loops(Schedule& s, BlockRef b);
std::size_t loop_count(const Schedule& s, BlockRef b);
/// Of the program as it is now, outermost first: valid until the next step.
std::vector<const For*> loops_round(const Schedule& s, BlockRef b);
std::vector<BlockRef> consumers_of(const Schedule& s, BlockRef b);
/// Iterations of all loops round the block.
double iterations(const Schedule& s, BlockRef b);
/// Is it a parameter that is prepared ahead of the calls?
bool is_constant(const Schedule& s, const Buffer& buffer);
bool writes_output(const Schedule& s, BlockRef b);
bool has_loop_of_kind(const Schedule& s, BlockRef b, ForKind kind);
/// Extents that are known at run time only count once.
double bytes_of(const Buffer& buffer);
/// The value of a constant or of a decided factor.
std::int64_t value_of(const Schedule& s, const Expr& factor);
/// Positions of the block's spatial variables.
std::vector<std::size_t> spatial_variables(const Block& block);
/// Does the access mention the variable in any subscript?
bool mentions(const BufferRegion& access, const Var& var);

}  // namespace lathe::rules
