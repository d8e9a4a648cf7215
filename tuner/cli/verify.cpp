#include "lathe/verify.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "tuner/cli/verb.h"

namespace lathe::command_line {
namespace {

/// The name of the artefact in a folder that holds one.
std::string name_of_artefact(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::filesystem::path file = entry.path().filename();
    if (file.extension() == ".json" && file.stem().extension() != ".target")
      names.push_back(file.stem().string());
  }
  std::sort(names.begin(), names.end());
  if (names.size() == 1) return names[0];
  std::string text = "verify: \"" + folder + "\" holds ";
  if (names.empty())
    throw std::runtime_error(text + "no manifest NAME.json; `lathe build … -o FOLDER` makes it");
  text += "several manifests; say with --name which:";
  for (const std::string& name : names) text += " " + name;
  throw std::runtime_error(text);
}

int verify_folder(const Context& context, const std::string& folder, const std::string& name) {
  const std::vector<VerifiedKernel> all =
      verify_artefact(LoadedArtefact::load(folder, name.empty() ? name_of_artefact(folder) : name));
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
    std::printf("%s, %zu wrong\n", count(static_cast<std::int64_t>(ran), "run").c_str(), wrong);
  return wrong == 0 && ran > 0 ? kDone : kFailed;
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  struct Options {
    std::string folder, name;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "verify",
      "Run what `lathe build` made against the unscheduled programs, in each version this machine has");
  verb->add_option("folder", options->folder, "Of the artefact")->required();
  verb->add_option("--name", options->name, "Of the artefact's files, where the folder holds several");
  add_json(*verb, context);
  context.does(*verb, [&context, options] { return verify_folder(context, options->folder, options->name); });
}

}  // namespace lathe::command_line
