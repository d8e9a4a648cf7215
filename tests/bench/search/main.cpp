// The search bench. Every strategy plays every space from several seeds, each trial answered from the table; every model
// orders what is left of a space after a random sample.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "closed_loop.h"
#include "model_quality.h"
#include "report.h"
#include "tuner/model/pretrained.h"
#include "tuner/search/model_guided_strategy.h"
#include "xgboost_peer.h"

using namespace lathe;
using namespace lathe::bench;

namespace {

struct Options {
  std::string data = "../shared/data/gpu-sweeps", json, markdown, only;
  bool quick = false, no_models = false, no_prior = false, no_evolved = false, no_search = false;
  int seeds = 10;
  std::size_t trials = 256, round = 0;
};

using Sweeps = std::vector<std::unique_ptr<Sweep>>;

// All tables of the folder; those that are none are reported and left out.
Sweeps load(const Options& options, bool& complete) {
  if (!std::filesystem::is_directory(options.data)) {
    throw std::runtime_error("no folder " + options.data +
                             "; name the one that holds the spaces' CSV files with --data");
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(options.data)) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  Sweeps sweeps;
  for (const auto& path : paths) {
    try {
      sweeps.push_back(std::make_unique<Sweep>(path));
    } catch (const std::exception& error) {
      std::cerr << "bench-search: left out " << error.what() << "\n";
      complete = false;
    }
  }
  if (sweeps.empty()) throw std::runtime_error("no table of a space in " + options.data + "/*.csv");
  return sweeps;
}

using MakeStrategy = std::function<std::unique_ptr<tuner::Strategy>(std::uint64_t seed)>;

Race race(const Sweep& sweep, const std::string& name, const Options& options, const MakeStrategy& make) {
  Race result{sweep.name(), name, {}};
  for (int seed = 0; seed < options.seeds; ++seed) {
    result.curves.push_back(play(sweep, *make(seed), options.trials, options.round));
  }
  return result;
}

tuner::ModelGuidedOptions guided(std::uint64_t seed) {
  tuner::ModelGuidedOptions options;
  options.seed = seed;
  return options;
}

// The mean over all sibling files: seeds take them in turn.
Race race_with_prior(const Sweep& sweep, const Sweeps& sweeps, const Options& options) {
  std::vector<tuner::PretrainedModel> priors;
  for (const auto& other : sweeps) {
    if (other.get() == &sweep || other->kernel() != sweep.kernel() || !sweep.same_parameters(*other))
      continue;
    const tuner::Dataset known = sweep.learn_from(*other);
    if (known.size() > 0) priors.push_back(tuner::PretrainedModel::train(known, {}));
  }
  if (priors.empty()) return {};
  return race(sweep, "ours+prior", options, [&](std::uint64_t seed) {
    tuner::ModelGuidedOptions with_prior = guided(seed);
    const tuner::PretrainedModel& prior = priors[seed % priors.size()];
    with_prior.prior = [&prior](const tuner::FeatureTable& features) { return prior.predict(features); };
    return tuner::model_guided_strategy(sweep, with_prior);
  });
}

void races(Sweep& sweep, const Sweeps& sweeps, const Options& options, Report& report) {
  report.add(race(sweep, "random", options, [&](auto seed) { return tuner::random_strategy(sweep, seed); }));
  report.add(race(sweep, "ours", options,
                  [&](auto seed) { return tuner::model_guided_strategy(sweep, guided(seed)); }));
  if (!options.no_evolved) {
    sweep.hide_list(true);
    report.add(race(sweep, "ours-evolved", options,
                    [&](auto seed) { return tuner::model_guided_strategy(sweep, guided(seed)); }));
    sweep.hide_list(false);
  }
  if (!options.no_prior) {
    Race prior = race_with_prior(sweep, sweeps, options);
    if (!prior.curves.empty()) report.add(std::move(prior));
  }
}

// False when a file was left out.
bool run(const Options& options) {
  bool complete = true;
  const Sweeps sweeps = load(options, complete);
  Report report(options.trials);
  bool any = false;
  for (const auto& sweep : sweeps) {
    if (!options.only.empty() && sweep->name().find(options.only) == std::string::npos) continue;
    any = true;
    std::cerr << fmt::format("{} ({} configurations)\n", sweep->name(), sweep->size());
    if (!options.no_search) races(*sweep, sweeps, options, report);
    if (options.no_models) continue;
    for (std::size_t samples : {64, 256, 1000}) {
      if (sweep->size() < samples + 100) continue;
      for (ModelQuality& quality : model_quality(*sweep, samples, std::min(options.seeds, 5)))
        report.add(quality);
    }
  }
  if (!any) throw std::runtime_error("no space has \"" + options.only + "\" in its name");
  std::cout << report.text();
  if (!has_xgboost()) std::cout << "\n(built without libxgboost: its rows are left out)\n";
  if (!options.json.empty()) report.write_json(options.json);
  if (!options.markdown.empty()) report.refresh_markdown(options.markdown);
  return complete;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Plays Lathe's search and cost model on completely measured tuning spaces.");
  app.add_option("--data", options.data, "folder of CSV files, one a space: parameters and `time`")
      ->capture_default_str();
  app.add_option("--json", options.json, "write all rows to this file");
  app.add_option("--markdown", options.markdown, "refresh the section `search` of this page");
  app.add_option("--only", options.only, "spaces whose name contains this (priors still come from all)");
  app.add_option("--seeds", options.seeds, "seeds of each strategy")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--trials", options.trials, "trials of each session")
      ->check(CLI::Range(32, 4096))
      ->capture_default_str();
  app.add_option("--round", options.round,
                 "trials measured between two fits of the model; 0: as a session, 8 of the first 96 and 16 "
                 "of the rest")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "three seeds, 192 trials");
  app.add_flag("--no-models", options.no_models, "leave the models' offline metrics out");
  app.add_flag("--no-search", options.no_search, "leave the searches out: the models' metrics alone");
  app.add_flag("--no-prior", options.no_prior, "leave the searches with a sibling's prior out");
  app.add_flag("--no-evolved", options.no_evolved, "leave the searches that may not list the space out");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.seeds = std::min(options.seeds, 3);
    options.trials = std::min<std::size_t>(options.trials, 192);
  }
  try {
    return run(options) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench-search: " << error.what() << "\n";
    return 1;
  }
}
