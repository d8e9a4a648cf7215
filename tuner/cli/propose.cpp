// `lathe propose`, `measure`, `ingest`: the three steps of tuning, each from files to files, so that any scheduler of jobs
// can carry them to other machines.
//
//     lathe propose W --db F -n 64 -o b.jsonl     what to measure next, given what the database knows
//     lathe measure b.jsonl -o r.jsonl            on the machine that counts; needs no database
//     lathe ingest r.jsonl --db F                 results are a text log of the record store: `db import` reads them, too
//
// A batch is JSON lines: a task (program, target), then its candidates. Nothing in it depends on the order of tasks, so
// batches may be concatenated; cutting one needs its task's line in each part.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "lathe/tuner.h"
#include "support/json_depth.h"
#include "tuner/cli/interrupt.h"
#include "tuner/cli/verb.h"
#include "tuner/measure/process_measurer.h"
#include "tuner/session/session.h"

namespace lathe::command_line {
namespace {

constexpr int kBatchFormat = 1;
constexpr int kMaxBrackets = 2100;  ///< a trace has up to 2000

struct ProposeArguments {
  std::string spec, output = "-", strategy = "evolutionary";
  std::vector<std::string> inputs;
  int count = 64;
  double timeout = 20;
  std::uint64_t seed = 0;
  bool cold = false;
};

// ---- propose -----------------------------------------------------------------------------------------------------

/// Takes the batch that a session wants measured, and measures nothing.
class Collector final : public tuner::Measurer {
 public:
  std::vector<Measurement> measure(const tuner::Task&, std::span<const tuner::Candidate> batch,
                                   const tuner::MeasureOptions& how) override {
    candidates.insert(candidates.end(), batch.begin(), batch.end());
    stopped = true;
    if (how.stop) how.stop();
    return {};
  }
  std::vector<tuner::Candidate> candidates;
  bool stopped = false;
};

int propose(const Context& context, const ProposeArguments& options) {
  const Workload workload = Workload::parse(options.spec);
  const Target target = Target::parse(context.target);
  // A copy of what is known: proposing changes nothing.
  RecordStore known = RecordStore::in_memory(store_options());
  if (std::ifstream(context.db).good()) {
    std::stringstream lines;
    open_to_read(context).export_lines(lines);
    known.import_lines(lines, context.db);
  }
  TuneOptions tune;
  tune.trials = tune.round = options.count;
  tune.seed = options.seed;
  tune.resume = true;
  tune.strategy = search_strategy_named(options.strategy).value();
  Collector collector;
  tune.stop = [&] { return collector.stopped; };
  tuner::tune(workload, target, tune, known, collector);

  // As in a session, number 0 is the default schedule's.
  const StructuralHash by_default = structural_hash(workload.default_schedule(target).program());
  const bool with_default = !collector.candidates.empty() && collector.candidates[0].hash == by_default;
  std::ostringstream out;
  out << ordered_json{{"lathe_batch", kBatchFormat}, {"kind", "task"},
                      {"workload", workload.spec},   {"program", to_json(workload.program)},
                      {"target", target.to_json()},  {"semantics", kScheduleSemantics},
                      {"seed", options.seed}}
             .dump()
      << "\n";
  for (std::size_t i = 0; i < collector.candidates.size(); ++i) {
    const tuner::Candidate& c = collector.candidates[i];
    out << ordered_json{{"lathe_batch", kBatchFormat},
                        {"kind", "candidate"},
                        {"task", structural_hash(workload.program).hex() + target.fingerprint().hex()},
                        {"proposal", with_default ? i : i + 1},
                        {"scheduled", c.hash.hex()},
                        {"trace", ordered_json::parse(c.trace.to_json(true))}}
               .dump()
        << "\n";
  }
  write_file("propose", options.output, [&](std::ostream& file) { file << out.str(); });
  std::fprintf(stderr, "%s for %s\n",
               count(static_cast<std::int64_t>(collector.candidates.size()), "candidate").c_str(),
               workload.spec.c_str());
  if (!collector.candidates.empty()) return kDone;
  std::fprintf(stderr, "nothing is left to propose: all of the design space was measured\n");
  return kNoRecord;
}

// ---- measure -----------------------------------------------------------------------------------------------------

struct Batch {
  Workload workload;
  Target target;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::int64_t, Trace>> candidates;  ///< with their numbers
};

[[noreturn]] void refuse(const std::string& path, int line, const std::string& why) {
  throw std::runtime_error("measure: " + path + ":" + std::to_string(line) + ": " + why);
}

void read_batch(const std::string& path, std::map<std::string, Batch>& batches) {
  std::ifstream file = open_file("measure", path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) continue;
    const nlohmann::json j = bracket_deeper_than(line, kMaxBrackets) > 0
                                 ? nlohmann::json()
                                 : nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("lathe_batch"))
      refuse(path, number, "no line of a batch; `lathe propose` writes those");
    if (j["lathe_batch"] != kBatchFormat)
      refuse(
          path, number,
          "batch format " + j["lathe_batch"].dump() + ", this Lathe reads " + std::to_string(kBatchFormat));
    try {
      if (j.at("kind") == "task") {
        if (j.at("semantics") != kScheduleSemantics)
          refuse(path, number,
                 "schedule semantics " + j["semantics"].dump() + ", this Lathe has " +
                     std::to_string(kScheduleSemantics));
        Batch b;
        b.workload.spec = j.at("workload").get<std::string>();
        b.workload.program = program_from_json(j.at("program").get<std::string>());
        b.target = Target::from_json(j.at("target").get<std::string>());
        b.seed = j.at("seed").get<std::uint64_t>();
        batches.emplace(structural_hash(b.workload.program).hex() + b.target.fingerprint().hex(),
                        std::move(b));
      } else {
        const auto batch = batches.find(j.at("task").get<std::string>());
        if (batch == batches.end())
          refuse(path, number, "a candidate of a task that no line before it describes");
        batch->second.candidates.emplace_back(j.at("proposal").get<std::int64_t>(),
                                              Trace::from_json(j.at("trace").dump()));
      }
    } catch (const nlohmann::json::exception& e) {
      refuse(path, number, e.what());
    }
  }
}

