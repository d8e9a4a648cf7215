// `lathe db`: what is in the record store, and its upkeep.

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

struct DatabaseArguments {
  std::string spec, output = "-";
  std::vector<std::string> inputs;
  records::Filter filter;
  bool winners = false, dry_run = false;
  int k = 5;
  std::int64_t keep_top = 0;
  double failure_days = -1;
};

int list(const Context& context, const DatabaseArguments& options) {
  const RecordStore store = open_to_read(context);
  ordered_json all = ordered_json::array();
  for (const records::KeySummary& s : store.summary(options.filter)) {
    all.push_back({{"workload", s.workload.spec},
                   {"target", s.target.name},
                   {"fingerprint", s.target.fingerprint.hex()},
                   {"semantics", s.key.semantics},
                   {"trials", s.trials},
                   {"failed", s.failed},
                   {"ms", s.best ? ordered_json(*s.best * 1e3) : ordered_json()},
                   {"caches", s.best ? ordered_json(records::to_string(s.best_regime)) : ordered_json()},
                   {"stale", s.best_stale},
                   {"names", s.specs}});
    if (context.json) continue;
    char best[48] = "no time";
    const bool cold = s.best_regime == records::Regime::Cold;
    if (s.best)
      std::snprintf(best, sizeof best, "%.4g ms%s%s", *s.best * 1e3, cold ? " (cold)" : "",
                    s.best_stale ? " (stale)" : "");
    std::printf("%-56s %-14s %12s  %s, %lld failed\n", s.workload.spec.c_str(), s.target.name.c_str(), best,
                count(s.trials, "trial").c_str(), static_cast<long long>(s.failed));
    for (const std::string& spec : s.specs)
      if (spec != s.workload.spec) std::printf("  the same program: %s\n", spec.c_str());
  }
  if (context.json) print_json(all);
  return kDone;
}

