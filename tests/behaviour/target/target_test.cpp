#include "lathe/target.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "target/fields.h"

using namespace lathe;

namespace {

std::vector<std::string> every_name() {
  std::vector<std::string> names;
  for (const KnownTarget& known : known_targets()) {
    names.push_back(known.name);
    names.insert(names.end(), known.aliases.begin(), known.aliases.end());
  }
  return names;
}

/// Changes one field of a target to another value.
void change(const FieldRef& field) {
  if (auto* const* at = std::get_if<std::int64_t*>(&field.at)) **at += 1;
  if (auto* const* at = std::get_if<double*>(&field.at)) **at += 0.5;
  if (auto* const* at = std::get_if<bool*>(&field.at)) **at = !**at;
  if (auto* const* at = std::get_if<std::string*>(&field.at)) **at += "x";
  if (auto* const* at = std::get_if<std::vector<std::string>*>(&field.at)) (*at)->push_back("zz");
}

}  // namespace

TEST_CASE("every known name parses to a valid target, and aliases to the same one") {
  for (const KnownTarget& known : known_targets()) {
    const Target target = Target::parse(known.name);
    CHECK_NOTHROW(target.validate());
    CHECK(target.name == known.name);
    CHECK(!known.about.empty());
    for (const std::string& alias : known.aliases) CHECK(Target::parse(alias) == target);
  }
}

