#include <iostream>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

int explain(const std::string& code) {
  const CodeInfo* info = find_code(code);
  if (!info) {
    std::cerr << "lathe explain: no error has the code \"" << code << "\"; see docs/errors.md\n";
    return kFailed;
  }
  std::cout << info->id << ": " << info->title << "\n  cause:   " << info->cause
            << "\n  way out: " << info->way_out << "\n";
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto code = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("explain", "Cause of and way out of an error code");
  verb->add_option("code", *code, "As in an error's text, e.g. LTH-S012")->required();
  context.does(*verb, [code] { return explain(*code); });
}

}  // namespace lathe::command_line