int statistics(const Context& context) {
  const records::Statistics s = open_to_read(context).statistics();
  ordered_json failures = ordered_json::object();
  for (const auto& [failure, n] : s.failures) failures[std::string(records::to_string(failure))] = n;
  const ordered_json all{{"file", s.path},           {"schema", s.schema},       {"bytes", s.file_bytes},
                         {"log_bytes", s.log_bytes}, {"workloads", s.workloads}, {"targets", s.targets},
                         {"sessions", s.sessions},   {"trials", s.trials},       {"timed", s.timed},
                         {"failed", s.failed},       {"stale", s.stale},         {"winners", s.winners},
                         {"failures", failures}};
  if (context.json) {
    print_json(all);
    return kDone;
  }
  for (const auto& [name, value] : all.items()) {
    if (name != "failures")
      std::printf("%-10s %s\n", name.c_str(),
                  value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
  }
  for (const auto& [name, value] : failures.items())
    std::printf("  %-18s %s\n", name.c_str(), value.dump().c_str());
  return kDone;
}

int best(const Context& context, const DatabaseArguments& options) {
  const records::Query query =
      query_for(Workload::parse(options.spec), Target::parse(context.target), context);
  const RecordStore store = open_to_read(context);
  const std::vector<records::Trial> found = store.best(query, options.k);
  ordered_json all = ordered_json::array();
  for (const records::Trial& t : found) {
    const bool stale = t.stale || !same_versions(t.provenance, *query.current);
    all.push_back({{"ms", t.p10 * 1e3},
                   {"trial", t.uid.hex()},
                   {"caches", records::to_string(t.regime)},
                   {"host", t.provenance.host},
                   {"stale", stale}});
    if (!context.json)
      std::printf("%10.4g ms  %s%s%s\n", t.p10 * 1e3, t.uid.hex().c_str(),
                  t.regime == records::Regime::Cold ? "  cold caches" : "", stale ? "  stale" : "");
  }
  if (context.json) print_json(all);
  if (!found.empty()) return kDone;
  std::cerr << store.why(query) << "\n";
  return kNoRecord;
}

int why(const Context& context, const DatabaseArguments& options) {
  const records::Query query =
      query_for(Workload::parse(options.spec), Target::parse(context.target), context);
  const RecordStore store = open_to_read(context);
  const records::Lookup found = store.lookup(query);
  const records::Miss* miss = std::get_if<records::Miss>(&found);
  if (context.json) {
    ordered_json parts = ordered_json::array();
    if (miss) {
      for (const records::MissPart& p : miss->parts)
        parts.push_back({{"part", p.part}, {"fits", p.fits}, {"text", p.text}});
    }
    print_json({{"hit", miss == nullptr},
                {"reason", miss ? ordered_json(records::to_string(miss->reason)) : ordered_json()},
                {"parts", parts}});
  } else {
    std::cout << store.why(query) << "\n";
  }
  return miss ? kNoRecord : kDone;
}

int export_text(const Context& context, const DatabaseArguments& options) {
  const RecordStore store = open_to_read(context);
  records::ExportOptions what;
  what.filter = options.filter;
  what.winners_only = options.winners;
  records::ExportReport r;
  write_file("db export", options.output, [&](std::ostream& out) { r = store.export_lines(out, what); });
  if (options.output == "-") return kDone;  // the log itself is JSON, line by line
  if (context.json) print_json({{"file", options.output}, {"lines", r.lines}, {"digest", r.digest.hex()}});
  std::fprintf(stderr, "%s written to %s, digest %s\n", count(r.lines, "line").c_str(),
               options.output.c_str(), r.digest.hex().c_str());
  return kDone;
}

/// What was new, told on standard error, and for --json.
ordered_json report(const std::string& from, const records::ImportReport& r) {
  std::fprintf(stderr, "%s: %s, of them new: %s, %s, %s, %s\n", from.c_str(), count(r.lines, "line").c_str(),
               count(r.workloads, "workload").c_str(), count(r.targets, "target").c_str(),
               count(r.sessions, "session").c_str(), count(r.trials, "trial").c_str());
  return {{"from", from},         {"lines", r.lines},       {"workloads", r.workloads},
          {"targets", r.targets}, {"sessions", r.sessions}, {"trials", r.trials}};
}

int import_text(const Context& context, const DatabaseArguments& options) {
  RecordStore store = open_to_write(context);
  ordered_json all = ordered_json::array();
  for (const std::string& path : options.inputs) {
    std::ifstream file = open_file("db import", path, kMakesLog);
    all.push_back(report(path, store.import_lines(file, path)));
  }
  store.mark_stale_times(this_provenance());
  if (context.json) print_json(all);
  return kDone;
}

int merge(const Context& context, const DatabaseArguments& options) {
  RecordStore store = open_to_write(context);
  ordered_json all = ordered_json::array();
  for (const std::string& path : options.inputs) {
    if (std::filesystem::exists(path) && std::filesystem::equivalent(path, context.db))
      throw std::runtime_error("db merge: \"" + path + "\" is the database itself");
    std::stringstream lines;
    RecordStore::open(path, read_only_store()).export_lines(lines);
    all.push_back(report(path, store.import_lines(lines, path)));
  }
  store.mark_stale_times(this_provenance());
  if (context.json) print_json(all);
  return kDone;
}

int prune(const Context& context, const DatabaseArguments& options) {
  if (options.keep_top <= 0 && options.failure_days < 0) {
    std::cerr << "lathe db prune: say what may go: --keep-top N, --drop-failures DAYS, or both\n";
    return kUsage;
  }
  records::PruneOptions what;
  what.keep_top = options.keep_top;
  what.filter = options.filter;
  what.dry_run = options.dry_run;
  if (options.failure_days >= 0)
    what.drop_failures_before_us = (static_cast<std::int64_t>(std::time(nullptr)) -
                                    static_cast<std::int64_t>(options.failure_days * 86400)) *
                                   1'000'000;
  RecordStore store = open_to_change(context);
  const records::PruneReport r = store.prune(what);
  if (context.json) {
    print_json({{"dry_run", options.dry_run},
                {"timed_removed", r.timed_removed},
                {"failures_removed", r.failures_removed},
                {"kept", r.kept}});
    return kDone;
  }
  std::printf("%s%s and %s removed, %lld kept\n", options.dry_run ? "would be: " : "",
              count(r.timed_removed, "timed trial").c_str(), count(r.failures_removed, "failure").c_str(),
              static_cast<long long>(r.kept));
  return kDone;
}

int compact(const Context& context) {
  const std::int64_t saved = open_to_change(context).compact();
  if (context.json)
    print_json({{"bytes_saved", saved}});
  else
    std::printf("%lld bytes saved\n", static_cast<long long>(saved));
  return kDone;
}

int check(const Context& context) {
  const std::vector<std::string> problems = open_to_read(context).check();
  if (context.json) {
    print_json({{"file", context.db}, {"good", problems.empty()}, {"problems", problems}});
  } else {
    for (const std::string& p : problems) std::cout << p << "\n";
    if (problems.empty()) std::cout << context.db << ": good\n";
  }
  return problems.empty() ? kDone : kFailed;
}

void add_filter(CLI::App& verb, records::Filter& filter) {
  verb.add_option("--workload", filter.workload,
                  "Only these: a name, a whole specification, or leading digits of a hash");
  verb.add_option("--only-target", filter.target, "Only these: a name, or leading digits of a fingerprint");
}

}  // namespace

