#include <cstdio>
#include <fstream>
#include <iostream>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

int list(const Context& context) {
  const RecordStore store = open_to_read(context);
  ordered_json all = ordered_json::array();
  for (const records::Winner& w : store.winners()) {
    all.push_back({{"workload", w.workload.spec},
                   {"target", w.target.name},
                   {"ms", w.trial.p10 * 1e3},
                   {"trial", w.trial.uid.hex()}});
    if (!context.json)
      std::printf("%-60s %-14s %10.4f ms  %s\n", w.workload.spec.c_str(), w.target.name.c_str(),
                  w.trial.p10 * 1e3, w.trial.uid.hex().substr(0, 12).c_str());
  }
  if (context.json) print_json(all);
  return kDone;
}

int best(const Context& context, const std::string& spec, int k) {
  const records::Query query = record_query(Workload::parse(spec), Target::parse(context.target));
  const RecordStore store = open_to_read(context);
  const std::vector<records::Trial> found = store.best(query, k);
  ordered_json all = ordered_json::array();
  for (const records::Trial& t : found) {
    all.push_back({{"ms", t.p10 * 1e3}, {"trial", t.uid.hex()}, {"stale", t.stale}});
    if (!context.json)
      std::printf("%10.4f ms  %s%s\n", t.p10 * 1e3, t.uid.hex().c_str(), t.stale ? "  stale" : "");
  }
  if (context.json) print_json(all);
  if (!found.empty()) return kDone;
  std::cerr << store.why(query) << "\n";
  return kNoRecord;
}

int export_text(const Context& context, const std::string& path) {
  const RecordStore store = open_to_read(context);
  if (path == "-") {
    store.export_lines(std::cout);
    return kDone;
  }
  std::ofstream file(path);
  const records::ExportReport r = store.export_lines(file);
  std::fprintf(stderr, "%lld lines written to %s\n", static_cast<long long>(r.lines), path.c_str());
  return kDone;
}

int import_text(const Context& context, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("db import: cannot read \"" + path + "\"");
  open_to_write(context).import_lines(file, path);
  return kDone;
}

int check(const Context& context) {
  const std::vector<std::string> problems = open_to_read(context).check();
  for (const std::string& p : problems) std::cout << p << "\n";
  if (problems.empty()) std::cout << context.db << ": good\n";
  return problems.empty() ? kDone : kFailed;
}

}  // namespace

void add_database(CLI::App& app, Context& context) {
  struct Options {
    std::string spec, path = "-";
    int k = 5;
  };
  auto options = std::make_shared<Options>();
  CLI::App* db = app.add_subcommand("db", "The record store");
  db->require_subcommand(1);
  const auto verb = [&](const char* name, const char* about, std::function<int()> act) {
    CLI::App* sub = db->add_subcommand(name, about);
    add_db(*sub, context);
    add_json(*sub, context);
    context.does(*sub, std::move(act));
    return sub;
  };
  verb("ls", "Winners", [&context] { return list(context); });
  CLI::App* best_verb = verb("best", "The best trials of a workload",
                             [&context, options] { return best(context, options->spec, options->k); });
  add_target(*best_verb, context);
  best_verb->add_option("workload", options->spec)->required();
  best_verb->add_option("-k", options->k, "How many")->capture_default_str();
  verb("export", "All trials as JSON lines",
       [&context, options] { return export_text(context, options->path); })
      ->add_option("-o,--output", options->path)
      ->capture_default_str();
  verb("import", "Merge JSON lines", [&context, options] { return import_text(context, options->path); })
      ->add_option("file", options->path)
      ->required();
  verb("check", "Integrity", [&context] { return check(context); });
}

}  // namespace lathe::command_line
