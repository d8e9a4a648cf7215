// The benchmark program. `scripts/bench` builds and starts it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "harness/measure.h"
#include "harness/operators.h"
#include "harness/placement.h"
#include "harness/report.h"
#include "lathe/tuner.h"

namespace lathe::bench {

namespace {

struct Options {
  std::vector<std::string> groups;
  std::string json, markdown, db;
  std::vector<std::string> keys;
  std::vector<Case> cases;  ///< instead of a group's own
  std::vector<int> threads;
  int samples = 12, trials = 0;
  bool quick = false, cold = false, list = false;
};

/// How often a case is set up anew: neighbours on a shared machine, and where memory lies, can halve the speed of anybody for
/// a while.
constexpr int kPlacements = 3;

const std::vector<std::string> AllGroups = {"hand", "default", "unseen", "math", "compile", "tuned"};

// Some machines set these to make OpenBLAS behave as on another CPU, which would make it an unfair peer. It
// reads them when it is loaded, so the program starts anew without them.
void start_without_overrides(char** argv) {
  bool found = false;
  for (const char* name :
       {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_PROC_BIND",
        "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY", "BLIS_NUM_THREADS", "BLIS_ARCH_TYPE", "DNNL_MAX_CPU_ISA"}) {
    found |= std::getenv(name) != nullptr;
    unsetenv(name);
  }
  if (found) execv("/proc/self/exe", argv);
}

/// Every implementation of a problem, on operands of its own.
struct Field {
  Problem problem;
  std::vector<Callable> callables;
  std::size_t peers = 0;  ///< the first of `callables`

  Field(const std::string& group, const Case& what, int threads, const Options& options, bool patient)
      : problem(make_problem(what, threads)) {
    problem.patient = patient;
    problem.records = options.db;
    problem.trials = options.trials;
    callables = make_peers(problem);
    peers = callables.size();
    if (auto ours = make_ours(group, problem)) callables.push_back(std::move(*ours));
  }
};

void enter(Row& row, const Field& field, const std::vector<Times>& times) {
  std::vector<bool> wrong(field.callables.size());
  for (std::size_t index : disagreeing(field.callables, field.problem.tolerance())) wrong[index] = true;
  for (std::size_t i = 0; i < field.callables.size(); ++i) {
    const Callable& c = field.callables[i];
    if (wrong[i]) {
      if (std::ranges::count(row.wrong, c.name) == 0) row.wrong.push_back(c.name);
      continue;
    }
    const Figure figure{field.problem.in_unit(times[i].min), field.problem.in_unit(times[i].median)};
    if (i < field.peers) {
      const auto [known, first] = row.peers.emplace(c.name, figure);
      if (!first) known->second = better(known->second, figure, row.unit);
    } else {
      row.ours = row.ours ? better(*row.ours, figure, row.unit) : figure;
      row.trials = c.trials;
    }
  }
}

Row measure_case(const std::string& group, const Case& what, int threads, const Sampling& sampling,
                 const Options& options) {
  // Kept to the end, so that each field gets memory of its own.
  std::vector<std::unique_ptr<Field>> fields;
  Row row{group, what.key, what.text() + (sampling.cold ? " cold" : ""), threads, {}, {}, {}, {}, {}};
  const int placements = options.quick ? 1 : kPlacements;
  for (int k = 0; k < placements; ++k) {
    const bool patient = k == 0 && group == "tuned" && !options.quick;
    fields.push_back(std::make_unique<Field>(group, what, threads, options, patient));
    const Field& field = *fields.back();
    row.unit = field.problem.unit;
    if (field.callables.empty()) return row;
    enter(row, field, measure_in_turns(field.callables, threads, sampling));
  }
  for (const std::string& name : row.wrong) {
    if (name == "lathe")
      row.ours.reset();
    else
      row.peers.erase(name);
  }
  return row;
}

std::vector<Row> measure_group(const std::string& group, const Options& options, const Ceilings& ceilings) {
  Sampling sampling;
  sampling.cold = options.cold;
  sampling.samples = options.quick ? options.samples : std::max(4, options.samples / kPlacements);
  if (options.quick) sampling.sample_seconds = 1e-3;
  std::vector<Row> rows;
  auto show = [&](Row row) {
    std::cout << table_line(row, ceilings) << std::endl;
    rows.push_back(std::move(row));
  };
  const std::vector<Case> cases = options.cases.empty() ? cases_of(group, options.quick) : options.cases;
  for (int threads : options.threads) {
    for (const Case& what : cases) {
      if (options.keys.empty() || std::ranges::count(options.keys, what.key) > 0)
        show(measure_case(group, what, threads, sampling, options));
    }
    if (!options.cases.empty()) continue;
    for (Row& row : run_measurements(group, {options.quick, threads})) show(std::move(row));
  }
  return rows;
}

/// The database of group `tuned` where none is named: beside this program, with the winners that come with Lathe.
std::string own_database() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string path = (here / "tuned.db").string();
  RecordStore store = RecordStore::open(path, store_options());
  for (const auto& log : std::filesystem::directory_iterator(LATHE_TUNELOGS)) {
    if (log.path().extension() != ".jsonl") continue;
    std::ifstream in(log.path());
    store.import_lines(in, log.path().string());
  }
  return path;
}

int run(const Options& options) {
  if (options.list) {
    for (const std::string& group : options.groups) {
      for (const Operator& op : operators_of(group)) {
        std::cout << group << " " << op.key << "(" << op.parameters << "): " << op.cases.size() << " cases\n";
      }
    }
    return 0;
  }
  const Machine machine = describe_machine();
  std::cout << machine.cpu << "\n";
  for (const std::string& peer : machine.peers) std::cout << "  " << peer << "\n";

  int most = 1;
  for (int t : options.threads) most = std::max(most, t);
  const Ceilings ceilings = measure_ceilings(most, options.quick);
  for (const auto& [threads, peak] : ceilings.fma_gflops) {
    std::cout << threads << "T: " << peak << " GF/s of multiply-adds; 256 MB arrays, GB/s: read "
              << ceilings.read_gbs.at("256MB").at(threads) << ", copy "
              << ceilings.copy_gbs.at("256MB").at(threads) << ", non-temporal copy "
              << ceilings.nt_copy_gbs.at("256MB").at(threads) << "\n";
  }

  std::vector<Row> rows;
  for (const std::string& group : options.groups) {
    std::cout << "\n" << group << "\n" << table_header() << "\n";
    std::vector<Row> measured = measure_group(group, options, ceilings);
    rows.insert(rows.end(), measured.begin(), measured.end());
    for (int threads : options.threads) {
      const Summary s = summarise(measured, group, threads);
      if (s.rows > 0)
        std::cout << group << ", " << threads << "T: geomean " << s.geomean << ", worst " << s.worst << " of "
                  << s.rows << " rows\n";
    }
  }
  if (!options.json.empty()) write_json(options.json, machine, ceilings, rows);
  if (!options.markdown.empty()) refresh_markdown(options.markdown, machine, ceilings, rows);
  bool wrong = false;
  for (const Row& row : rows) wrong |= !row.wrong.empty();
  return wrong ? 1 : 0;
}

}  // namespace

}  // namespace lathe::bench

