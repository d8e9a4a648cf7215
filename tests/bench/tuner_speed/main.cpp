// How fast the tuner itself is, in processor time of one thread: a row of a Markdown table for each workload.
//
//   build-bench/tests/bench/tuner_speed/lathe_bench_tuner_speed 'matmul(m=512,n=512,k=512)' …
//
// discovery: finding the templates, once a session · filtered: decision vectors through the first filter · replayed:
// templates with decisions to scheduled programs · described: their features, draft and hash · scored: by a session's model of
// 128 samples · all: replayed, described and scored.

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "lathe/workload.h"
#include "tuner/features/statement_features.h"
#include "tuner/model/session_model.h"
#include "tuner/search/schedule_space.h"

using namespace lathe;
using namespace lathe::tuner;

namespace {

constexpr std::size_t Samples = 128, Candidates = 400, Vectors = 100000;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class F>
double seconds(F&& f) {
  const double start = processor_seconds();
  f();
  return processor_seconds() - start;
}

ScheduleSpaceOptions rules(const Workload& workload, const Target& target) {
  ScheduleSpaceOptions options;
  if (workload.schedule) {
    options.rules.push_back([&](Schedule& s) { workload.apply_schedule(s, target, Choices::Open); });
  }
  options.rules.push_back(
      [&](Schedule& s) { apply_rules(s, target, {.choices = Choices::Open, .parallel = true}); });
  return options;
}

void measure(const std::string& spec) {
  const Workload workload = Workload::parse(spec);
  const Target target = Target::parse("zen3");
  const CpuModel cpu(target);
  std::unique_ptr<ScheduleSpace> space;
  const double discovery = seconds(
      [&] { space = std::make_unique<ScheduleSpace>(workload.program, target, rules(workload, target)); });

  Random random(1);
  std::vector<Point> vectors, good;
  while (vectors.size() < Vectors) vectors.push_back(space->sample(random));
  std::size_t plausible = 0;
  const double filtered = seconds([&] {
    for (const Point& p : vectors) plausible += space->plausible(p);
  });
  for (std::size_t i = 0; i < vectors.size() && good.size() < Candidates; ++i) {
    if (space->plausible(vectors[i])) good.push_back(vectors[i]);
  }

  // Points may repeat: nothing is kept between them here.
  std::vector<Program> programs;
  std::vector<Point> replayable;
  const double replayed = seconds([&] {
    for (const Point& p : good) {
      try {
        programs.push_back(space->schedule(p).program());
        replayable.push_back(p);
      } catch (const ScheduleError&) {
      }
    }
  });
  FeatureTable features(space->feature_width());
  std::vector<float> prior;
  std::uint64_t hashes = 0;
  const double described = seconds([&] {
    for (const Program& program : programs) {
      const ProgramView seen = view(program);
      add_features(seen, cpu, features);
      prior.push_back(static_cast<float>(1e6 / cost(seen, cpu)));
      hashes ^= structural_hash(program).low;
    }
  });
  const float most = *std::max_element(prior.begin(), prior.end());
  for (float& p : prior) p /= most;
  PointSet points(space->decisions().size());
  for (const Point& p : replayable) points.add(p);
  std::vector<float> embedding(points.size() * space->embedding_width());
  space->embed(points, embedding);

  FeatureTable known(features.width());
  for (std::size_t i = 0; i < Samples; ++i) known.append(features, i % programs.size());
  SessionModel model;
  std::vector<float> known_embedding, known_prior, label;
  for (std::size_t i = 0; i < Samples; ++i) {
    const std::size_t at = i % programs.size(), width = space->embedding_width();
    known_embedding.insert(known_embedding.end(), embedding.begin() + static_cast<std::ptrdiff_t>(at * width),
                           embedding.begin() + static_cast<std::ptrdiff_t>((at + 1) * width));
    known_prior.push_back(prior[at]);
    label.push_back(static_cast<float>(random.uniform()));
  }
  const double fit = seconds([&] { model.fit({&known, known_embedding, known_prior}, label); });
  const double scored = seconds([&] { model.predict({&features, embedding, prior}); });

  const double n = static_cast<double>(programs.size()), v = static_cast<double>(Vectors);
  std::printf("| `%s` | %.2f s | %.0f | %.2f | %.0f | %.0f | %.0f | %.0f | %.2f s |\n", spec.c_str(),
              discovery, v / filtered, static_cast<double>(plausible) / v, n / replayed, n / described,
              n / scored, n / (replayed + described + scored), fit);
  if (hashes == 1) std::printf("\n");  // the hashes are used
}

}  // namespace

int main(int argc, char** argv) {
  std::printf(
      "| workload | discovery | filtered/s | kept | replayed/s | described/s | scored/s | all/s | fit of 128 "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  try {
    for (int i = 1; i < argc; ++i) measure(argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
