#include <cstdio>
#include <fstream>
#include <iostream>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

int list_targets(const Context& context) {
  const Target host = Target::host();
  if (context.json) {
    ordered_json names = ordered_json::array();
    for (const KnownTarget& t : known_targets()) names.push_back(t.name);
    print_json({{"host", ordered_json::parse(host.to_json())}, {"known", names}});
    return kDone;
  }
  std::cout << "host: " << host.describe() << "\n\nknown by name:\n";
  for (const KnownTarget& t : known_targets()) std::printf("  %-18s %s\n", t.name.c_str(), t.about.c_str());
  return kDone;
}

int show_target(const std::string& name, const std::string& path) {
  const std::string text = Target::parse(name).to_json() + "\n";
  write_file("targets show", path, [&](std::ostream& out) { out << text; });
  return kDone;
}

}  // namespace

void add_targets(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("targets", "This machine and the targets known by name");
  add_json(*verb, context);
  struct Options {
    std::string name = "host", path = "-";
  };
  auto options = std::make_shared<Options>();
  CLI::App* show =
      verb->add_subcommand("show",
                           "All about a target, as a file for --target @FILE: builds with it look at "
                           "no machine");
  show->add_option("target", options->name, "host, cuda:0, a name, or @FILE")->capture_default_str();
  show->add_option("-o,--output", options->path, "FILE.target.json")->capture_default_str();
  context.does(*verb, [&context, options, show] {
    return *show ? show_target(options->name, options->path) : list_targets(context);
  });
}

}  // namespace lathe::command_line