int main(int argc, char** argv) {
  using namespace lathe::bench;
  if (const std::optional<int> done = lathe::serve_as_worker(argv[argc - 1])) return *done;
  start_without_overrides(argv);
  Options options;
  std::vector<std::string> cases;
  std::optional<int> trials;
  CLI::App app(
      "Measures Lathe's kernels against OpenBLAS, BLIS, oneDNN, Eigen and Halide, interleaved in one run.\n"
      "Exit code 1: an implementation's output disagreed with the others'.");
  app.add_option("--group", options.groups, "hand, default, unseen, math, compile, tuned (default: all)")
      ->check(CLI::IsMember(AllGroups));
  app.add_option("--key", options.keys, "only this operator, e.g. C2D; may be given again");
  app.add_option("--case", cases,
                 "KEY:1,2,3 instead of the built-in ones (--list tells the parameters), e.g. "
                 "GMM:1,300,200,100; may be given again");
  app.add_option(
      "--db", options.db,
      "the database whose best schedules group tuned measures (default: tuned.db beside this program)");
  app.add_option("--trials", trials,
                 "group tuned tunes what the database does not know with so many (default: 32; 0 with --db)")
      ->check(CLI::Range(0, 100000));
  app.add_option("--threads", options.threads, "numbers of threads (default: 1 and 2)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--samples", options.samples,
                 "of each implementation (default: 12), over three placements of the operands; more on a "
                 "busy machine")
      ->check(CLI::Range(10, 1000));
  app.add_flag("--quick", options.quick, "few cases, one thread, short samples");
  app.add_flag("--cold", options.cold, "evict the caches before every call");
  app.add_flag("--list", options.list, "list the operators and stop");
  app.add_option("--json", options.json, "write ceilings and rows to this file");
  app.add_option("--markdown", options.markdown, "refresh the sections of this page");
  CLI11_PARSE(app, argc, argv);
  if (options.groups.empty())
    options.groups = cases.empty() ? AllGroups : std::vector<std::string>{"default", "tuned"};
  options.trials = trials.value_or(options.db.empty() ? 32 : 0);
  const int cpus = static_cast<int>(allowed_cpus().size());
  if (options.threads.empty())
    options.threads = options.quick || cpus < 2 ? std::vector<int>{1} : std::vector<int>{1, 2};
  for (int threads : options.threads) {
    if (threads > cpus) {
      std::cerr << "bench: " << threads << " threads asked for, this process may use " << cpus << " CPUs\n";
      return 2;
    }
  }
  try {
    for (const std::string& text : cases) {
      const std::vector<Case> variants = parse_cases(text);
      options.cases.insert(options.cases.end(), variants.begin(), variants.end());
    }
    if (options.db.empty() && std::ranges::count(options.groups, "tuned") > 0 && !options.list)
      options.db = own_database();
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 2;
  }
}
