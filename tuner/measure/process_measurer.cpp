#include "tuner/measure/process_measurer.h"

#include <unistd.h>

#include <algorithm>
#include <list>
#include <map>

#include "lathe/runtime/affinity.h"
#include "lathe/runtime/timer.h"
#include "support/error_codes/tuner.h"
#include "tuner/measure/builders.h"
#include "tuner/measure/failure_folder.h"
#include "tuner/measure/messages.h"
#include "tuner/measure/timing.h"

namespace lathe::tuner {
namespace {

constexpr std::size_t kTasksKept =
    8;  ///< runners, each with its inputs and reference, of tasks that take turns
constexpr std::size_t kBinariesKept = 65536;
/// Neighbours on a shared machine, and where memory lies, can halve the speed of a process for longer than its turn:
/// leaders are timed in several.
constexpr int kProcesses = 3;
constexpr int kTurns = 2;               ///< in each of them
constexpr double kStartSeconds = 1800;  ///< for the unscheduled program
constexpr int kFarewellMs = 300;        ///< in which a runner ends what its candidates have started

struct Runner {
  Digest task;
  std::unique_ptr<Worker> worker;
  std::map<Digest, Measurement> by_binary;  ///< what was measured for these objects
};

std::uint64_t three_quarters_of_memory() {
  const double machine =
      static_cast<double>(std::max(0L, sysconf(_SC_PHYS_PAGES))) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return static_cast<std::uint64_t>(std::min(machine, runtime::memory_quota()) / 4 * 3);
}

class ProcessMeasurer final : public Measurer {
 public:
  explicit ProcessMeasurer(ProcessMeasurerOptions options)
      : options_(std::move(options)),
        memory_bytes_(options_.memory_bytes > 0 ? options_.memory_bytes : three_quarters_of_memory()),
        builders_(options_.command,
                  options_.builders > 0 ? options_.builders : runtime::default_num_threads(), memory_bytes_) {
    if (!options_.keep_failures.empty()) make_failure_folder(options_.keep_failures);
  }

  std::vector<Measurement> measure(const Task& task, std::span<const Candidate> batch,
                                   const MeasureOptions& options) override {
    std::vector<Build> builds = builders_.build(task.target, batch, options);
    remember(batch, builds);
    std::vector<Measurement> results;
    for (std::size_t i = 0; i < builds.size(); ++i) {
      if (options.stop && options.stop()) break;
      std::optional<Measurement> m = run(task, builds[i], options);
      if (!m) break;  // stopped
      if (!alive(*m)) keep(task, batch[i], *m, builds[i].object);
      if (options.on_result) options.on_result(*m);
      results.push_back(std::move(*m));
    }
    return results;
  }

  std::vector<Measurement> compare(const Task& task, std::span<const Candidate> leaders,
                                   const MeasureOptions& options) override {
    const std::vector<Build> builds = builds_of(task, leaders, options);
    if (builds.size() < leaders.size()) return {};
    MeasureOptions patient = options;
    patient.give_up_above = 0;
    std::vector<Measurement> results;
    for (const Build& build : builds) results.push_back(build.result);
    std::vector<std::vector<Samples>> by_process(builds.size());
    for (int process = 0; process < kProcesses; ++process) {
      if (!take_turns(task, builds, patient, results, by_process)) return {};
    }
    for (std::size_t i = 0; i < builds.size(); ++i) {
      if (!alive(results[i])) {
        if (alive(builds[i].result)) keep(task, leaders[i], results[i], builds[i].object);
        continue;
      }
      const Samples& middle = middle_of(by_process[i]);
      results[i].seconds = middle.seconds;
      results[i].yardstick = middle.yardstick;
    }
    return results;
  }

