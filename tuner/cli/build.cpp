#include "lathe/build.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "support/error_codes/build.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

struct BuildArguments {
  std::vector<std::string> workloads, targets, levels, records;
  std::string folder = ".", on_miss = "error", depfile;
  bool list_outputs = false;
  BuildOptions build;
};

/// The text logs as one store, or --db for reading.
std::optional<RecordStore> open_records(const Context& context, const BuildArguments& options,
                                        bool db_given) {
  if (db_given) return open_to_read(context);
  if (options.records.empty()) return std::nullopt;
  RecordStore store = RecordStore::in_memory(store_options());
  for (const std::string& path : options.records) {
    std::ifstream file = open_file("build", path, kMakesLog);
    store.import_lines(file, path);
  }
  return store;
}

/// As make and ninja read it: one of the outputs, and every file that the artefact depends on.
void write_depfile(const Context& context, const BuildArguments& options, bool db_given) {
  std::vector<std::string> inputs = options.records;
  if (db_given) inputs.push_back(context.db);
  for (const std::string& t : options.targets)
    if (t.starts_with("@")) inputs.push_back(t.substr(1));
  for (const std::string& w : options.workloads) {
    const std::size_t equals = w.find('=');
    const bool named = equals != std::string::npos && equals < w.find('(');
    const std::string spec = named ? w.substr(equals + 1) : w;
    if (spec.ends_with(".json")) inputs.push_back(spec);
  }
  inputs.insert(inputs.end(), context.libraries.begin(), context.libraries.end());
  const auto escaped = [](const std::string& path) {
    std::string out;
    for (char c : std::filesystem::absolute(path).lexically_normal().string()) {
      if (c == ' ' || c == '#' || c == '\\') out += '\\';
      if (c == '$') out += '$';
      out += c;
    }
    return out;
  };
  std::ofstream file(options.depfile);
  file << escaped((std::filesystem::path(options.folder) / ("lib" + options.build.name + ".a")).string())
       << ":";
  for (const std::string& input : inputs) file << " \\\n  " << escaped(input);
  file << "\n";
  if (!file.flush()) throw std::runtime_error("build: cannot write the depfile \"" + options.depfile + "\"");
}

void report(const Context& context, const BuildArguments& options, const Artefact& artefact) {
  if (context.json) {
    ordered_json files = ordered_json::array(), schedules = ordered_json::array();
    for (const BuiltFile& f : artefact.files) files.push_back(f.name);
    for (const BuiltSchedule& s : artefact.schedules)
      schedules.push_back({{"kernel", s.kernel},
                           {"workload", s.workload},
                           {"target", s.target},
                           {"from", s.recorded ? "record" : "default schedule"},
                           {"record", s.record},
                           {"note", s.note}});
    print_json({{"folder", options.folder},
                {"files", files},
                {"schedules", schedules},
                {"left_out", artefact.left_out}});
    return;
  }
  for (const BuiltSchedule& s : artefact.schedules) {
    const std::string from =
        s.recorded ? "record " + s.record.substr(0, 12) + (s.note.empty() ? "" : " (" + s.note + ")")
                   : "default schedule: " + s.note.substr(0, s.note.find('\n'));
    std::printf("%s for %s: %s\n", s.kernel.c_str(), s.target.c_str(), from.c_str());
  }
  for (const std::string& name : artefact.left_out)
    std::printf("left out: %s; a later target has the same features\n", name.c_str());
  std::printf("%zu files in %s\n", artefact.files.size(), options.folder.c_str());
}

int run_build(const Context& context, BuildArguments options, bool db_given) {
  for (const std::string& level : options.levels) options.targets.push_back(level);
  if (options.targets.empty()) options.targets.push_back("host");
  std::vector<Target> targets;
  for (const std::string& t : options.targets) targets.push_back(Target::parse(t));
  options.build.regime = context.cold ? records::Regime::Cold : records::Regime::Warm;
  options.build.on_miss = options.on_miss == "error" ? OnMiss::Error : OnMiss::Default;
  if (options.list_outputs) {
    ordered_json all = ordered_json::array();
    for (const std::string& file : artefact_files(targets, options.build)) {
      all.push_back((std::filesystem::path(options.folder) / file).string());
      if (!context.json) std::cout << all.back().get<std::string>() << "\n";
    }
    if (context.json) print_json(all);
    return kDone;
  }
  std::vector<NamedWorkload> workloads;
  for (const std::string& w : options.workloads) workloads.push_back(NamedWorkload::parse(w));
  const std::optional<RecordStore> records = open_records(context, options, db_given);
  try {
    const Artefact artefact = build(workloads, targets, records ? &*records : nullptr, options.build);
    artefact.write(options.folder);
    if (!options.depfile.empty()) write_depfile(context, options, db_given);
    report(context, options, artefact);
    return kDone;
  } catch (const RecordError& e) {
    if (e.code() != code::B001) throw;
    std::cerr << "lathe build: " << e.what() << "\n";
    return kNoRecord;
  }
}

}  // namespace

void add_build(CLI::App& app, Context& context) {
  auto options = std::make_shared<BuildArguments>();
  CLI::App* verb = app.add_subcommand(
      "build", "Make objects, a C header and a manifest for production: nothing is tuned or timed");
  verb->add_option("workload", options->workloads, "[NAME=]SPECIFICATION, or a program in JSON")->required();
  CLI::Option* records =
      verb->add_option("--records", options->records, "Text logs of tuned schedules (`lathe db export`)")
          ->take_all();
  CLI::Option* db =
      verb->add_option("--db", context.db, "The record store, instead of logs")->excludes(records);
  verb->add_option("-o,--output", options->folder, "The folder for the files")->capture_default_str();
  verb->add_option("--name", options->build.name, "Of the files: NAME.h, libNAME.a, …")
      ->capture_default_str();
  verb->add_option(
          "--target", options->targets,
          "A CPU to build for (host, a name, @FILE.target.json); may be repeated: the artefact picks by the "
          "features of the CPU it runs on")
      ->take_all();
  verb->add_option("--levels", options->levels, "The same as a list: x86-64-v2,x86-64-v3,host")
      ->delimiter(',');
  verb->add_option("--on-miss", options->on_miss, "A workload without a record: error, or default schedule")
      ->check(CLI::IsMember({"error", "default"}))
      ->capture_default_str();
  verb->add_option("--prefix", options->build.prefix, "Before every kernel's name");
  verb->add_flag("--hidden", options->build.hidden, "Kernels stay inside the shared object that links them");
  verb->add_flag("--list-outputs", options->list_outputs,
                 "Print the files that would be made; build nothing");
  verb->add_option("--depfile", options->depfile, "Write what the artefact depends on, for make or ninja");
  add_cold(*verb, context);
  add_json(*verb, context);
  context.does(*verb, [&context, options, db] { return run_build(context, *options, db->count() > 0); });
}

}  // namespace lathe::command_line
