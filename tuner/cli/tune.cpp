#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "lathe/tuner.h"
#include "tuner/cli/interrupt.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

/// One line that is renewed on a terminal, a line now and then elsewhere.
void show_progress(const TuneProgress& p) {
  static const bool terminal = isatty(2) != 0;
  const bool last = p.trial == p.trials;
  if (!terminal && !last && p.trial % 8 != 1) return;
  const double gain = p.best_ms > 0 && p.default_ms > 0 ? p.default_ms / p.best_ms : 0;
  const double left = p.trial > 0 ? p.seconds / p.trial * (p.trials - p.trial) : 0;
  std::fprintf(stderr,
               "%strial %3d/%d  best %.4g ms  %.2fx of the default (%.4g ms)  failed %d  %.0f s, about %.0f "
               "s left   %s",
               terminal ? "\r" : "", p.trial, p.trials, p.best_ms, gain, p.default_ms, p.failures, p.seconds,
               left, terminal && !last ? "" : "\n");
  std::fflush(stderr);
}

/// "C.i_1=4" or "C.i.tile=2x4x8".
std::pair<std::string, std::vector<std::int64_t>> read_pin(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::vector<std::int64_t> values;
  std::stringstream numbers(equals == std::string::npos ? "" : text.substr(equals + 1));
  for (std::string number; std::getline(numbers, number, 'x');) {
    std::size_t end = 0;
    try {
      values.push_back(std::stoll(number, &end));
    } catch (const std::exception&) {
      end = std::string::npos;
    }
    if (end != number.size()) values.clear();
  }
  if (values.empty())
    throw CLI::ValidationError("--pin", "\"" + text + "\" is not NAME=VALUE or NAME=AxBxC, e.g. C.i_1=4");
  return {text.substr(0, equals), values};
}

int tune_all(const Context& context, const std::vector<std::string>& specs, TuneOptions options) {
  const Target target = Target::parse(context.target);
  RecordStore store = open_to_write(context);
  options.worker_command = std::filesystem::read_symlink("/proc/self/exe").string();
  options.stop = interrupted;
  if (!context.json) options.on_trial = show_progress;
  int code = kDone;
  ordered_json all = ordered_json::array();
  for (const std::string& spec : specs) {
    const Workload workload = Workload::parse(spec);
    if (!context.json) std::fprintf(stderr, "tuning %s for %s\n", workload.spec.c_str(), target.name.c_str());
    const TuneResult r = tune(workload, target, options, store);
    all.push_back({{"workload", workload.spec},
                   {"trials", r.measured},
                   {"failed", r.failed},
                   {"default_ms", r.default_ms},
                   {"best_ms", r.best_ms},
                   {"failures", r.failures},
                   {"reason", r.reason},
                   {"space", r.space},
                   {"filtered", r.filtered},
                   {"model_accuracy", r.model_accuracy},
                   {"measuring_seconds", r.measuring_seconds},
                   {"searching_seconds", r.searching_seconds},
                   {"interrupted", r.interrupted}});
    if (!context.json) {
      std::printf("%s: %d trials, %d failed; default %.4g ms, best %.4g ms\n", workload.spec.c_str(),
                  r.measured, r.failed, r.default_ms, r.best_ms);
      for (const auto& [kind, count] : r.failures) std::printf("  %d x %s\n", count, kind.c_str());
      std::printf("  %s; the search took %.1f s, measuring %.1f s", r.reason.c_str(), r.searching_seconds,
                  r.measuring_seconds);
      if (r.model_accuracy > 0)
        std::printf("; the model ordered %.0f %% of the pairs right beforehand", r.model_accuracy * 100);
      std::printf("\n");
    }
    if (r.measured > 0 && r.failed == r.measured) {
      std::fprintf(stderr, "every candidate failed; the first said: %s\nthe default schedule stays in use\n",
                   r.first_error.c_str());
      code = kFailed;
    }
    if (r.interrupted) {
      std::fprintf(stderr, "interrupted; go on with --resume\n");
      code = kInterrupted;
      break;
    }
  }
  if (context.json) print_json(all);
  return code;
}

}  // namespace

void add_tune(CLI::App& app, Context& context) {
  struct Options {
    std::vector<std::string> specs, pins;
    std::string strategy = "evolutionary";
    TuneOptions tune;
  };
  auto options = std::make_shared<Options>();
  TuneOptions& tune = options->tune;
  CLI::App* verb = app.add_subcommand("tune", "Search for good schedules and store every trial");
  verb->add_option("workload", options->specs, "name(key=value,…):dtype, or a program in JSON")->required();
  add_target(*verb, context);
  add_db(*verb, context);
  add_json(*verb, context);
  verb->add_option("--trials", tune.trials, "Candidates to measure")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--time", tune.seconds, "Seconds at most; 0: no limit")->capture_default_str();
  verb->add_option("--seed", tune.seed, "Same seed, same proposals")->capture_default_str();
  verb->add_option("--timeout", tune.trial_timeout, "Seconds for one candidate")->capture_default_str();
  verb->add_flag("--resume", tune.resume, "Go on; measure nothing again");
  verb->add_option("--plateau", tune.plateau, "Stop after so many trials without a gain of 1 %; 0: never")
      ->capture_default_str();
  verb->add_option("--strategy", options->strategy, "evolutionary, random, grid or replay")
      ->check(CLI::IsMember({"evolutionary", "random", "grid", "replay"}))
      ->capture_default_str();
  verb->add_option("--pin", options->pins, "Fixes a decision: NAME=VALUE, e.g. C.i_1=4; may be repeated");
  verb->add_option("--model", tune.model, "A pretrained model (lathe model train)");
  context.does(*verb, [&context, options] {
    options->tune.strategy = *search_strategy_named(options->strategy);
    for (const std::string& pin : options->pins) options->tune.pinned.insert(read_pin(pin));
    return tune_all(context, options->specs, options->tune);
  });
}

}  // namespace lathe::command_line
