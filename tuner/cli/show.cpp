#include <cstdio>
#include <iostream>
#include <optional>

#include "ir/printer.h"
#include "lathe/compile.h"
#include "schedule/edit.h"
#include "tuner/cli/loop_nest_diff.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

struct ShowArguments {
  std::string spec, as = "loops", after;
  bool steps = false, diff = false, unscheduled = false;
};

void print_step(const std::string& title, const Program& before, const Program& after, bool diff) {
  std::printf("---- %s\n%s", title.c_str(),
              (diff ? loop_nest_diff(before, after) : to_string(after)).c_str());
}

/// The loop nest after each step that changes it, below the call that made it.
void show_steps(const Program& program, const Trace& trace, bool diff) {
  print_step("the program as written", program, program, false);
  Schedule whole(program), s(program);
  whole.replay(trace);
  // Taken one by one the steps of a replay define the handles that they name, and what no step changed stays the same node.
  for (const Instruction& step : whole.trace().steps) {
    const Program before = s.program();
    Names names(before);
    const std::string call = schedule::describe_call(step, s.state().handles, &names);
    schedule::apply(s.state(), step, Site::current());
    if (s.program().same_as(before)) continue;
    print_step("step " + std::to_string(s.trace().steps.size()) + ": " + call, before, s.program(), diff);
  }
}

std::string form(const Workload& workload, const Schedule& schedule, const Target& target,
                 const std::string& as) {
  if (as == "trace") return schedule.trace().to_json();
  if (as == "cpp") return schedule.trace().to_cpp();
  if (as == "json") return to_json(workload.program, 1);
  if (as == "llvm") return llvm_ir(schedule.program(), target);
  if (as == "asm") return assembly(schedule.program(), target);
  return to_string(schedule.program());
}

/// "3f2ab1" and longer: a record of the store rather than a workload.
bool is_record(const std::string& text) {
  return text.size() >= 6 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

int show(const Context& context, const ShowArguments& options) {
  if (options.diff && !options.steps && options.after.empty()) {
    std::cerr << "lathe show: --diff compares with what was before: give --steps, or --after PASS\n";
    return kUsage;
  }
  const Target target = Target::parse(context.target);
  Workload workload;
  std::optional<Schedule> chosen;
  if (is_record(options.spec)) {
    const RecordStore store = open_to_read(context);
    const records::Trial trial = store.trial(options.spec);
    workload.program = program_from_json(store.trial_with_key(trial.id).value().workload.program_json);
    chosen = replay(workload, trial);
  } else {
    workload = Workload::parse(options.spec);
    if (!options.unscheduled) chosen = choose(workload, target, context).schedule;
  }
  const Schedule schedule = options.unscheduled ? Schedule(workload.program) : std::move(*chosen);
  if (options.steps) {
    show_steps(workload.program, schedule.trace(), options.diff);
  } else if (!options.after.empty()) {
    print_step("after " + options.after, schedule.program(),
               lower_until(schedule.program(), target, options.after), options.diff);
  } else {
    std::string text = form(workload, schedule, target, options.as);
    if (text.empty() || text.back() != '\n') text += '\n';
    std::cout << text;
  }
  return kDone;
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  auto options = std::make_shared<ShowArguments>();
  CLI::App* verb = app.add_subcommand("show", "Print a workload's schedule in one of its forms");
  verb->add_option("workload", options->spec,
                   "name(key=value,…):dtype, a program in JSON, or a record by leading digits of its id")
      ->required();
  add_target(*verb, context);
  add_db(*verb, context);
  add_cold(*verb, context);
  CLI::Option* as = verb->add_option("--as", options->as, "loops, trace, cpp, json, llvm or asm")
                        ->check(CLI::IsMember({"loops", "trace", "cpp", "json", "llvm", "asm"}))
                        ->capture_default_str();
  CLI::Option* after =
      verb->add_option("--after", options->after, "The program after this lowering pass")->excludes(as);
  verb->add_flag("--steps", options->steps, "The loop nest after each step")->excludes(as)->excludes(after);
  verb->add_flag("--diff", options->diff,
                 "With --steps or --after: mark the lines that are new (+) or went (-)");
  verb->add_flag("--unscheduled", options->unscheduled, "The program as written");
  context.does(*verb, [&context, options] { return show(context, *options); });
}

}  // namespace lathe::command_line
