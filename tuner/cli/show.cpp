#include <cstdio>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "lathe/compile.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

struct ShowArguments {
  std::string spec, as = "loops", after;
  bool steps = false, diff = false, unscheduled = false;
};

/// Lines of `after` that `before` does not have are marked.
void print_step(const std::string& title, const std::string& before, const std::string& after, bool diff) {
  std::printf("---- %s\n", title.c_str());
  if (!diff || before.empty()) {
    std::printf("%s\n", after.c_str());
    return;
  }
  std::multiset<std::string> known;
  std::stringstream old_lines(before), new_lines(after);
  for (std::string line; std::getline(old_lines, line);) known.insert(line);
  for (std::string line; std::getline(new_lines, line);) {
    auto it = known.find(line);
    std::printf("%c %s\n", it == known.end() ? '+' : ' ', line.c_str());
    if (it != known.end()) known.erase(it);
  }
}

/// The loop nest after each step that changes it.
void show_steps(const Program& program, const Trace& trace, bool diff) {
  std::string before;
  for (std::size_t n = 0; n <= trace.steps.size(); ++n) {
    Trace prefix;
    prefix.steps.assign(trace.steps.begin(), trace.steps.begin() + static_cast<std::ptrdiff_t>(n));
    Schedule s(program);
    s.replay(prefix);
    const std::string text = to_string(s.program());
    if (text != before) {
      print_step(n == 0 ? "the program" : "after " + std::to_string(n) + ": " + prefix.steps.back().op,
                 before, text, diff);
    }
    before = text;
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
    print_step("after " + options.after, to_string(schedule.program()),
               to_string(lower_until(schedule.program(), target, options.after)), options.diff);
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
  verb->add_option("--as", options->as, "loops, trace, cpp, json, llvm or asm")
      ->check(CLI::IsMember({"loops", "trace", "cpp", "json", "llvm", "asm"}))
      ->capture_default_str();
  verb->add_option("--after", options->after, "The program after this lowering pass");
  verb->add_flag("--steps", options->steps, "The loop nest after each step");
  verb->add_flag("--diff", options->diff, "Mark the lines that changed");
  verb->add_flag("--unscheduled", options->unscheduled, "The program as written");
  context.does(*verb, [&context, options] { return show(context, *options); });
}

}  // namespace lathe::command_line
