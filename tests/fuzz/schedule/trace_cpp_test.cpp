// Traces printed as C++ compile, and make the identical program.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/schedule_fuzzer/fuzzer.h"

using namespace lathe;

namespace {

constexpr std::uint64_t kFirst = 5001, kCount = 40;

/// The schedule of a seed, whatever it computes.
Schedule random_schedule(const fuzz::Subject& subject, std::uint64_t seed) {
  auto decisions = std::make_shared<fuzz::Random>(seed);
  Schedule s(subject.program,
             [decisions](const Instruction&, const std::vector<std::vector<std::int64_t>>& all) {
               return decisions->below(all.size());
             });
  fuzz::Scene scene;
  for (const fuzz::Move& move : fuzz::moves_of(seed)) {
    try {
      fuzz::apply(move, s, scene);
    } catch (const ScheduleError&) {
    }
  }
  return s;
}

}  // namespace

TEST_CASE("traces printed as C++ compile and make the identical program") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lathe_traces_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::vector<fuzz::Subject> subjects;
  std::vector<Schedule> schedules;
  std::ofstream source(folder / "traces.cpp");
  source << "#include \"lathe/schedule.h\"\nusing namespace lathe;\n";
  for (std::uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) {
    subjects.push_back(fuzz::make_subject(seed));
    schedules.push_back(random_schedule(subjects.back(), seed));
    source << "extern \"C\" void apply_" << seed << "(Schedule& s) {\n"
           << schedules.back().trace().to_cpp() << "}\n";
  }
  source.close();
  const std::string library = (folder / "traces.so").string(), log = (folder / "log").string();
  const std::string command = std::string(TEST_CXX) + " -std=c++20 -O0 -w -shared -fPIC -I" + TEST_INCLUDE +
                              " " + (folder / "traces.cpp").string() + " -o " + library + " > " + log +
                              " 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::ifstream text(log);
    FAIL(std::string(std::istreambuf_iterator<char>(text), {}));
  }
  void* loaded = dlopen(library.c_str(), RTLD_NOW);
  INFO((loaded ? "" : dlerror()));
  REQUIRE(loaded);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    INFO("seed " << kFirst + i << " on " << subjects[i].what << "\n" << schedules[i].trace().to_cpp());
    auto* apply =
        reinterpret_cast<void (*)(Schedule&)>(dlsym(loaded, ("apply_" + std::to_string(kFirst + i)).c_str()));
    REQUIRE(apply);
    Schedule again(subjects[i].program);
    apply(again);
    CHECK(structural_hash(again.program()) == structural_hash(schedules[i].program()));
    CHECK(structural_equal(again.program(), schedules[i].program()));
  }
  std::filesystem::remove_all(folder);  // the library stays loaded: what it made may live on
}
