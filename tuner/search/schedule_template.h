#pragma once
// A trace whose decisions are open.
//
// Rules schedule a program and ask `sample_*` for what they leave open. What they then do may depend on the answer: a step
// that is legal for one tile is not for another, and is left out. So running the rules gives several traces that differ in
// more than their decisions. Each is a *template*: the same steps for all the decisions that lead to it.
//
//   rules, answer by answer  ->  template 0: split split reorder … vectorize        decisions: j_1 in {16, 24}, i_1 in {4, 6}
//                                template 1: split … transform_layout … vectorize   decisions: j_1 in {8}, i_1 in {4, 6, 8}
//
// `discover` finds them: it runs the rules with the first answers, then with each single answer changed, and so on from each
// new template. An answer that was never seen to lead to a template is no option of it, which is validity by construction;
// what is left (answers that only together do not fit) the replay refuses.
//
// A loop's extent follows from the decisions without a replay where splits and fusions of the program's own loops made it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lathe/schedule.h"

namespace lathe::tuner {

using Decided = std::vector<std::int64_t>;  ///< of one `sample_*` step

/// How a loop's extent follows from the decisions.
struct ExtentRecipe {
  enum class Kind : std::uint8_t { Unknown, Constant, SplitPart, Fused };
  Kind kind = Kind::Unknown;
  std::int64_t constant = 0;
  std::vector<std::uint32_t> loops;  ///< split: the loop; fused: all of them
  std::vector<Arg> factors;          ///< split: as in the trace
  std::size_t position = 0;          ///< split: which part
};

struct OpenStep {
  std::size_t step = 0;         ///< in the trace
  std::string name;             ///< for people and for pinning: "C.j_1" is the loop j_1 of the block C
  std::string block;            ///< whose loop it is about; empty: not known
  Decided fallback;             ///< what the rules' first answer was
  std::vector<Decided> values;  ///< all options, in ascending order; empty: they depend on earlier decisions
};

class ScheduleTemplate {
 public:
  ScheduleTemplate(Program program, const Schedule& made);

  const Trace& trace() const { return trace_; }
  /// The steps without decisions, as text: equal for traces of one template.
  const std::string& skeleton() const { return skeleton_; }
  const std::vector<OpenStep>& open() const { return open_; }
  std::vector<OpenStep>& open() { return open_; }

  /// The options of open step `k` when those before it have been decided.
  const std::vector<Decided>& options(std::size_t k, const std::vector<Decided>& earlier) const;
  Trace with(const std::vector<Decided>& decisions) const;
  /// Do all `require` steps hold?
  bool meets_requirements(const std::vector<Decided>& decisions) const;

  /// Handle numbers of the loops whose extent follows from the decisions.
  std::vector<std::uint32_t> loops_with_recipes() const;
  /// The extent of a loop by handle number, where it follows from the decisions.
  std::optional<std::int64_t> extent(std::uint32_t loop, const std::vector<Decided>& decisions) const;

 private:
  void read_recipes(const Schedule& made);
  void name_open_steps(const Schedule& made);
  std::optional<std::int64_t> factor(std::uint32_t handle, const std::vector<Decided>& decisions) const;
  std::optional<std::int64_t> value(const Expr& e, const std::vector<Decided>& decisions) const;

  struct FactorSource {
    std::size_t open = 0, component = 0;
  };
  Program program_;
  Trace trace_;
  std::string skeleton_;
  std::vector<OpenStep> open_;
  std::map<std::uint32_t, FactorSource> factors_;
  std::map<std::uint32_t, ExtentRecipe> recipes_;
  std::map<const VarNode*, std::uint32_t> handles_;
  std::vector<Ref<Node>> kept_;  ///< keeps the variables that are keys alive
  std::vector<Expr> requirements_;
  mutable std::map<std::vector<Decided>, std::vector<Decided>> listed_;  ///< options that had to be asked for
};

/// The steps as text, without their decisions, and without what those were chosen from unless `choices`.
std::string skeleton_of(const Trace& trace, bool choices = true);

/// Schedules the whole program, leaving decisions open.
using Rule = std::function<void(Schedule&)>;

/// The templates that the rules lead to, the one of the first rule's first answers first. `most_runs` bounds the search.
/// A rule that throws a ScheduleError gives none.
std::vector<ScheduleTemplate> discover(const Program& program, const std::vector<Rule>& rules,
                                       int most_runs = 256);

}  // namespace lathe::tuner
