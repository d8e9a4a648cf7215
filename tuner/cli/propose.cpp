// `lathe propose`, `measure`, `ingest`: the three steps of tuning, each from files to files, so that any scheduler of jobs
// can carry them to other machines.
//
//     lathe propose W --db F -n 64 -o b.jsonl     what to measure next, given what the database knows
//     lathe measure b.jsonl -o r.jsonl            on the machine that counts; needs no database
//     lathe ingest r.jsonl --db F                 results are a text log of the record store: `db import` reads them, too
//
// A batch is JSON lines: a task (program, target, regime), then its candidates. Nothing in it depends on the order of tasks, so
// batches may be concatenated; cutting one needs its task's line in each part. A candidate that is there twice is measured
// once.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <variant>

#include "lathe/tuner.h"
#include "support/error_codes/tuner.h"
#include "support/json_depth.h"
#include "tuner/cli/interrupt.h"
#include "tuner/cli/tune.h"
#include "tuner/cli/verb.h"
#include "tuner/measure/process_measurer.h"
#include "tuner/session/session.h"

namespace lathe::command_line {
namespace {

constexpr int kBatchFormat = 1;

struct ProposeArguments {
  std::string spec, output = "-", strategy = "evolutionary";
  std::vector<std::string> inputs, pins;
  int count = 64;
  double timeout = 20;
  std::uint64_t seed = 0;
  bool cold = false, serial = false;
};

const char* const kNewBatch = "`lathe propose WORKLOAD -o FILE` writes a batch";
const char* const kMakesResults = "`lathe measure BATCH -o FILE` writes results";

records::Regime regime_of(bool cold) { return cold ? records::Regime::Cold : records::Regime::Warm; }

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

/// What the database knows of the workload and its kind: proposing changes nothing, so it works on a copy.
RecordStore copy_of_known(const Context& context, const Workload& workload) {
  RecordStore known = RecordStore::in_memory(store_options());
  if (!std::filesystem::exists(context.db)) return known;
  const RecordStore store = open_to_read(context);
  const records::Workload asked = record_key(workload, Target::parse(context.target)).workload;
  for (const std::string& which : {asked.program.hex(), asked.name}) {
    records::ExportOptions what;
    what.filter.workload = which;
    std::stringstream lines;
    store.export_lines(lines, what);
    known.import_lines(lines, context.db);
  }
  known.mark_stale_times(this_provenance());
  return known;
}

int propose(const Context& context, const ProposeArguments& options) {
  const Workload workload = Workload::parse(options.spec);
  const Target target = Target::parse(context.target);
  RecordStore known = copy_of_known(context, workload);
  TuneOptions tune;
  tune.trials = tune.round = options.count;
  tune.seed = options.seed;
  tune.resume = true;
  tune.cold = options.cold;
  tune.parallel = !options.serial;
  for (const std::string& pin : options.pins) tune.pinned.insert(read_pin(pin));
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
                      {"seed", options.seed},        {"regime", records::to_string(regime_of(options.cold))}}
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

struct Proposed {
  std::int64_t number = 0;
  StructuralHash scheduled;
  Trace trace;
};

struct Batch {
  Workload workload;
  Target target;
  std::uint64_t seed = 0;
  records::Regime regime = records::Regime::Warm;
  std::vector<Proposed> candidates;  ///< each scheduled program once
};

/// The file of a batch, line by line: what is wrong is said with its place.
class BatchReader {
 public:
  BatchReader(std::string path, std::map<std::string, Batch>& batches)
      : path_(std::move(path)), batches_(batches) {}

  void read() {
    std::ifstream file = open_file("measure", path_, kNewBatch);
    for (std::string line; std::getline(file, line);) {
      ++line_;
      if (line.empty()) continue;
      if (too_deep(line)) refuse("nested too deeply");
      try {
        take(nlohmann::json::parse(line));
      } catch (const nlohmann::json::parse_error&) {
        refuse(std::string("not JSON") + (file.eof() ? "; the file seems to be cut here" : ""));
      } catch (const nlohmann::json::exception& e) {
        refuse(e.what());
      } catch (const UserError& e) {
        if (e.code() == code::U007) throw;
        refuse(e.what());
      }
    }
    if (line_ == 0) refuse("the file is empty");
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(code::U007, "measure: " + path_ + ":" + std::to_string(line_) + ": " + why + ". " +
                                    kNewBatch + "; nothing was measured");
  }

  void take(const nlohmann::json& j) {
    if (!j.is_object() || !j.contains("lathe_batch")) refuse("no line of a batch");
    if (j["lathe_batch"] != kBatchFormat)
      refuse("batch format " + j["lathe_batch"].dump() + ", this Lathe reads " +
             std::to_string(kBatchFormat));
    const std::string kind = j.at("kind").get<std::string>();
    if (kind == "task") {
      take_task(j);
    } else if (kind == "candidate") {
      take_candidate(j);
    } else {
      refuse("kind \"" + kind + "\" is neither \"task\" nor \"candidate\"");
    }
  }

  /// Negative numbers and fractions are refused, where get<>() would bend them.
  std::uint64_t natural(const nlohmann::json& j, const char* name) const {
    if (!j.at(name).is_number_unsigned()) refuse("\"" + std::string(name) + "\" is " + j[name].dump());
    return j[name].get<std::uint64_t>();
  }