records::Trial trial_of(const Batch& batch, const records::KeyRef& key, std::int64_t proposal,
                        const Trace& trace, const std::optional<Digest>& scheduled, const Measurement& m,
                        bool cold) {
  const bool good = m.failure == records::Failure::None;
  records::Trial trial;
  trial.key = key;
  trial.trace = trace.to_json(true);
  trial.scheduled = scheduled;
  trial.binary = m.binary;
  trial.failure = m.failure;
  trial.error_code = m.error_code;
  trial.error_text = m.error_text;
  if (good) trial.times = m.seconds;
  trial.verification = {good, m.max_error, 1.0, "unscheduled"};
  trial.regime = cold ? records::Regime::Cold : records::Regime::Warm;
  trial.seed = batch.seed;
  trial.proposal = proposal;
  trial.provenance = this_provenance();
  return trial;
}

void measure_batch(const Batch& batch, const ProposeArguments& options, tuner::Measurer& measurer,
                   RecordStore& results) {
  const records::KeyRef key = results.intern(record_key(batch.workload, batch.target));
  std::vector<tuner::Candidate> candidates;
  std::vector<std::int64_t> numbers;
  std::vector<records::Trial> trials;
  for (const auto& [number, trace] : batch.candidates) {
    try {
      Schedule s(batch.workload.program);
      s.replay(trace);
      candidates.push_back({s.trace(), s.program(), structural_hash(s.program())});
      numbers.push_back(number);
    } catch (const UserError& e) {
      Measurement m;
      m.failure = records::Failure::Replay;
      m.error_code = std::string(describe(e.code()).id);
      m.error_text = e.what();
      trials.push_back(trial_of(batch, key, number, trace, std::nullopt, m, options.cold));
    }
  }
  tuner::MeasureOptions how;
  how.timeout = options.timeout;
  how.cold = options.cold;
  how.stop = interrupted;
  const std::vector<Measurement> measured =
      measurer.measure({batch.workload.program, batch.target}, candidates, how);
  for (std::size_t i = 0; i < measured.size(); ++i)
    trials.push_back(
        trial_of(batch, key, numbers[i], candidates[i].trace, candidates[i].hash, measured[i], options.cold));
  results.insert(trials);
}

