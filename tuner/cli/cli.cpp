#include "lathe/cli.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "lathe/tuner.h"
#include "support/nearest.h"
#include "tuner/cli/interrupt.h"
#include "tuner/cli/verb.h"

namespace lathe {
namespace command_line {

#define LATHE_VERB(name) void add_##name(CLI::App&, Context&);
#include "tuner/cli/verbs.def"
#undef LATHE_VERB

namespace {

constexpr const char* kAbout =
    "Lathe: schedules, tunes and replays fused tensor kernels.\n\n"
    "  lathe tune 'conv2d_bias_relu(h=56,ci=64,co=64)' --trials 64\n"
    "  lathe run  'conv2d_bias_relu(h=56,ci=64,co=64)'\n"
    "  lathe show 'matmul(m=64,n=64,k=64)' --steps --diff\n";
constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 interrupted (resumable), 4 no record.";

/// What a shared object throws while it is loaded reaches no handler: dlopen lies between. It becomes a text here.
[[noreturn]] void refuse_load() {
  std::string text = "it ended this program";
  try {
    if (std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    text = e.what();
  } catch (...) {
  }
  std::fprintf(
      stderr,
      "lathe: a shared object given to --load refuses to be loaded: %s\n  it must define names of its own, "
      "and not be linked with lathe::lathe: what it calls is in this program\n",
      text.c_str());
  std::_Exit(kFailed);
}

/// Workloads of shared objects register themselves when they are loaded.
void load(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    // A name without a slash means a file here, not one on the linker's search path.
    const std::string path = library.find('/') == std::string::npos ? "./" + library : library;
    const std::terminate_handler usual = std::set_terminate(refuse_load);
    void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    std::set_terminate(usual);
    if (!loaded) throw std::runtime_error("cannot load \"" + library + "\": " + dlerror());
  }
}

/// As a worker of a session: `lathe [--load LIBRARY]… ROLE`.
std::optional<int> serve(int argc, char** argv) {
  if (argc < 2 || std::string(argv[argc - 1]).rfind("__", 0) != 0) return std::nullopt;
  std::vector<std::string> libraries;
  for (int i = 1; i + 2 < argc; i += 2) libraries.emplace_back(argv[i + 1]);
  load(libraries);
  return serve_as_worker(argv[argc - 1]);
}

/// The names by which `app` knows its verbs or, with dashes, its options.
std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}
bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What the parser said, or better the first word that nobody knows, with the one that was probably meant.
std::string what_is_wrong(CLI::App& app, int argc, char** argv, const std::string& otherwise) {
  CLI::App* at = &app;
  std::string path = "lathe", wrong;
  for (int i = 1; i < argc && wrong.empty(); ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) == 0) {
      const std::string name = word.substr(0, word.find('='));
      if (!has(options_of(*at), name))
        wrong = path + " has no option \"" + name + "\"" + did_you_mean(name, options_of(*at));
      else if (name == "--load" && name == word)
        ++i;
    } else if (const std::vector<std::string> verbs = verbs_of(*at); !verbs.empty()) {
      if (has(verbs, word)) {
        at = at->get_subcommand(word);
        path += " " + word;
      } else {
        wrong = path + " has no verb \"" + word + "\"" + did_you_mean(word, verbs);
      }
    }
  }
  if (wrong.empty() && !verbs_of(*at).empty()) wrong = path + ": a verb is missing";
  if (wrong.empty()) wrong = path + ": " + otherwise;
  return wrong + "\n`" + path + " --help` lists what there is.\n";
}

int parse_and_act(int argc, char** argv) {
  CLI::App app{kAbout, "lathe"};
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  Context context;
  app.add_option("--load", context.libraries, "Shared objects with LATHE_WORKLOAD definitions")
      ->allow_extra_args(false);
#define LATHE_VERB(name) add_##name(app, context);
#include "tuner/cli/verbs.def"
#undef LATHE_VERB
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e), kDone;  // --help, --version
    std::cerr << what_is_wrong(app, argc, argv, e.what());
    return kUsage;
  }
  load(context.libraries);
  return context.action();
}

}  // namespace
}  // namespace command_line

int cli(int argc, char** argv) {
  try {
    if (const std::optional<int> served = command_line::serve(argc, argv)) return *served;
    command_line::ignore_file_limits();
    const int code = command_line::parse_and_act(argc, argv);
    // Half of an answer must not pass for one.
    if (!std::cout.flush() || std::fflush(stdout) != 0)
      throw std::runtime_error("standard output cannot be written");
    return code;
  } catch (const std::exception& e) {
    std::cerr << "lathe: " << e.what() << "\n";
    return command_line::kFailed;
  }
}

}  // namespace lathe
