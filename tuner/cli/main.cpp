// The `lathe` program.

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "lathe/compile.h"
#include "lathe/tuner.h"

namespace {

using namespace lathe;
using nlohmann::ordered_json;

// Exit codes: 0 done, 1 refused or failed (the message says why), 2 the command line was wrong, 3 interrupted and resumable,
// 4 nothing found (a miss with --on-miss error).
constexpr int kFailed = 1, kUsage = 2, kInterrupted = 3, kMiss = 4;

std::atomic<bool> g_stop{false};  // set by SIGINT and SIGTERM

struct Common {
  std::string target = "host", db = "lathe.db";
  bool json = false;
};

RecordStore open_to_read(const std::string& path) {
  records::OpenOptions options;
  options.mode = records::OpenMode::ReadOnly;
  options.create = false;
  return RecordStore::open(path, options);
}

records::Query query_for(const Workload& workload, const Target& target) {
  records::Query query;
  query.key = record_key(workload, target);
  query.regime = records::Regime::Warm;
  return query;
}

int list_workloads(const Common& common) {
  ordered_json all = ordered_json::array();
  for (const WorkloadKind& kind : workload_kinds()) {
    ordered_json params = ordered_json::object();
    std::string text;
    for (const WorkloadParam& p : kind.params) {
      params[p.key] = {{"default", p.default_value}, {"about", p.about}};
      text += (text.empty() ? "" : ",") + p.key + "=" + std::to_string(p.default_value);
    }
    all.push_back({{"name", kind.name}, {"about", kind.about}, {"params", params}});
    if (!common.json)
      std::printf("%-26s %s\n%-26s %s(%s)\n", kind.name.c_str(), kind.about.c_str(), "", kind.name.c_str(),
                  text.c_str());
  }
  if (common.json) std::cout << all.dump(2) << "\n";
  return 0;
}

int list_targets(const Common& common) {
  const Target host = Target::host();
  if (common.json) {
    ordered_json names = ordered_json::array();
    for (const KnownTarget& t : known_targets()) names.push_back(t.name);
    std::cout << ordered_json{{"host", ordered_json::parse(host.to_json())}, {"known", names}}.dump(2)
              << "\n";
    return 0;
  }
  std::cout << "host: " << host.describe() << "\n\nknown by name:\n";
  for (const KnownTarget& t : known_targets()) std::printf("  %-18s %s\n", t.name.c_str(), t.about.c_str());
  return 0;
}

int explain(const std::string& code) {
  const CodeInfo* info = find_code(code);
  if (!info) {
    std::cerr << "lathe explain: no error has the code \"" << code << "\"; see docs/errors.md\n";
    return kFailed;
  }
  std::cout << info->id << ": " << info->title << "\n  cause:   " << info->cause
            << "\n  way out: " << info->way_out << "\n";
  return 0;
}

/// One line that is renewed on a terminal, a line now and then elsewhere.
void show_progress(const TuneProgress& p) {
  static const bool terminal = isatty(2) != 0;
  const bool last = p.trial == p.trials;
  if (!terminal && !last && p.trial % 8 != 1) return;
  const double gain = p.best_ms > 0 && p.default_ms > 0 ? p.default_ms / p.best_ms : 0;
  const double left = p.trial > 0 ? p.seconds / p.trial * (p.trials - p.trial) : 0;
  std::fprintf(stderr,
               "%strial %3d/%d  best %.4f ms  %.2fx of the default (%.4f ms)  failed %d  %.0f s, about %.0f "
               "s left   %s",
               terminal ? "\r" : "", p.trial, p.trials, p.best_ms, gain, p.default_ms, p.failures, p.seconds,
               left, terminal && !last ? "" : "\n");
  std::fflush(stderr);
}

int tune_all(const Common& common, const std::vector<std::string>& specs, TuneOptions options) {
  const Target target = Target::parse(common.target);
  RecordStore store = RecordStore::open(common.db);
  options.worker_command = std::filesystem::read_symlink("/proc/self/exe").string();
  options.stop = [] { return g_stop.load(); };
  if (!common.json) options.on_trial = show_progress;
  int code = 0;
  ordered_json all = ordered_json::array();
  for (const std::string& spec : specs) {
    const Workload workload = Workload::parse(spec);
    if (!common.json) std::fprintf(stderr, "tuning %s for %s\n", workload.spec.c_str(), target.name.c_str());
    const TuneResult r = tune(workload, target, options, store);
    all.push_back({{"workload", workload.spec},
                   {"trials", r.measured},
                   {"failed", r.failed},
                   {"default_ms", r.default_ms},
                   {"best_ms", r.best_ms},
                   {"failures", r.failures},
                   {"interrupted", r.interrupted}});
    if (!common.json) {
      std::printf("%s: %d trials, %d failed; default %.4f ms, best %.4f ms\n", workload.spec.c_str(),
                  r.measured, r.failed, r.default_ms, r.best_ms);
      for (const auto& [kind, count] : r.failures) std::printf("  %d x %s\n", count, kind.c_str());
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
  if (common.json) std::cout << all.dump(2) << "\n";
  return code;
}

/// The schedule that a build would use, and what is said about it.
struct Choice {
  Schedule schedule;
  std::string origin;
  bool hit;
};
Choice choose(const Workload& workload, const Target& target, const std::string& db) {
  if (std::ifstream(db).good()) {
    RecordStore store = open_to_read(db);
    const records::Lookup found = store.lookup(query_for(workload, target));
    if (const records::Hit* hit = std::get_if<records::Hit>(&found)) {
      return {
          replay(workload, hit->trial),
          "record " + hit->trial.uid.hex().substr(0, 12) + (hit->note.empty() ? "" : " (" + hit->note + ")"),
          true};
    }
    return {workload.default_schedule(target), "default schedule: " + std::get<records::Miss>(found).text(),
            false};
  }
  return {workload.default_schedule(target), "default schedule: there is no database \"" + db + "\"", false};
}

int run(const Common& common, const std::string& spec, const std::string& on_miss) {
  const Workload workload = Workload::parse(spec);
  const Target target = Target::parse(common.target);
  const Choice choice = choose(workload, target, common.db);
  if (!choice.hit && on_miss == "error") {
    std::cerr << "lathe run: no record for " << workload.spec << "\n  " << choice.origin << "\n";
    return kMiss;
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
  if (common.json) {
    std::cout << ordered_json{{"workload", workload.spec}, {"hit", choice.hit}, {"origin", choice.origin},
                              {"verified", good},          {"ms", ms},          {"default_ms", default_ms}}
                     .dump(2)
              << "\n";
  } else {
    std::printf("%s\n  %s\n", workload.spec.c_str(), choice.origin.c_str());
    if (good)
      std::printf(
          "  verified against the unscheduled program; %.4f ms, %.2fx of the default schedule (%.4f ms)\n",
          ms, default_ms / ms, default_ms);
    else
      std::printf("  NOT verified: %s: %s\n", std::string(records::to_string(m.failure)).c_str(),
                  m.error_text.c_str());
  }
  return good ? 0 : kFailed;
}

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

int show(const Common& common, const std::string& spec, const std::string& as, const std::string& after,
         bool steps, bool diff, bool unscheduled) {
  const Workload workload = Workload::parse(spec);
  const Target target = Target::parse(common.target);
  const Schedule schedule =
      unscheduled ? Schedule(workload.program) : choose(workload, target, common.db).schedule;
  if (steps) {
    std::string before;
    for (std::size_t n = 0; n <= schedule.trace().steps.size(); ++n) {
      Trace prefix;
      prefix.steps.assign(schedule.trace().steps.begin(),
                          schedule.trace().steps.begin() + static_cast<std::ptrdiff_t>(n));
      Schedule s(workload.program);
      s.replay(prefix);
      const std::string text = to_string(s.program());
      if (text != before)
        print_step(n == 0 ? "the program" : "after " + std::to_string(n) + ": " + prefix.steps.back().op,
                   before, text, diff);
      before = text;
    }
    return 0;
  }
  if (!after.empty()) {
    print_step("after " + after, to_string(schedule.program()),
               to_string(lower_until(schedule.program(), target, after)), diff);
    return 0;
  }
  if (as == "loops")
    std::cout << to_string(schedule.program()) << "\n";
  else if (as == "trace")
    std::cout << schedule.trace().to_json() << "\n";
  else if (as == "cpp")
    std::cout << schedule.trace().to_cpp();
  else if (as == "json")
    std::cout << to_json(workload.program, 1) << "\n";
  else if (as == "llvm")
    std::cout << llvm_ir(schedule.program(), target) << "\n";
  else
    std::cout << assembly(schedule.program(), target) << "\n";
  return 0;
}

int db_list(const Common& common) {
  RecordStore store = open_to_read(common.db);
  ordered_json all = ordered_json::array();
  for (const records::Winner& w : store.winners()) {
    all.push_back({{"workload", w.workload.spec},
                   {"target", w.target.name},
                   {"ms", w.trial.p10 * 1e3},
                   {"trial", w.trial.uid.hex()}});
    if (!common.json)
      std::printf("%-60s %-14s %10.4f ms  %s\n", w.workload.spec.c_str(), w.target.name.c_str(),
                  w.trial.p10 * 1e3, w.trial.uid.hex().substr(0, 12).c_str());
  }
  if (common.json) std::cout << all.dump(2) << "\n";
  return 0;
}

int db_best(const Common& common, const std::string& spec, int k) {
  const Workload workload = Workload::parse(spec);
  const Target target = Target::parse(common.target);
  RecordStore store = open_to_read(common.db);
  const records::Query query = query_for(workload, target);
  const std::vector<records::Trial> best = store.best(query, k);
  for (const records::Trial& t : best) std::printf("%10.4f ms  %s\n", t.p10 * 1e3, t.uid.hex().c_str());
  if (best.empty()) {
    std::cerr << store.why(query) << "\n";
    return kMiss;
  }
  return 0;
}

int db_export(const Common& common, const std::string& path) {
  RecordStore store = open_to_read(common.db);
  if (path == "-") {
    store.export_lines(std::cout);
    return 0;
  }
  std::ofstream file(path);
  const records::ExportReport r = store.export_lines(file);
  std::fprintf(stderr, "%lld lines written to %s\n", static_cast<long long>(r.lines), path.c_str());
  return 0;
}

int db_import(const Common& common, const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::cerr << "lathe db import: cannot read \"" << path << "\"\n";
    return kFailed;
  }
  RecordStore store = RecordStore::open(common.db);
  store.import_lines(file, path);
  return 0;
}

int db_check(const Common& common) {
  RecordStore store = open_to_read(common.db);
  const std::vector<std::string> problems = store.check();
  for (const std::string& p : problems) std::cout << p << "\n";
  if (problems.empty()) std::cout << common.db << ": good\n";
  return problems.empty() ? 0 : kFailed;
}

int real_main(int argc, char** argv) {
  CLI::App app{
      "Lathe: schedules, tunes and replays fused tensor kernels.\n\n"
      "  lathe tune 'conv2d_bias_relu(h=56,ci=64,co=64)' --trials 64\n"
      "  lathe run  'conv2d_bias_relu(h=56,ci=64,co=64)'\n"
      "  lathe show 'matmul(m=64,n=64,k=64)' --steps --diff\n\n"
      "Exit codes: 0 done, 1 failed, 2 usage, 3 interrupted (resumable), 4 no record."};
  app.require_subcommand(1);
  Common common;
  std::vector<std::string> libraries;
  app.add_option("--load", libraries, "Shared objects with LATHE_WORKLOAD definitions");
  auto add_common = [&](CLI::App* sub, bool with_db) {
    sub->add_option("--target", common.target, "host, a named target, or @file.target.json")
        ->capture_default_str();
    if (with_db) sub->add_option("--db", common.db, "The record store")->capture_default_str();
    sub->add_flag("--json", common.json, "Print data as JSON");
  };

  std::vector<std::string> specs;
  TuneOptions options;
  CLI::App* tune_cmd = app.add_subcommand("tune", "Search for good schedules and store every trial");
  tune_cmd->add_option("workload", specs, "name(key=value,…):dtype, or a program in JSON")->required();
  add_common(tune_cmd, true);
  tune_cmd->add_option("--trials", options.trials, "Candidates to measure")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  tune_cmd->add_option("--time", options.seconds, "Seconds at most; 0: no limit")->capture_default_str();
  tune_cmd->add_option("--seed", options.seed, "Same seed, same proposals")->capture_default_str();
  tune_cmd->add_option("--timeout", options.trial_timeout, "Seconds for one candidate")
      ->capture_default_str();
  tune_cmd->add_flag("--resume", options.resume, "Go on; measure nothing again");

  std::string spec, on_miss = "default", as = "loops", after, path = "-", code;
  bool steps = false, diff = false, unscheduled = false;
  int k = 5;
  CLI::App* run_cmd = app.add_subcommand("run", "Replay the best record, verify and time it");
  run_cmd->add_option("workload", spec)->required();
  add_common(run_cmd, true);
  run_cmd->add_option("--on-miss", on_miss, "error or default")
      ->check(CLI::IsMember({"error", "default"}))
      ->capture_default_str();

  CLI::App* show_cmd = app.add_subcommand("show", "Print a workload's schedule in one of its forms");
  show_cmd->add_option("workload", spec)->required();
  add_common(show_cmd, true);
  show_cmd->add_option("--as", as, "loops, trace, cpp, json, llvm or asm")
      ->check(CLI::IsMember({"loops", "trace", "cpp", "json", "llvm", "asm"}))
      ->capture_default_str();
  show_cmd->add_option("--after", after, "The program after this lowering pass");
  show_cmd->add_flag("--steps", steps, "The loop nest after each step");
  show_cmd->add_flag("--diff", diff, "Mark the lines that changed");
  show_cmd->add_flag("--unscheduled", unscheduled, "The program as written");

  CLI::App* targets_cmd = app.add_subcommand("targets", "This machine and the targets known by name");
  add_common(targets_cmd, false);
  CLI::App* workloads_cmd = app.add_subcommand("workloads", "The operators that can be named");
  add_common(workloads_cmd, false);
  CLI::App* explain_cmd = app.add_subcommand("explain", "Cause of and way out of an error code");
  explain_cmd->add_option("code", code, "e.g. LTH-S012")->required();

  CLI::App* db = app.add_subcommand("db", "The record store");
  db->require_subcommand(1);
  CLI::App* ls_cmd = db->add_subcommand("ls", "Winners");
  CLI::App* best_cmd = db->add_subcommand("best", "The best trials of a workload");
  best_cmd->add_option("workload", spec)->required();
  best_cmd->add_option("-k", k)->capture_default_str();
  CLI::App* export_cmd = db->add_subcommand("export", "All trials as JSON lines");
  export_cmd->add_option("-o,--output", path)->capture_default_str();
  CLI::App* import_cmd = db->add_subcommand("import", "Merge JSON lines");
  import_cmd->add_option("file", path)->required();
  CLI::App* check_cmd = db->add_subcommand("check", "Integrity");
  for (CLI::App* sub : {ls_cmd, best_cmd, export_cmd, import_cmd, check_cmd}) add_common(sub, true);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int rc = app.exit(e);
    return rc == 0 ? 0 : kUsage;
  }
  for (const std::string& library : libraries) {
    if (!dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      std::cerr << "lathe: cannot load \"" << library << "\": " << dlerror() << "\n";
      return kFailed;
    }
  }
  if (*tune_cmd) return tune_all(common, specs, options);
  if (*run_cmd) return run(common, spec, on_miss);
  if (*show_cmd) return show(common, spec, as, after, steps, diff, unscheduled);
  if (*targets_cmd) return list_targets(common);
  if (*workloads_cmd) return list_workloads(common);
  if (*explain_cmd) return explain(code);
  if (*ls_cmd) return db_list(common);
  if (*best_cmd) return db_best(common, spec, k);
  if (*export_cmd) return db_export(common, path);
  if (*import_cmd) return db_import(common, path);
  return db_check(common);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "__measure") return measure_worker();
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  try {
    return real_main(argc, argv);
  } catch (const Error& e) {
    std::cerr << "lathe: " << e.what() << "\n";
    return kFailed;
  } catch (const std::exception& e) {
    std::cerr << "lathe: " << e.what() << "\n";
    return kFailed;
  }
}