TEST_CASE("no two names of the tables collide") {
  const std::vector<std::string> names = every_name();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("targets of different names have different fingerprints") {
  std::set<std::string> seen;
  for (const KnownTarget& known : known_targets())
    CHECK(seen.insert(Target::parse(known.name).fingerprint().hex()).second);
}

TEST_CASE("a target survives JSON, and equal targets give equal bytes") {
  for (const std::string& name : every_name()) {
    const Target target = Target::parse(name);
    const std::string json = target.to_json();
    const Target again = Target::from_json(json);
    CHECK(again == target);
    CHECK(again.fingerprint() == target.fingerprint());
    CHECK(again.to_json() == json);
  }
}

TEST_CASE("the fingerprint changes with every identifying field alone, and with no other") {
  for (const char* name : {"zen3", "h100"}) {
    const Target original = Target::parse(name);
    const std::size_t count = fields_of(original).size();
    for (std::size_t i = 0; i < count; ++i) {
      Target changed = original;
      const FieldRef field = fields_of(changed)[i];
      change(field);
      INFO(field.path());
      CHECK((changed.fingerprint() != original.fingerprint()) == (field.role == Role::Identity));
      const std::vector<TargetDifference> differences = difference(original, changed);
      REQUIRE(differences.size() == 1);
      CHECK(differences[0].field == field.path());
      CHECK(differences[0].identifies == (field.role == Role::Identity));
      CHECK(!(changed == original));
    }
  }
}

TEST_CASE("name and cores do not enter the fingerprint") {
  const Target zen3 = Target::parse("zen3");
  CHECK(Target::parse("zen3(cores=2)").fingerprint() == zen3.fingerprint());
  Target renamed = zen3;
  renamed.name = "my box";
  CHECK(renamed.fingerprint() == zen3.fingerprint());
  CHECK(!(renamed == zen3));
}

TEST_CASE("fingerprints are the same on every machine and in every release") {
  // Records are kept by these. If one changes, old records miss: raise the reason with care, never just the digits.
  CHECK(
      Target::parse("zen3").identity() ==
      R"({"kind":"cpu","cpu.arch":"x86_64","cpu.microarchitecture":"znver3","cpu.features":["avx","avx2","bmi",)"
      R"("bmi2","f16c","fma","lzcnt","movbe","popcnt","sse2","sse3","sse4.1","sse4.2","ssse3"],)"
      R"("cpu.vector_bits":256,"cpu.vector_registers":16,"cpu.l1_bytes":32768,"cpu.l2_bytes":524288,)"
      R"("cpu.l3_bytes":33554432,"cpu.line_bytes":64,"options.contract":true,"options.nnan":false,)"
      R"("options.fast_math":false})");
  CHECK(Target::parse("zen3").fingerprint().hex() == digest_of(Target::parse("zen3").identity()).hex());
}

TEST_CASE("changes apply in order, and vectors follow the features") {
  const Target plain = Target::parse("x86-64-v4( -avx512f )");
  CHECK(!plain.cpu().has("avx512vl"));  // rests on avx512f
  CHECK(plain.cpu().vector_bits == 256);
  CHECK(plain.cpu().vector_registers == 16);
  const Target wide = Target::parse("x86-64-v3(+avx512vl, cores = 3, l3_bytes=96M)");
  CHECK(wide.cpu().has("avx512f"));
  CHECK(wide.cpu().vector_bits == 512);
  CHECK(wide.cpu().vector_registers == 32);
  CHECK(wide.cpu().cores == 3);
  CHECK(wide.cpu().l3_bytes == std::int64_t{96} << 20);
  CHECK(wide.name == "x86-64-v3(+avx512vl, cores = 3, l3_bytes=96M)");
  CHECK(Target::parse("skylake-avx512(vector_bits=256)").cpu().vector_bits == 256);
  CHECK(Target::parse("x86-64-v4(vector_bits=256,+avx512vnni)").cpu().vector_bits == 256);
  CHECK(Target::parse("h100(shared_per_block_optin=100K)").gpu().shared_per_block_optin == 102400);
  CHECK(Target::parse("a100(dram_gb_per_s=1234.5)").gpu().dram_gb_per_s == 1234.5);
}

TEST_CASE("options are named alone or given a value") {
  CHECK(Target::parse("zen3(fast_math)").options.fast_math);
  CHECK(!Target::parse("zen3(contract=false)").options.contract);
  CHECK(Target::parse("h100(nnan=1)").options.nnan);
  CHECK(Target::parse("zen3()") == Target::parse("zen3"));
}

TEST_CASE("names do not depend on case or on spaces round them") {
  CHECK(Target::parse(" Zen3 ") == Target::parse("zen3"));
  CHECK(Target::parse("SM_80") == Target::parse("a100"));
}

TEST_CASE("what a CPU can do follows from its features") {
  const CpuTarget zen3 = Target::parse("zen3").cpu(), plain = Target::parse("x86-64").cpu();
  CHECK(zen3.fma());
  CHECK(zen3.converts_f16());
  CHECK(!zen3.computes_f16());
  CHECK(!zen3.computes_bf16());
  CHECK(zen3.lanes(32) == 8);
  CHECK(!plain.fma());
  CHECK(plain.lanes(64) == 2);
  CHECK(Target::parse("sapphirerapids").cpu().computes_f16());
  CHECK(Target::parse("zen4").cpu().computes_bf16());
  CHECK(Target::parse("neoverse-v1").cpu().computes_bf16());
  CHECK(zen3.triple() == "x86_64-unknown-linux-gnu");
  CHECK(zen3.last_level_bytes() == 32 << 20);
}

TEST_CASE("LLVM is told of every known feature, present or not") {
  const std::string features = Target::parse("zen3").cpu().llvm_features();
  CHECK(features.find("+avx2") != std::string::npos);
  CHECK(features.find("-avx512f") != std::string::npos);
  CHECK(std::count(features.begin(), features.end(), ',') + 1 ==
        static_cast<std::ptrdiff_t>(cpu_features("x86_64").size()));
}

TEST_CASE("GPU limits are those of the hardware") {
  const GpuTarget a100 = Target::parse("a100").gpu();
  CHECK(a100.shared_per_block == 49152);
  CHECK(a100.shared_per_block_optin == 166912);
  CHECK(a100.architecture() == "sm_80");
  CHECK(a100.has_async_copy());
  const GpuTarget t4 = Target::parse("t4").gpu();
  CHECK(!t4.has_async_copy());
  CHECK(!t4.computes_bf16());
  CHECK(t4.bf16_tflops == 0);
  // f16 rate = SMs x clock x flop per clock and SM, as published.
  const GpuTarget h200 = Target::parse("h200").gpu();
  CHECK(h200.f16_tflops == Approx(132 * 1.83e9 * 4096 / 1e12).epsilon(0.01));
}

TEST_CASE("a target file is read as it was written, and takes changes") {
  const auto path =
      std::filesystem::temp_directory_path() / ("lathe_target_" + std::to_string(::getpid()) + ".json");
  const Target zen3 = Target::parse("zen3(cores=5)");
  std::ofstream(path) << zen3.to_json();
  CHECK(Target::parse("@" + path.string()) == zen3);
  CHECK(Target::parse("@" + path.string() + "(cores=6)").cpu().cores == 6);
  std::filesystem::remove(path);
}

TEST_CASE("difference says what only one side has, identifying fields first") {
  const Target a = Target::parse("zen3(cores=2)"), b = Target::parse("zen3(cores=4, l3_bytes=96M, -fma)");
  CHECK(to_text(difference(a, b)) ==
        "cpu.features: fma | (none)\n"
        "cpu.l3_bytes: 33554432 | 100663296\n"
        "cpu.cores: 2 | 4   (does not matter for records)\n");
  CHECK(difference(a, Target::parse("a100")).at(0).field == "kind");
  CHECK(difference(a, a).empty());
}

TEST_CASE("descriptions say what a person looks for") {
  CHECK(Target::parse("zen3").describe() ==
        "zen3: znver3 (x86_64), 8 cores, avx2 + fma + f16c, 16 vector registers of 256 bits, caches 32 KiB / "
        "512 KiB / "
        "32 MiB, lines of 64 B");
  CHECK(Target::parse("icelake-server(cores=1,fast_math)").describe() ==
        "icelake-server(cores=1,fast_math): icelake-server (x86_64), 1 core, avx512f + fma + f16c + "
        "avx512vnni, 32 vector "
        "registers of 512 bits, caches 48 KiB / 1.25 MiB / 54 MiB, lines of 64 B, fast math");
  CHECK(Target::parse("a100").describe() ==
        "a100: a100-80g (sm_80), 108 SMs, shared memory 48 KiB a block (163 KiB with opt-in), 164 KiB an SM, "
        "L2 40 MiB, "
        "DRAM 2039 GB/s, f32 19.5 TFLOP/s, f16 312 TFLOP/s");
}