int measure(const Context& context, const ProposeArguments& options) {
  catch_interrupts();
  std::map<std::string, Batch> batches;
  for (const std::string& path : options.inputs) read_batch(path, batches);
  const auto measurer = tuner::process_measurer({.command = own_command(context)});
  RecordStore results = RecordStore::in_memory(store_options());
  for (const auto& [name, batch] : batches) measure_batch(batch, options, *measurer, results);
  write_file("measure", options.output, [&](std::ostream& out) { results.export_lines(out); });
  const records::Statistics s = results.statistics();
  std::fprintf(stderr, "%s, %lld failed\n", count(s.trials, "trial").c_str(),
               static_cast<long long>(s.failed));
  if (!interrupted()) return kDone;
  std::fprintf(stderr, "interrupted: what was measured is written\n");
  return kInterrupted;
}

int ingest(const Context& context, const ProposeArguments& options) {
  RecordStore store = open_to_write(context);
  for (const std::string& path : options.inputs) {
    std::ifstream file = open_file("ingest", path);
    const records::ImportReport r = store.import_lines(file, path);
    std::fprintf(stderr, "%s: %s new\n", path.c_str(), count(r.trials, "trial").c_str());
  }
  return kDone;
}

}  // namespace

void add_propose(CLI::App& app, Context& context) {
  auto options = std::make_shared<ProposeArguments>();
  CLI::App* verb =
      app.add_subcommand("propose", "What to measure next, as a file (see `measure` and `ingest`)");
  verb->add_option("workload", options->spec, "name(key=value,…):dtype, or a program in JSON")->required();
  add_target(*verb, context);
  add_db(*verb, context);
  verb->add_option("-n,--count", options->count, "Candidates")->capture_default_str()->check(at_least(1));
  verb->add_option("-o,--output", options->output, "A file; -: standard output")->capture_default_str();
  verb->add_option("--seed", options->seed, "Same seed and same records, same proposals")
      ->capture_default_str();
  verb->add_option("--strategy", options->strategy, "evolutionary, random or grid")
      ->check(CLI::IsMember({"evolutionary", "random", "grid"}))
      ->capture_default_str();
  context.does(*verb, [&context, options] { return propose(context, *options); });
}

void add_measure(CLI::App& app, Context& context) {
  auto options = std::make_shared<ProposeArguments>();
  CLI::App* verb = app.add_subcommand("measure", "Measure the candidates of files that `propose` wrote");
  verb->add_option("batch", options->inputs)->required();
  verb->add_option("-o,--output", options->output, "A file; -: standard output")->capture_default_str();
  verb->add_option("--timeout", options->timeout, "Seconds for one candidate")
      ->check(above(0))
      ->capture_default_str();
  verb->add_flag("--cold", options->cold, "Out of all caches before each sample");
  context.does(*verb, [&context, options] { return measure(context, *options); });
}

void add_ingest(CLI::App& app, Context& context) {
  auto options = std::make_shared<ProposeArguments>();
  CLI::App* verb = app.add_subcommand("ingest", "Take results of `measure` into the record store");
  verb->add_option("results", options->inputs)->required();
  add_db(*verb, context);
  context.does(*verb, [&context, options] { return ingest(context, *options); });
}

}  // namespace lathe::command_line
