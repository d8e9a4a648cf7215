// Tunes a workload from C++, keeps every trial in a store, and replays the winner as a build would.
//
//     tune_and_replay ['matmul(m=96,n=96,k=96)'] [TRIALS]
//
// Candidates are measured in child processes of this same program, so main() first asks whether it is one.

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "lathe/prepare.h"
#include "lathe/runtime/fill.h"
#include "lathe/tuner.h"

using namespace lathe;

namespace {

/// A tensor for each parameter: signed numbers, outputs full of NaN.
std::vector<runtime::Tensor> arguments(const Program& program) {
  std::vector<runtime::Tensor> out;
  std::uint64_t seed = 1;
  for (const Param& p : program->params) {
    std::vector<std::int64_t> shape;
    for (const Expr& e : p.buffer->shape) shape.push_back(*as_int(e));
    out.emplace_back(p.buffer->dtype, shape);
    if (p.role == ParamRole::Output)
      runtime::fill_poison(out.back());
    else
      runtime::fill_integers(out.back(), ++seed, -3, 3);  // sums of integers come out exactly
  }
  return out;
}

std::vector<runtime::Tensor*> pointers(std::vector<runtime::Tensor>& tensors) {
  std::vector<runtime::Tensor*> out;
  for (runtime::Tensor& t : tensors) out.push_back(&t);
  return out;
}

/// Runs the schedule: weights are prepared once, ahead of the call.
std::vector<runtime::Tensor> result_of(const Schedule& schedule, const Target& target) {
  const PreparedKernel kernel = compile_prepared(schedule, target);
  std::vector<runtime::Tensor> tensors = arguments(schedule.original());
  std::vector<runtime::Tensor> weights = kernel.prepare(pointers(tensors));
  kernel(pointers(tensors), weights);
  return tensors;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1)
    if (const std::optional<int> done = serve_as_worker(argv[argc - 1])) return *done;

  // A program of your own: Workload{"my_layer", program("my_layer", {x, w}, {y}), {}}.
  const Workload workload = Workload::parse(argc > 1 ? argv[1] : "matmul(m=96,n=96,k=96)");
  const Target target = Target::host();

  // Tune. What was measured is in the store, whatever happens to this process.
  RecordStore store =
      RecordStore::in_memory(store_options());  // RecordStore::open("tuning.db", store_options()) keeps it
  TuneOptions options;
  options.trials = argc > 2 ? std::atoi(argv[2]) : 12;
  options.worker_command = std::filesystem::read_symlink("/proc/self/exe").string();
  options.on_trial = [](const TuneProgress& p) {
    std::printf("trial %d of %d: best %.4f ms, default %.4f ms\n", p.trial, p.trials, p.best_ms,
                p.default_ms);
  };
  const TuneResult tuned = tune(workload, target, options, store);
  std::printf("%s: %d trials, %d failed, %.4f ms instead of %.4f ms\n\n", workload.spec.c_str(),
              tuned.measured, tuned.failed, tuned.best_ms, tuned.default_ms);

  // Replay. A miss says which part of the key differs; nothing is ever served that was recorded for something else.
  const records::Lookup found = store.lookup(record_query(workload, target));
  if (const auto* miss = std::get_if<records::Miss>(&found)) {
    std::printf("%s\n", miss->text().c_str());
    return 1;
  }
  const Schedule best = replay(workload, std::get<records::Hit>(found).trial);
  std::printf("The winner as C++, to paste and edit:\n\n%s\n", best.trace().to_cpp().c_str());

  const std::vector<runtime::Tensor> have = result_of(best, target),
                                     want = result_of(Schedule(workload.program), target);
  for (std::size_t i = 0; i < have.size(); ++i)
    for (std::int64_t e = 0; e < have[i].size(); ++e)
      if (have[i].value(e) != want[i].value(e)) {
        std::printf("tensor %zu, element %lld: %g, expected %g\n", i, static_cast<long long>(e),
                    have[i].value(e), want[i].value(e));
        return 1;
      }
  std::printf("It computes what the program as written computes.\n");
  return 0;
} catch (const UserError& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
