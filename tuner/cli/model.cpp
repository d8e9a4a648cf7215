// `lathe model`: cost models learned from records.

#include <cstdio>
#include <iostream>
#include <numeric>

#include "lathe/error.h"
#include "support/error_codes/tuner.h"
#include "tuner/cli/verb.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/pretrained.h"
#include "tuner/session/training_data.h"

namespace lathe::command_line {
namespace {

using namespace tuner;

// Of fewer workloads or samples a model learns their accidents.
constexpr std::size_t LeastWorkloads = 4, LeastSamples = 128;
constexpr int Folds = 5;

struct ModelArguments {
  std::string output, model, host;
  std::uint64_t seed = 1;
  PretrainOptions pretrain;
  bool force = false;
};

TrainingData read(const Context& context, const ModelArguments& options) {
  const RecordStore store = open_to_read(context);
  const Target target = Target::parse(context.target);
  TrainingData all = training_data(store, target, options.host);
  if (!options.host.empty() && all.host_class != options.host) {
    std::string known = all.host_class;
    for (const auto& [host, trials] : all.other_hosts) known += ", " + host;
    throw UserError(code::U005, "--host " + options.host + ": no trial of target " + target.name +
                                    " is from hosts of this class; there are " +
                                    (known.empty() ? "none at all" : "trials of " + known));
  }
  std::fprintf(stderr, "%zu schedules of %zu workloads on %s", all.data.size(), all.workloads(),
               target.name.c_str());
  if (!all.host_class.empty()) std::fprintf(stderr, ", hosts of class %s", all.host_class.c_str());
  for (const auto& [host, trials] : all.other_hosts)
    std::fprintf(stderr, "; %s of %s left out (--host)", count(trials, "trial").c_str(), host.c_str());
  if (all.other_targets > 0)
    std::fprintf(stderr, "; %s of other targets left out", count(all.other_targets, "trial").c_str());
  if (all.not_replayed > 0)
    std::fprintf(stderr, "; %s no longer replay", count(all.not_replayed, "trial").c_str());
  std::fprintf(stderr, "\n");
  return all;
}

int train(const Context& context, const ModelArguments& options) {
  const TrainingData all = read(context, options);
  if (!options.force && (all.workloads() < LeastWorkloads || all.data.size() < LeastSamples)) {
    std::cerr << "lathe model train: " << all.data.size() << " schedules of " << all.workloads()
              << " workloads are too few for a model that helps elsewhere (at least " << LeastSamples
              << " of " << LeastWorkloads << "); tune more workloads, or say --force\n";
    return kFailed;
  }
  PretrainOptions how = options.pretrain;
  how.seed = options.seed;
  PretrainedModel::train(all.data, how).save(options.output, statement_feature_set());
  std::fprintf(stderr,
               "written to %s; use it with `lathe tune --model`, judge models with `lathe model eval`\n",
               options.output.c_str());
  return kDone;
}

int evaluate(const Context& context, const ModelArguments& options) {
  const TrainingData all = read(context, options);
  const CrossValidation judged = cross_validate(all, Folds, options.seed);
  if (judged.models.empty()) {
    std::cerr << "lathe model eval: " << all.data.size()
              << " schedules are too few to judge models on (at least " << Folds << "); tune first\n";
    return kFailed;
  }
  if (!judged.by_workload) {
    std::fprintf(
        stderr,
        "a single workload: models are judged on schedules that they did not see, of the workload that they "
        "learned from; tune several to know how they do on others\n");
  }
  std::vector<ModelMetrics> rows = judged.models;
  if (!options.model.empty()) {
    const PretrainedModel model =
        PretrainedModel::load(options.model, statement_feature_set(), statement_feature_names().size());
    std::vector<std::size_t> every(all.data.size());
    std::iota(every.begin(), every.end(), std::size_t{0});
    rows.push_back(model_metrics(options.model, all, every, model.predict(all.data.features)));
  }
  if (context.json) {
    ordered_json out = ordered_json::array();
    for (const ModelMetrics& m : rows) {
      out.push_back({{"model", m.model},
                     {"held_out", judged.by_workload ? "workloads" : "schedules"},
                     {"workloads", m.workloads},
                     {"samples", m.programs},
                     {"pairwise", m.pairwise},
                     {"peak1", m.peak1},
                     {"peak5", m.peak5},
                     {"top1", m.top1},
                     {"top5", m.top5}});
    }
    print_json(out);
    return kDone;
  }
  std::printf("%-24s %9s %8s %9s %7s %7s %6s %6s\n", "model", "workloads", "samples", "pairwise", "peak@1",
              "peak@5", "top-1", "top-5");
  for (const ModelMetrics& m : rows) {
    std::printf("%-24s %9zu %8zu %9.3f %7.3f %7.3f %6.3f %6.3f\n", m.model.c_str(), m.workloads, m.programs,
                m.pairwise, m.peak1, m.peak5, m.top1, m.top5);
  }
  return kDone;
}

}  // namespace

void add_model(CLI::App& app, Context& context) {
  auto options = std::make_shared<ModelArguments>();
  CLI::App* model = app.add_subcommand("model", "Cost models learned from records");
  model->require_subcommand(1);
  const auto verb = [&](const char* name, const char* about) {
    CLI::App* sub = model->add_subcommand(name, about);
    add_target(*sub, context);
    add_db(*sub, context);
    sub->add_option("--host", options->host,
                    "Learn from hosts of this class; by default from this one's, else from the commonest");
    sub->add_option("--seed", options->seed)->capture_default_str();
    return sub;
  };
  CLI::App* learn = verb("train", "Learn a model from all trials of the target in --db");
  learn->add_option("-o,--output", options->output, "The model's file")->required();
  learn->add_option("--trees", options->pretrain.tree.trees, "Trees for each of the two labels")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  learn->add_option("--depth", options->pretrain.tree.depth, "Of the trees")
      ->check(CLI::Range(1, 12))
      ->capture_default_str();
  learn->add_flag("--force", options->force, "Also from few records");
  context.does(*learn, [&context, options] { return train(context, *options); });
  CLI::App* judge = verb("eval", "How well each model orders schedules of workloads that it never saw");
  judge->add_option("--model", options->model,
                    "A model's file, judged on all of --db (also what it learned from)");
  add_json(*judge, context);
  context.does(*judge, [&context, options] { return evaluate(context, *options); });
}

}  // namespace lathe::command_line
