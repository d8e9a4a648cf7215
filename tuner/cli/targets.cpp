#include <cstdio>
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

}  // namespace

void add_targets(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("targets", "This machine and the targets known by name");
  add_json(*verb, context);
  context.does(*verb, [&context] { return list_targets(context); });
}

}  // namespace lathe::command_line
