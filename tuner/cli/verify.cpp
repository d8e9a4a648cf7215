#include "lathe/verify.h"

#include <cstdio>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

int verify_folder(const Context& context, const std::string& folder, const std::string& name) {
  const std::vector<VerifiedKernel> all = verify_artefact(LoadedArtefact::load(folder, name));
  std::size_t ran = 0, wrong = 0;
  ordered_json runs = ordered_json::array();
  for (const VerifiedKernel& k : all) {
    ran += k.ran;
    wrong += k.ran && !k.right();
    runs.push_back({{"kernel", k.kernel},
                    {"target", k.target},
                    {"ran", k.ran},
                    {"right", k.right()},
                    {"error", k.error},
                    {"note", k.note}});
    if (!context.json)
      std::printf("%-9s %s for %s%s%s\n",
                  !k.ran      ? "not run"
                  : k.right() ? "right"
                              : "WRONG",
                  k.kernel.c_str(), k.target.c_str(), k.note.empty() ? "" : ": ", k.note.c_str());
  }
  if (context.json)
    print_json(runs);
  else
    std::printf("%zu runs, %zu wrong\n", ran, wrong);
  return wrong == 0 && ran > 0 ? kDone : kFailed;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  struct Options {
    std::string folder, name = "kernels";
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "verify",
      "Run what `lathe build` made against the unscheduled programs, in each version this machine has");
  verb->add_option("folder", options->folder, "Of the artefact")->required();
  verb->add_option("--name", options->name, "Of the artefact's files")->capture_default_str();
  add_json(*verb, context);
  context.does(*verb, [&context, options] { return verify_folder(context, options->folder, options->name); });
}

}  // namespace lathe::command_line