 private:
  /// One process for each build that has not failed yet, all at once; they take samples in turns. False when `stop` said so.
  bool take_turns(const Task& task, const std::vector<Build>& builds, const MeasureOptions& options,
                  std::vector<Measurement>& results, std::vector<std::vector<Samples>>& by_process) {
    Runner* runner = runner_of(task, options);
    if (!runner) return false;
    std::vector<Samples> samples(builds.size());
    for (std::size_t i = 0; i < builds.size(); ++i) {
      if (!alive(results[i])) continue;
      const std::optional<Measurement> m = load(*runner, static_cast<int>(i), builds[i].object, options);
      if (!m) return false;
      adopt(results[i], *m);
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      for (std::size_t i = 0; i < builds.size(); ++i) {
        if (!alive(results[i])) continue;
        const std::optional<Measurement> m =
            ask(*runner, {{{"do", "sample"}, {"slot", i}, {"brief", true}}, {}}, options);
        if (!m) return false;
        if (!alive(*m)) adopt(results[i], *m);
        append(samples[i], {m->seconds, m->yardstick});
      }
    }
    for (std::size_t i = 0; i < builds.size(); ++i) {
      if (runner->worker)
        runner->worker->send({{{"do", "end"}, {"slot", i}}, {}}, {.seconds = 1, .stop = nullptr});
      if (alive(results[i])) by_process[i].push_back(std::move(samples[i]));
    }
    return true;
  }

  /// Of the process that is neither the luckiest nor the unluckiest.
  static const Samples& middle_of(std::vector<Samples>& processes) {
    const auto p10 = [](const Samples& s) {
      Measurement m;
      m.seconds = s.seconds;
      return m.p10();
    };
    const auto middle = processes.begin() + static_cast<std::ptrdiff_t>(processes.size() / 2);
    std::nth_element(processes.begin(), middle, processes.end(),
                     [&](const Samples& a, const Samples& b) { return p10(a) < p10(b); });
    return *middle;
  }

  /// Leaders mostly come from the batch that was measured just now.
  void remember(std::span<const Candidate> batch, const std::vector<Build>& builds) {
    recent_.clear();
    for (std::size_t i = 0; i < builds.size(); ++i) recent_[batch[i].hash] = builds[i];
  }
  std::vector<Build> builds_of(const Task& task, std::span<const Candidate> leaders,
                               const MeasureOptions& options) {
    std::vector<Candidate> unknown;
    for (const Candidate& c : leaders) {
      if (recent_.count(c.hash) == 0) unknown.push_back(c);
    }
    const std::vector<Build> fresh = builders_.build(task.target, unknown, options);
    if (fresh.size() < unknown.size()) return {};
    for (std::size_t i = 0; i < unknown.size(); ++i) recent_[unknown[i].hash] = fresh[i];
    std::vector<Build> builds;
    for (const Candidate& c : leaders) builds.push_back(recent_.at(c.hash));
    return builds;
  }

  void keep(const Task& task, const Candidate& candidate, const Measurement& m, const std::string& object) {
    if (!options_.keep_failures.empty()) keep_failure(options_.keep_failures, task, candidate, m, object);
  }

  static bool alive(const Measurement& m) { return m.failure == records::Failure::None; }

  /// What a later step said, with what the build said about the object.
  static void adopt(Measurement& m, const std::optional<Measurement>& later) {
    if (!later) return;
    const Measurement built = m;
    m = *later;
    m.object_bytes = built.object_bytes;
    m.binary = built.binary;
    m.build_seconds = built.build_seconds;
  }

  /// Nothing when `stop` said so.
  std::optional<Measurement> run(const Task& task, const Build& build, const MeasureOptions& options) {
    Measurement m = build.result;
    if (!alive(m)) return m;
    Runner* runner = runner_of(task, options);
    if (!runner) return std::nullopt;
    // Two schedules of one binary are one candidate, however different they look.
    const auto known = runner->by_binary.find(*m.binary);
    if (known != runner->by_binary.end()) {
      adopt(m, known->second);
      return m;
    }
    const runtime::Timer timer;
    std::optional<Measurement> result = load(*runner, 0, build.object, options);
    if (result && alive(*result)) {
      result = ask(*runner, {{{"do", "sample"}, {"slot", 0}}, {}}, options);
      if (runner->worker)
        runner->worker->send({{{"do", "end"}, {"slot", 0}}, {}},
                             {.seconds = options.timeout, .stop = nullptr});
    }
    if (!result) return std::nullopt;
    adopt(m, result);
    m.run_seconds = timer.seconds();
    if (runner->by_binary.size() < kBinariesKept) runner->by_binary[*m.binary] = m;
    return m;
  }

