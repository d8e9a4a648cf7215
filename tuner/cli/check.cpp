#include <cstdio>
#include <fstream>
#include <iostream>

#include "lathe/record_check.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

struct CheckArguments {
  std::vector<std::string> logs;
  std::string junit, compile_for;
};

/// Of one log. One that cannot be read is a problem of its own, without a trial, so that its suite says so, too.
std::vector<CheckedRecord> check_log(const std::string& log, const Target* target) {
  try {
    std::ifstream file = open_file("check", log, kMakesLog);
    const RecordStore store = RecordStore::from_text(file, log, store_options());
    return check_records(store, {.compile_for = target});
  } catch (const UserError& e) {
    const std::string text = std::string(e.what()) + "  [" + std::string(describe(e.code()).id) + "]";
    return {{"the log as a whole", "any target", "", text}};
  }
}

int check_logs(const Context& context, const CheckArguments& options) {
  std::optional<Target> target;
  if (!options.compile_for.empty()) target = Target::parse(options.compile_for);
  std::vector<std::pair<std::string, std::vector<CheckedRecord>>> suites;
  std::size_t records = 0, problems = 0;
  ordered_json all = ordered_json::array();
  for (const std::string& log : options.logs) {
    suites.emplace_back(log, check_log(log, target ? &*target : nullptr));
    for (const CheckedRecord& r : suites.back().second) {
      ++records;
      if (r.problem.empty()) continue;
      ++problems;
      all.push_back({{"log", log},
                     {"workload", r.workload},
                     {"target", r.target},
                     {"trial", r.trial},
                     {"problem", r.problem}});
      if (context.json) continue;
      if (r.trial.empty())
        std::printf("%s: %s\n", log.c_str(), r.problem.c_str());
      else
        std::printf("%s: %s for %s, trial %s\n  %s\n", log.c_str(), r.workload.c_str(), r.target.c_str(),
                    r.trial.substr(0, 12).c_str(), r.problem.c_str());
    }
  }
  if (!options.junit.empty()) {
    write_file("check", options.junit, [&](std::ostream& out) { out << junit_text(suites); });
  }
  if (context.json)
    print_json({{"records", records}, {"problems", all}});
  else
    std::printf("%zu records, %zu with a problem\n", records, problems);
  return problems == 0 ? kDone : kFailed;
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* verb =
      app.add_subcommand("check", "Replay every record of logs: do they still mean what was measured?");
  verb->add_option("--records", options->logs, "Text logs (`lathe db export`)")->required()->take_all();
  verb->add_option("--junit", options->junit, "Write the result as JUnit XML, for CI");
  verb->add_option("--compile-for", options->compile_for, "Compile the records of this target, too");
  add_json(*verb, context);
  context.does(*verb, [&context, options] { return check_logs(context, *options); });
}

}  // namespace lathe::command_line
