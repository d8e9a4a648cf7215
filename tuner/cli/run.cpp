#include <cstdio>
#include <iostream>

#include "lathe/tuner.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

struct RunArguments {
  std::string spec, on_miss = "default";
  bool as_written = false;
};

int run(const Context& context, const RunArguments& options) {
  const Workload workload = Workload::parse(options.spec);
  const Target target = Target::parse(context.target);
  const Choice choice = choose(workload, target, context);
  if (!choice.hit && options.on_miss == "error") {
    std::cerr << "lathe run: no record for " << workload.spec << "\n  " << choice.origin << "\n";
    return kNoRecord;
  }
  // The two in turn, so that a machine that gets faster or slower does not favour one.
  const Program fallback = workload.default_schedule(target).program();
  const bool same = structural_equal(fallback, choice.schedule.program());
  Measurement m;
  double ms = 0, default_ms = 0;
  for (int round = 0; round < 3; ++round) {
    m = measure_here(workload.program, choice.schedule.program(), target);
    if (m.failure != records::Failure::None) break;
    const double now = m.p10() * 1e3,
                 then = same ? now : measure_here(workload.program, fallback, target).p10() * 1e3;
    ms = round == 0 ? now : std::min(ms, now);
    default_ms = round == 0 ? then : std::min(default_ms, then);
  }
  const bool good = m.failure == records::Failure::None;
  const double as_written_ms =
      good && options.as_written ? measure_here(workload.program, workload.program, target).p10() * 1e3 : 0;
  if (context.json) {
    ordered_json out{{"workload", workload.spec}, {"hit", choice.hit}, {"origin", choice.origin},
                     {"verified", good},          {"ms", ms},          {"default_ms", default_ms}};
    if (as_written_ms > 0) out["as_written_ms"] = as_written_ms;
    print_json(out);
  } else {
    std::printf("%s\n  %s\n", workload.spec.c_str(), choice.origin.c_str());
    if (good)
      std::printf(
          "  verified against the unscheduled program; %.4g ms, %.2fx of the default schedule (%.4g ms)\n",
          ms, default_ms / ms, default_ms);
    else
      std::printf("  NOT verified: %s: %s\n", std::string(records::to_string(m.failure)).c_str(),
                  m.error_text.c_str());
    if (as_written_ms > 0)
      std::printf("  %.0f times as fast as the loops as they are written (%.4g ms)\n", as_written_ms / ms,
                  as_written_ms);
  }
  return good ? kDone : kFailed;
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunArguments>();
  CLI::App* verb = app.add_subcommand("run", "Replay the best record, verify and time it");
  verb->add_option("workload", options->spec, "name(key=value,…):dtype, or a program in JSON")->required();
  add_target(*verb, context);
  add_db(*verb, context);
  add_json(*verb, context);
  add_cold(*verb, context);
  verb->add_option("--on-miss", options->on_miss, "When there is no record: error, or the default schedule")
      ->check(CLI::IsMember({"error", "default"}))
      ->capture_default_str();
  verb->add_flag("--as-written", options->as_written,
                 "Time the unscheduled program, too: one thread, nothing vectorised");
  context.does(*verb, [&context, options] { return run(context, *options); });
}

}  // namespace lathe::command_line