void add_database(CLI::App& app, Context& context) {
  auto options = std::make_shared<DatabaseArguments>();
  CLI::App* db = app.add_subcommand("db", "The record store: what is in it, and its upkeep");
  db->require_subcommand(1);
  const auto verb = [&](const char* name, const char* about, std::function<int()> act) {
    CLI::App* sub = db->add_subcommand(name, about);
    add_db(*sub, context);
    add_json(*sub, context);
    context.does(*sub, std::move(act));
    return sub;
  };
  const auto of_workload = [&](CLI::App* sub) {
    add_target(*sub, context);
    add_cold(*sub, context);
    sub->add_option("workload", options->spec, "name(key=value,…):dtype, or a program in JSON")->required();
    return sub;
  };
  add_filter(*verb("ls", "Workloads and targets, with their best times",
                   [&context, options] { return list(context, *options); }),
             options->filter);
  verb("stats", "Counts and sizes", [&context] { return statistics(context); });
  of_workload(
      verb("best", "The best trials of a workload", [&context, options] { return best(context, *options); }))
      ->add_option("-k", options->k, "How many")
      ->check(at_least(1))
      ->capture_default_str();
  of_workload(verb("why", "What a build would find, or why it finds nothing, part by part",
                   [&context, options] { return why(context, *options); }));
  CLI::App* exported = verb("export", "The store as JSON lines: same content, same bytes",
                            [&context, options] { return export_text(context, *options); });
  exported->add_option("-o,--output", options->output, "A file; -: standard output")->capture_default_str();
  exported->add_flag("--winners", options->winners, "One trial a workload and target: what a project ships");
  add_filter(*exported, options->filter);
  verb("import", "Merge logs of JSON lines; twice changes nothing",
       [&context, options] { return import_text(context, *options); })
      ->add_option("file", options->inputs)
      ->required();
  verb("merge", "Merge other stores; where hosts disagree, each keeps its own best",
       [&context, options] { return merge(context, *options); })
      ->add_option("database", options->inputs)
      ->required();
  CLI::App* pruned = verb("prune", "Drop what is not needed; winners and refutations always stay",
                          [&context, options] { return prune(context, *options); });
  pruned
      ->add_option("--keep-top", options->keep_top,
                   "Timed trials kept of each workload, target and host class")
      ->check(at_least(1));
  pruned->add_option("--drop-failures", options->failure_days, "Drop failures older than so many days")
      ->check(at_least(0));
  pruned->add_flag("--dry-run", options->dry_run, "Only say what would go");
  add_filter(*pruned, options->filter);
  verb("compact", "Give free space back to the file system", [&context] { return compact(context); });
  verb("check", "Integrity of the file and of Lathe's own rules", [&context] { return check(context); });
}

}  // namespace lathe::command_line
