// Damaged texts of every format that Lathe reads. `build/tests/fuzz_text --seed N --count M` tries any number of them.
#include "support/text_fuzzer/formats.h"

using namespace lathe;

namespace {

void try_seeds(const std::string& name, std::uint64_t count) {
  for (const fuzz::Format& format : fuzz::formats()) {
    if (format.name != name) continue;
    for (std::size_t i = 0; i < format.samples.size(); ++i) {
      INFO(format.samples[i]);
      const fuzz::Outcome undamaged = fuzz::try_text(format, format.samples[i], i);
      CHECK(undamaged.failure == "");
    }
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      INFO("fuzz_text --format " << name << " --seed " << seed);
      std::size_t sample = 0;
      const std::string text = fuzz::input_of(format, seed, sample);
      const fuzz::Outcome outcome = fuzz::try_text(format, text, sample);
      CHECK(outcome.failure == "");
      refused += !outcome.accepted;
    }
    CHECK((refused > count / 10 || name == "answer"));
    return;
  }
  FAIL("no format " << name);
}

}  // namespace

TEST_CASE("damaged specifications are refused, or are workloads") { try_seeds("spec", 400); }
TEST_CASE("damaged targets are refused, or are targets") { try_seeds("target", 2000); }
TEST_CASE("damaged target files are refused, or are targets") { try_seeds("target-json", 1000); }
TEST_CASE("damaged programs are refused, or can be scheduled") { try_seeds("program", 150); }
TEST_CASE("damaged traces are refused, or replay") { try_seeds("trace", 200); }
TEST_CASE("damaged logs are refused, or are records") { try_seeds("log", 60); }
TEST_CASE("damaged databases are refused, or answer") { try_seeds("database", 100); }
TEST_CASE("damaged manifests are refused, or are read") { try_seeds("manifest", 80); }
TEST_CASE("damaged models are refused, or predict") { try_seeds("model", 400); }
TEST_CASE("damaged answers of workers are told apart") { try_seeds("answer", 400); }
