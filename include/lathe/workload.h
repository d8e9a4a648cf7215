#pragma once
// Workloads: programs by name, with default schedules and templates.
//
//     Workload w = Workload::parse("conv2d(n=1,h=56,w=56,ci=64,co=64,k=3,p=1):f32");
//     Schedule s = w.default_schedule(Target::host());
//
// A specification is name(key=value,…):dtype; keys left out take their defaults, the dtype is f32 when left out. A user's
// operator joins with LATHE_WORKLOAD in a source file that is linked in, or in a shared object given to `lathe --load`:
//
//     LATHE_WORKLOAD(my_scale, "y = 2 x", {{"n", 1024, "elements"}}) {
//       Tensor x = placeholder("x", {args["n"]}, args.dtype());
//       Tensor y = compute("y", x.shape(), [&](Var i) { return x(i) * 2; });
//       return program("my_scale", {x}, {y});
//     }

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lathe/schedule.h"
#include "lathe/target.h"

namespace lathe {

/// The arguments of a workload: every key with its value, and the element type.
class WorkloadArgs {
 public:
  WorkloadArgs(std::map<std::string, std::int64_t> values, DataType dtype)
      : values_(std::move(values)), dtype_(dtype) {}
  /// Throws UserError (LTH-W003) for a key that the workload does not have.
  std::int64_t operator[](const std::string& key) const;
  DataType dtype() const { return dtype_; }
  /// Throws UserError (LTH-W004) with the sentence unless `condition`: for values that do not fit one another.
  void require(bool condition, const std::string& sentence) const;
  const std::map<std::string, std::int64_t>& values() const { return values_; }

 private:
  std::map<std::string, std::int64_t> values_;
  DataType dtype_;
};

struct WorkloadParam {
  std::string key;
  std::int64_t default_value;
  std::string about;
};

/// An operator that can be asked for by name.
struct WorkloadKind {
  std::string name, about;
  std::vector<WorkloadParam> params;
  std::function<Program(const WorkloadArgs&)> build;
  /// A schedule for any shape, no decision open; empty: `apply_rules`.
  std::function<void(Schedule&, const Target&)> schedule = {};
};

/// Adds a kind; returns true. Throws UserError (LTH-W002) when the name is taken.
bool register_workload(WorkloadKind kind);
/// All kinds, by name.
std::vector<WorkloadKind> workload_kinds();

#define LATHE_WORKLOAD(name, about, ...)                                           \
  static ::lathe::Program lathe_build_##name(const ::lathe::WorkloadArgs&);        \
  [[maybe_unused]] static const bool lathe_registered_##name =                     \
      ::lathe::register_workload({#name, about, __VA_ARGS__, lathe_build_##name}); \
  static ::lathe::Program lathe_build_##name([[maybe_unused]] const ::lathe::WorkloadArgs& args)

/// A workload with its arguments.
struct Workload {
  std::string spec;  ///< in canonical form: all keys, in the kind's order
  Program program;
  std::function<void(Schedule&, const Target&)> schedule;

  /// Reads a specification, or the name of a file with a program in JSON. Throws UserError: LTH-W001 malformed, LTH-W003
  /// unknown workload or key (with the nearest names), LTH-W004 an unfit value.
  static Workload parse(const std::string& spec);
  /// Decent for any shape, without tuning.
  Schedule default_schedule(const Target& target) const;
};

/// How `apply_rules` meets a choice.
enum class Choices : std::uint8_t {
  Fixed,  ///< takes a good value: a default schedule
  Open    ///< leaves it open (`sample_*`): a template for the tuner
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
