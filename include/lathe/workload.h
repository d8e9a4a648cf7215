#pragma once
// Workloads: programs by name, with default schedules and templates.
//
//     Workload w = Workload::parse("conv2d(n=1,h=56,w=56,ci=64,co=64,k=3,p=1):f32");
//     Schedule s = w.default_schedule(Target::host());
//
// A specification is name(key=value,…):dtype; keys left out take their defaults, the dtype is f32 when left out. A value is
// a number, a list (a shape 8x16x32, axes 0+2) or a word that the key knows (layout=nchw).
// A user's operator joins with LATHE_WORKLOAD in a source file that is linked in, or in a shared object given to
// `lathe --load`; one with LATHE_SCHEDULE has a schedule of its own, the others are scheduled by rules:
//
//     LATHE_WORKLOAD(my_scale, "y = 2 x", {{"n", 1024, "elements"}}) {
//       Tensor x = placeholder("x", {args["n"]}, args.dtype());
//       Tensor y = compute("y", x.shape(), [&](Var i) { return x(i) * 2; });
//       return program("my_scale", {x}, {y});
//     }
//     LATHE_SCHEDULE(my_scale) { schedule.vectorize(schedule.loops(schedule.block("y"))[0]); }

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lathe/schedule.h"
#include "lathe/target.h"

namespace lathe {

/// The value of a parameter: a number or a list of numbers.
struct WorkloadValue {
  std::vector<std::int64_t> items;
  char joint = 0;  ///< between the items of a list: 'x' or '+'; 0: a single number
  WorkloadValue(std::int64_t value = 0) : items{value} {}
  /// Extents, one a dimension: 8x16x32.
  static WorkloadValue extents(std::vector<std::int64_t> items) { return {std::move(items), 'x'}; }
  /// Positions or other things in a row: 0+2.
  static WorkloadValue list(std::vector<std::int64_t> items) { return {std::move(items), '+'}; }

 private:
  WorkloadValue(std::vector<std::int64_t> i, char j) : items(std::move(i)), joint(j) {}
};

struct WorkloadParam {
  std::string key;
  WorkloadValue default_value;
  std::string about;
  std::vector<std::string> words = {};  ///< names of the values 0, 1, …
  /// As a specification spells it.
  std::string spell(const WorkloadValue& value) const;
};

/// The arguments of a workload: every key with its value, and the element type.
class WorkloadArgs {
 public:
  /// `spec` is for errors.
  WorkloadArgs(std::string spec, std::map<std::string, WorkloadValue> values, DataType dtype)
      : spec_(std::move(spec)), values_(std::move(values)), dtype_(dtype) {}
  /// The (first) number. Throws UserError (LTH-W003) for a key that the workload does not have.
  std::int64_t operator[](const std::string& key) const { return list(key)[0]; }
  /// All numbers, at least one.
  const std::vector<std::int64_t>& list(const std::string& key) const;
  bool has(const std::string& key) const { return values_.count(key) != 0; }
  DataType dtype() const { return dtype_; }
  /// Throws UserError (LTH-W004) with the sentence unless `condition`: for values that do not fit one another.
  void require(bool condition, const std::string& sentence) const;

 private:
  std::string spec_;
  std::map<std::string, WorkloadValue> values_;
  DataType dtype_;
};

/// How a schedule that is made by a function meets a choice.
enum class Choices : std::uint8_t {
  Fixed,  ///< takes a good value: a default schedule
  Open    ///< leaves it open (`sample_*`): a template for the tuner
};

/// Schedules a program of any shape.
using WorkloadSchedule = std::function<void(Schedule&, const Target&, Choices)>;

/// An operator that can be asked for by name.
struct WorkloadKind {
  std::string name, about;
  std::vector<WorkloadParam> params;
  std::function<Program(const WorkloadArgs&)> build;
  WorkloadSchedule schedule = {};  ///< empty: `apply_rules`
};

/// Adds a kind; returns true. Throws UserError (LTH-W002) when the name is taken.
bool register_workload(WorkloadKind kind);
/// Gives a kind a schedule of its own; returns true. Throws UserError: LTH-W003 when there is no such kind, LTH-W002 when it
/// has one.
bool register_schedule(const std::string& name, WorkloadSchedule schedule);
/// All kinds, by name.
std::vector<WorkloadKind> workload_kinds();

/// The function that follows makes the program from `args`.
#define LATHE_WORKLOAD(name, about, ...)                                           \
  static ::lathe::Program lathe_build_##name(const ::lathe::WorkloadArgs&);        \
  [[maybe_unused]] static const bool lathe_registered_##name =                     \
      ::lathe::register_workload({#name, about, __VA_ARGS__, lathe_build_##name}); \
  static ::lathe::Program lathe_build_##name([[maybe_unused]] const ::lathe::WorkloadArgs& args)

/// The function that follows schedules `schedule` for `target`; it comes after the workload, in the same file.
#define LATHE_SCHEDULE(name)                                                                       \
  static void lathe_schedule_##name(::lathe::Schedule&, const ::lathe::Target&, ::lathe::Choices); \
  [[maybe_unused]] static const bool lathe_scheduled_##name =                                      \
      ::lathe::register_schedule(#name, lathe_schedule_##name);                                    \
  static void lathe_schedule_##name([[maybe_unused]] ::lathe::Schedule& schedule,                  \
                                    [[maybe_unused]] const ::lathe::Target& target,                \
                                    [[maybe_unused]] ::lathe::Choices choices)

/// A workload with its arguments.
struct Workload {
  std::string spec;  ///< in canonical form: all keys, in the kind's order
  Program program;
  WorkloadSchedule schedule;

  /// Reads a specification, or the name of a file with a program in JSON. Throws UserError: LTH-W001 malformed, LTH-W003
  /// unknown workload or key (with the nearest names), LTH-W004 an unfit value.
  static Workload parse(const std::string& spec);
  /// The workload's own schedule, or that of the rules, applied to `s`, a fresh schedule of `program`.
  void apply_schedule(Schedule& s, const Target& target, Choices choices) const;
  /// Decent for any shape, without tuning.
  Schedule default_schedule(const Target& target) const;
};

/// Schedules any program for a CPU by rules over its blocks: inline elementwise producers, compute the others in the rows of
/// their consumers, register-tile contractions with a packed operand, split row reductions into lanes, vectorise the
/// innermost contiguous loops, run the outer loops in parallel. `options` for tests and experiments.
struct RuleOptions {
  Choices choices = Choices::Fixed;
  bool parallel = true;
};
void apply_rules(Schedule& schedule, const Target& target, const RuleOptions& options = {});

}  // namespace lathe
