#include "lathe/cli.h"

#include <dlfcn.h>

#include <iostream>

#include "lathe/tuner.h"
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

/// Workloads of shared objects register themselves when they are loaded.
void load(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    // A name without a slash means a file here, not one on the linker's search path.
    const std::string path = library.find('/') == std::string::npos ? "./" + library : library;
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
      throw std::runtime_error("cannot load \"" + library + "\": " + dlerror());
  }
}

int parse_and_act(int argc, char** argv) {
  CLI::App app{kAbout, "lathe"};
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  std::vector<std::string> libraries;
  app.add_option("--load", libraries, "Shared objects with LATHE_WORKLOAD definitions")->allow_extra_args(false);
  Context context;
#define LATHE_VERB(name) add_##name(app, context);
#include "tuner/cli/verbs.def"
#undef LATHE_VERB
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kDone : kUsage;
  }
  load(libraries);
  return context.action();
}

}  // namespace
}  // namespace command_line

int cli(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "__measure") return measure_worker();
  command_line::catch_interrupts();
  try {
    return command_line::parse_and_act(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "lathe: " << e.what() << "\n";
    return command_line::kFailed;
  }
}

}  // namespace lathe