  std::optional<Measurement> load(Runner& runner, int slot, const std::string& object,
                                  const MeasureOptions& options) {
    return ask(runner,
               {{{"do", "load"},
                 {"slot", slot},
                 {"timeout", options.timeout},
                 {"give_up_above", options.give_up_above},
                 {"cold", options.cold}},
                object},
               options);
  }

  /// The runner's answer; it watches the candidate's time itself, so that its own silence is a fault of another kind.
  std::optional<Measurement> ask(Runner& runner, const Frame& request, const MeasureOptions& options) {
    if (!runner.worker)
      return failed(records::Failure::Crash, "the process that starts the candidates was taken down");
    const Patience patience{2 * options.timeout + 30, options.stop ? &options.stop : nullptr};
    Frame reply;
    Transfer t = runner.worker->send(request, patience);
    if (t == Transfer::Done) t = runner.worker->receive(reply, patience);
    if (t == Transfer::Done) {
      Measurement m = measurement_from(reply.header);
      const std::string printed = reply.header.value("printed", "");
      if (!printed.empty()) m.error_text += "; it said: " + printed;
      return m;
    }
    const Death death = runner.worker->bury(kFarewellMs);
    runner.worker.reset();
    if (t == Transfer::Stopped) return std::nullopt;
    return failed(records::Failure::Crash,
                  "the process that starts the candidates was taken down with it: it " + death.text);
  }

  /// The runner of the task, started when there is none (any more). Null when `stop` said so.
  Runner* runner_of(const Task& task, const MeasureOptions& options) {
    const Digest name = digest_of(structural_hash(task.program).hex() + task.target.fingerprint().hex());
    const auto found =
        std::find_if(runners_.begin(), runners_.end(), [&](const Runner& r) { return r.task == name; });
    if (found != runners_.end())
      runners_.splice(runners_.begin(), runners_, found);
    else
      runners_.push_front({name, nullptr, {}});
    if (runners_.size() > kTasksKept) runners_.pop_back();
    Runner& runner = runners_.front();
    if (!runner.worker && !start(runner, task, options)) return nullptr;
    return &runner;
  }

  bool start(Runner& runner, const Task& task, const MeasureOptions& options) {
    auto worker = std::make_unique<Worker>(options_.command, kRunRole);
    const Patience patience{kStartSeconds, options.stop ? &options.stop : nullptr};
    const Frame request{{{"do", "task"},
                         {"program", to_json(task.program)},
                         {"target", task.target.to_json()},
                         {"memory", memory_bytes_}},
                        {}};
    Frame reply;
    Transfer t = worker->send(request, patience);
    if (t == Transfer::Done) t = worker->receive(reply, patience);
    if (t == Transfer::Stopped) return false;
    if (t != Transfer::Done) {
      const Death death = worker->bury();
      const std::string words = worker->last_words();
      throw UserError(code::U030, "the process that measures (\"" + options_.command.program + "\") " +
                                      death.text + (words.empty() ? "" : "; it said: " + words));
    }
    const Measurement m = measurement_from(reply.header);
    if (!alive(m)) {
      throw UserError(code::U031, "the program cannot be run even without a schedule (" +
                                      std::string(records::to_string(m.failure)) + "): " + m.error_text +
                                      reply.header.value("printed", ""));
    }
    runner.worker = std::move(worker);
    return true;
  }

  ProcessMeasurerOptions options_;
  std::uint64_t memory_bytes_;
  Builders builders_;
  std::map<Digest, Build> recent_;  ///< by scheduled program: of the last batch
  std::list<Runner> runners_;       ///< the last used first
};

}  // namespace

std::unique_ptr<Measurer> process_measurer(ProcessMeasurerOptions options) {
  return std::make_unique<ProcessMeasurer>(std::move(options));
}

}  // namespace lathe::tuner