  void take_task(const nlohmann::json& j) {
    if (j.at("semantics") != kScheduleSemantics)
      refuse("schedule semantics " + j["semantics"].dump() + ", this Lathe has " +
             std::to_string(kScheduleSemantics));
    Batch b;
    b.workload.spec = j.at("workload").get<std::string>();
    b.workload.program = program_from_json(j.at("program").get<std::string>());
    b.target = Target::from_json(j.at("target").get<std::string>());
    b.seed = natural(j, "seed");
    const std::optional<records::Regime> regime = records::regime_from(j.at("regime").get<std::string>());
    if (!regime) refuse("regime " + j["regime"].dump());
    b.regime = *regime;
    const std::string name = structural_hash(b.workload.program).hex() + b.target.fingerprint().hex();
    const auto [at, fresh] = batches_.emplace(name, std::move(b));
    if (!fresh && at->second.regime != *regime)
      refuse("the task is asked for in both regimes; measure them with one command each");
  }

  void take_candidate(const nlohmann::json& j) {
    const auto batch = batches_.find(j.at("task").get<std::string>());
    if (batch == batches_.end()) refuse("a candidate of a task that no line before it describes");
    Proposed p;
    p.number = static_cast<std::int64_t>(natural(j, "proposal"));
    const std::optional<Digest> scheduled = Digest::parse(j.at("scheduled").get<std::string>());
    if (!scheduled) refuse("\"scheduled\" is no hash");
    p.scheduled = *scheduled;
    p.trace = Trace::from_json(j.at("trace").dump());
    std::vector<Proposed>& all = batch->second.candidates;
    const auto same = [&](const Proposed& other) { return other.scheduled == p.scheduled; };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(p));
  }

  std::string path_;
  std::map<std::string, Batch>& batches_;
  int line_ = 0;
};

records::Trial trial_of(const Batch& batch, const records::KeyRef& key, const Proposed& proposed,
                        const Measurement& m) {
  const bool good = m.failure == records::Failure::None;
  records::Trial trial;
  trial.key = key;
  trial.trace = proposed.trace.to_json(true);
  if (m.failure != records::Failure::Replay) trial.scheduled = proposed.scheduled;
  trial.binary = m.binary;
  trial.failure = m.failure;
  trial.error_code = m.error_code;
  trial.error_text = m.error_text;
  if (good) trial.times = m.seconds;
  trial.verification = {good, m.max_error, 1.0, "unscheduled"};
  trial.regime = batch.regime;
  trial.seed = batch.seed;
  trial.proposal = proposed.number;
  trial.provenance = this_provenance();
  return trial;
}

/// The candidate, or why its trace does not give what was proposed.
std::variant<tuner::Candidate, Measurement> replayed(const Batch& batch, const Proposed& proposed) {
  Measurement m;
  m.failure = records::Failure::Replay;
  try {
    Schedule s(batch.workload.program);
    s.replay(proposed.trace);
    const StructuralHash hash = structural_hash(s.program());
    if (hash == proposed.scheduled) return tuner::Candidate{s.trace(), s.program(), hash};
    m.error_text = "the trace gives another program than the one that was proposed";
  } catch (const UserError& e) {
    m.error_code = std::string(describe(e.code()).id);
    m.error_text = e.what();
  }
  return m;
}

void measure_batch(const Batch& batch, const ProposeArguments& options, tuner::Measurer& measurer,
                   RecordStore& results) {
  const records::KeyRef key = results.intern(record_key(batch.workload, batch.target));
  std::vector<tuner::Candidate> candidates;
  std::vector<const Proposed*> proposed;  ///< of each
  std::vector<records::Trial> trials;
  for (const Proposed& p : batch.candidates) {
    auto made = replayed(batch, p);
    if (const auto* refused = std::get_if<Measurement>(&made)) {
      trials.push_back(trial_of(batch, key, p, *refused));
      continue;
    }
    candidates.push_back(std::get<tuner::Candidate>(std::move(made)));
    proposed.push_back(&p);
  }
  tuner::MeasureOptions how;
  how.timeout = options.timeout;
  how.cold = batch.regime == records::Regime::Cold;
  how.stop = interrupted;
  const std::vector<Measurement> measured =
      measurer.measure({batch.workload.program, batch.target}, candidates, how);
  for (std::size_t i = 0; i < measured.size(); ++i)
    trials.push_back(trial_of(batch, key, *proposed[i], measured[i]));
  results.insert(trials);
}

/// A target known by name may be measured wherever its code runs, as with `tune`; a machine's own on such machines alone.
void require_own_kind(const Target& target) {
  const Target here = Target::host();
  if (target.name != here.name || target.fingerprint() == here.fingerprint()) return;
  throw UserError(
      code::U010,
      "measure: the batch is for the machine that it was proposed on, and this one differs in\n" +
          to_text(difference(target, here)) +
          "Measure on such a machine, or write this one's target with `lathe targets show host -o "
          "FILE`, and propose with `--target @FILE`; nothing was measured");
}

int measure(const Context& context, const ProposeArguments& options) {
  catch_interrupts();
  std::map<std::string, Batch> batches;
  for (const std::string& path : options.inputs) BatchReader(path, batches).read();
  for (const auto& [name, batch] : batches) require_own_kind(batch.target);
  if (options.cold) {
    for (auto& [name, batch] : batches) batch.regime = records::Regime::Cold;
  }
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
    std::ifstream file = open_file("ingest", path, kMakesResults);
    const records::ImportReport r = store.import_lines(file, path);
    std::fprintf(stderr, "%s: %s new\n", path.c_str(), count(r.trials, "trial").c_str());
  }
  store.mark_stale_times(this_provenance());
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
  verb->add_option("--pin", options->pins,
                   "Fixes a decision (`lathe tune --dry-run` lists them): NAME=VALUE");
  verb->add_flag("--cold", options->cold, "To be measured with cold caches");
  verb->add_flag("--serial", options->serial, "Without parallel loops: one thread");
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
  verb->add_flag("--cold", options->cold,
                 "Out of all caches before each sample, whatever the batch asks for");
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
