#include "tuner/cli/tune.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "lathe/runtime/affinity.h"
#include "support/error_codes/codegen.h"
#include "tuner/cli/interrupt.h"
#include "tuner/cli/progress.h"
#include "tuner/measure/process_measurer.h"
#include "tuner/measure/roofline.h"
#include "tuner/session/session.h"

namespace lathe::command_line {

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

namespace {

std::unique_ptr<tuner::Measurer> measurer_for(const Context& context, const TuneVerb& options) {
  tuner::ProcessMeasurerOptions measuring{.command = own_command(context)};
  measuring.builders = options.builders;
  measuring.keep_failures = options.keep_failures;
  return tuner::process_measurer(std::move(measuring));
}

ordered_json as_json(const TuneResult& r, double roofline_ms) {
  return {{"workload", r.workload},
          {"trials", r.measured},
          {"failed", r.failed},
          {"failures", r.failures},
          {"first_error", r.first_error},
          {"default_ms", r.default_ms},
          {"best_ms", r.best_ms},
          {"roofline_ms", roofline_ms},
          {"space", r.space},
          {"filtered", r.filtered},
          {"known", r.known},
          {"resumed", r.resumed},
          {"interrupted", r.interrupted},
          {"reason", r.reason},
          {"error", r.error},
          {"prior", r.prior.empty() ? "draft" : r.prior},
          {"model_accuracy", r.model_accuracy},
          {"measuring_seconds", r.measuring_seconds},
          {"searching_seconds", r.searching_seconds}};
}

void print(const TuneResult& r, double roofline_ms) {
  std::printf("%s: %s, %d failed; ", r.workload.c_str(), count(r.measured, "trial").c_str(), r.failed);
  if (r.best_ms > 0) {
    std::printf("default %.4g ms, best %.4g ms", r.default_ms, r.best_ms);
    if (roofline_ms > 0) std::printf(", %.0f %% of the roofline", 100 * roofline_ms / r.best_ms);
    std::printf("; %s\n", r.reason.c_str());
  } else {
    std::printf("%s\n", r.reason.c_str());
  }
  for (const auto& [kind, n] : r.failures) std::printf("  %d x %s\n", n, kind.c_str());
  if (r.model_accuracy > 0)
    std::printf("  the model (prior: %s) had %.0f %% of all pairs in the right order beforehand\n",
                r.prior.empty() ? "draft" : r.prior.c_str(), 100 * r.model_accuracy);
}

int exit_code(const std::vector<TuneResult>& results) {
  int code = kDone;
  for (const TuneResult& r : results) {
    if (r.interrupted) return kInterrupted;
    if (!r.error.empty()) code = kFailed;
    if (r.measured == 0 || r.failed < r.measured || r.best_ms > 0) continue;
    std::fprintf(
        stderr,
        "%s: every candidate failed; the commonest failure said: %s\nthe default schedule stays in use\n",
        r.workload.c_str(), r.first_error.c_str());
    code = kFailed;
  }
  return code;
}

/// What a session would search, and about how long it would take, from measuring the default schedule.
int dry_run(const Context& context, const std::vector<Workload>& workloads, const Target& target,
            const TuneVerb& options) {
  const auto measurer = measurer_for(context, options);
  const int builders = options.builders > 0 ? options.builders : runtime::default_num_threads();
  const int trials = std::max(1, options.tune.trials / static_cast<int>(workloads.size()));
  ordered_json all = ordered_json::array();
  for (const Workload& w : workloads) {
    const TuneSpace space = tune_space(w, target, options.tune);
    const Schedule s = w.default_schedule(target);
    const tuner::Candidate batch[] = {{s.trace(), s.program(), structural_hash(s.program())}};
    tuner::MeasureOptions how;
    how.timeout = options.tune.trial_timeout;
    how.cold = options.tune.cold;
    how.stop = interrupted;
    const std::vector<Measurement> m = measurer->measure({w.program, target}, batch, how);
    if (m.empty()) return kInterrupted;
    const bool runs = m[0].failure == records::Failure::None;
    if (!runs)
      std::fprintf(stderr, "%s: the default schedule fails (%s): %s\n", w.spec.c_str(),
                   std::string(records::to_string(m[0].failure)).c_str(), m[0].error_text.c_str());
    double seconds = trials * (m[0].build_seconds / builders + m[0].run_seconds);
    if (options.tune.seconds > 0) seconds = std::min(seconds, options.tune.seconds);
    ordered_json decisions = ordered_json::array();
    for (const TuneSpace::Decision& d : space.decisions)
      decisions.push_back({{"name", d.name}, {"options", d.options}});
    all.push_back({{"workload", w.spec},
                   {"points", space.points},
                   {"templates", space.templates},
                   {"decisions", decisions},
                   {"default_ms", runs ? m[0].p10() * 1e3 : 0},
                   {"estimated_seconds", seconds}});
    if (context.json) continue;
    std::printf("%s: %.3g points of %d templates, %s; about %.0f s for %d trials\n", w.spec.c_str(),
                space.points, space.templates,
                count(static_cast<std::int64_t>(space.decisions.size()), "decision").c_str(), seconds,
                trials);
    for (const TuneSpace::Decision& d : space.decisions)
      std::printf("  %-32s %s\n", d.name.c_str(),
                  d.options.empty() ? "depends on others"
                                    : count(static_cast<std::int64_t>(d.options.size()), "option").c_str());
  }
  if (context.json) print_json(all);
  return kDone;
}

}  // namespace

int tune(Context& context, const std::vector<Workload>& workloads, TuneVerb options) {
  catch_interrupts();
  const Target target = Target::parse(context.target);
  if (!target.is_cpu())
    throw UserError(code::C010,
                    "tune: candidates for \"" + target.name +
                        "\" cannot be built and run here: only those for CPUs can. `lathe propose` writes "
                        "them to a file");
  options.tune.strategy = search_strategy_named(options.strategy).value();
  options.tune.stop = interrupted;
  for (const std::string& pin : options.pins) options.tune.pinned.insert(read_pin(pin));
  if (options.dry_run) return dry_run(context, workloads, target, options);

  RecordStore store = open_to_write(context);
  Progress progress(context.json, options.log);
  std::map<std::string, double> roofline_ms;
  const tuner::Machine machine = tuner::measure_machine(target);
  for (const Workload& w : workloads) {
    const int threads = options.tune.parallel ? runtime::default_num_threads() : 1;
    roofline_ms[w.spec] = tuner::roofline_seconds(tuner::work_of(w.program), target, machine, threads) * 1e3;
    progress.set_roofline(w.spec, roofline_ms[w.spec]);
    progress.log("start", {{"workload", w.spec},
                           {"target", target.name},
                           {"trials", options.tune.trials},
                           {"seed", options.tune.seed},
                           {"strategy", options.strategy},
                           {"db", context.db},
                           {"lathe", version()}});
    if (!context.json) std::fprintf(stderr, "tuning %s for %s\n", w.spec.c_str(), target.name.c_str());
  }
  options.tune.on_trial = [&](const TuneProgress& p) { progress.show(p); };
  const auto measurer = measurer_for(context, options);
  std::vector<TuneResult> results;
  if (workloads.size() == 1)
    results.push_back(tuner::tune(workloads[0], target, options.tune, store, *measurer));
  else
    results = tuner::tune_all(workloads, target, options.tune, store, *measurer, {});
  progress.finish();

  ordered_json all = ordered_json::array();
  for (const TuneResult& r : results) {
    all.push_back(as_json(r, roofline_ms[r.workload]));
    progress.log("end", all.back());
    if (!context.json) print(r, roofline_ms[r.workload]);
  }
  if (context.json) print_json(all);
  const int code = exit_code(results);
  if (code == kInterrupted)
    std::fprintf(stderr, "interrupted; nothing is lost: go on with --resume or `lathe session resume`\n");
  return code;
}

void add_tune(CLI::App& app, Context& context) {
  struct Options {
    std::vector<std::string> specs;
    TuneVerb verb;
  };
  auto options = std::make_shared<Options>();
  TuneVerb& verb = options->verb;
  TuneOptions& tuning = verb.tune;
  CLI::App* tune_verb = app.add_subcommand("tune", "Search for good schedules and store every trial");
  tune_verb
      ->add_option("workload", options->specs,
                   "name(key=value,…):dtype, or a program in JSON; several share the budget")
      ->required();
  add_target(*tune_verb, context);
  add_db(*tune_verb, context);
  add_json(*tune_verb, context);
  tune_verb->add_option("--trials", tuning.trials, "Candidates to measure, of all workloads together")
      ->capture_default_str()
      ->check(at_least(1));
  tune_verb->add_option("--time", tuning.seconds, "Seconds at most; 0: no limit")
      ->check(at_least(0))
      ->capture_default_str();
  tune_verb
      ->add_option("--plateau", tuning.plateau, "Stop after so many trials without a gain of 1 %; 0: never")
      ->check(at_least(0))
      ->capture_default_str();
  tune_verb
      ->add_option("--round", tuning.round,
                   "Candidates measured before the model learns from them; 0: 8 of the first 96, then 16")
      ->check(at_least(0))
      ->capture_default_str();
  tune_verb->add_option("--seed", tuning.seed, "Same seed and same times, same proposals")
      ->capture_default_str();
  tune_verb->add_option("--strategy", verb.strategy, "How candidates are chosen")
      ->check(CLI::IsMember({"evolutionary", "random", "grid", "replay"}))
      ->capture_default_str();
  tune_verb->add_option("--pin", verb.pins,
                        "Fixes a decision (`--dry-run` lists them): NAME=VALUE, e.g. C.i_1=4");
  tune_verb->add_option("--model", tuning.model, "A pretrained cost model (`lathe model train`)");
  tune_verb->add_flag("!--no-model", tuning.shipped_model,
                      "Start without the cost model that comes with Lathe");
  tune_verb->add_option("--timeout", tuning.trial_timeout, "Seconds for one candidate")
      ->check(above(0))
      ->capture_default_str();
  tune_verb->add_option("--builders", verb.builders, "Compilers at work at once; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  tune_verb->add_flag("--cold", tuning.cold, "Measure with cold caches");
  tune_verb->add_flag("!--serial", tuning.parallel, "Without parallel loops: one thread");
  tune_verb->add_flag("--resume", tuning.resume,
                      "Go on from what the store knows; nothing is measured again");
  tune_verb->add_flag("--dry-run", verb.dry_run,
                      "Only say what would be searched and about how long it takes");
  tune_verb->add_option("--log", verb.log, "Append events as JSON lines to this file");
  tune_verb->add_option("--keep-failures", verb.keep_failures,
                        "A folder that gets all about each failed candidate");
  tune_verb->footer(
      "SIGINT, SIGTERM and SIGHUP end the session within a second; what was measured is kept (exit code 3, "
      "go on "
      "with --resume).");
  context.does(*tune_verb, [&context, options] {
    std::vector<Workload> workloads;
    for (const std::string& spec : options->specs) {
      Workload w = Workload::parse(spec);
      const auto same = [&](const Workload& other) { return structural_equal(other.program, w.program); };
      if (std::ranges::none_of(workloads, same)) workloads.push_back(std::move(w));
    }
    return tune(context, workloads, options->verb);
  });
}

}  // namespace lathe::command_line
