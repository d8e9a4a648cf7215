#include <cstdio>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

int list_workloads(const Context& context) {
  ordered_json all = ordered_json::array();
  for (const WorkloadKind& kind : workload_kinds()) {
    ordered_json params = ordered_json::object();
    std::string text;
    for (const WorkloadParam& p : kind.params) {
      const std::string value = p.spell(p.default_value);
      const bool number = p.default_value.joint == 0 && p.words.empty();
      params[p.key] = {{"default", number ? ordered_json(p.default_value.items[0]) : ordered_json(value)},
                       {"about", p.about}};
      if (!p.words.empty()) params[p.key]["words"] = p.words;
      text += (text.empty() ? "" : ",") + p.key + "=" + value;
    }
    all.push_back({{"name", kind.name}, {"about", kind.about}, {"params", params}});
    if (!context.json)
      std::printf("%-26s %s\n%-26s %s(%s)\n", kind.name.c_str(), kind.about.c_str(), "", kind.name.c_str(),
                  text.c_str());
  }
  if (context.json) print_json(all);
  return kDone;
}

}  // namespace

void add_workloads(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("workloads", "The operators that can be named");
  add_json(*verb, context);
  context.does(*verb, [&context] { return list_workloads(context); });
}

}  // namespace lathe::command_line
