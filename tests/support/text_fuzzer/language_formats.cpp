// Specifications of workloads and of targets; programs and traces in JSON.

#include "arith/block_check.h"
#include "lathe/compile.h"
#include "lathe/workload.h"
#include "support/schedule_fuzzer/subject.h"
#include "support/text_fuzzer/formats.h"

namespace lathe::fuzz {
namespace {

const Target& zen3() {
  static const Target target = Target::parse("zen3");
  return target;
}

/// What anybody does next with a program: print it, keep it, schedule it.
void go_on_with(const Program& p) {
  must(!to_string(p).empty(), "it does not print");
  const Program again = program_from_json(to_json(p));
  must(structural_equal(p, again), "it comes back from JSON as another program");
  Schedule s(p);
  apply_rules(s, zen3());
  must(well_formed(s.program()).empty(), "its default schedule makes a program that is not well formed");
  program_from_json(to_json(s.program()));
}

void read_spec(const std::string& text, std::size_t) {
  const Workload w = Workload::parse(text);
  must(well_formed(w.program).empty(), "its program is not well formed");
  const Workload again = Workload::parse(w.spec);
  must(again.spec == w.spec && structural_equal(again.program, w.program),
       "its canonical form means another workload");
  const Schedule s = w.default_schedule(zen3());
  must(well_formed(s.program()).empty(), "its default schedule makes a program that is not well formed");
}

Format specifications() {
  Format f{.name = "spec",
           .words = {"(", ")", ",", "=", ":", "x", "+", " ", ":f32", ":bf16", ":index", ":i8"}};
  for (const WorkloadKind& kind : workload_kinds()) {
    f.samples.push_back(Workload::parse(kind.name).spec);
    for (const WorkloadParam& p : kind.params) {
      f.words.push_back(p.key);
      f.words.push_back("," + p.key + "=0");
      f.words.insert(f.words.end(), p.words.begin(), p.words.end());
    }
  }
  f.read = read_spec;
  return f;
}

void read_target(const Target& t) {
  const Target again = Target::from_json(t.to_json());
  must(again == t, "it comes back from JSON as another target");
  must(again.fingerprint() == t.fingerprint(), "its fingerprint changes on the way through JSON");
  must(!t.describe().empty(), "it does not describe itself");
}

Format targets() {
  return {
      .name = "target",
      .samples = {"host", "zen3", "x86-64-v3", "zen3(cores=4, -fma)", "h100", "sm_80", "neoverse-v1",
                  "skylake-avx512(l2_bytes=1048576, vector_bits=256, +avx512vnni)",
                  "rtx4090(multiprocessors=64)", "@missing.target.json"},
      .words = {"(", ")", "=", ",", "+", "-", "cores", "fast_math", "nnan", "true", "+avx2", "sm_", "cuda:"},
      .json = false,
      .lines = false,
      .read = [](const std::string& text, std::size_t) { read_target(Target::parse(text)); }};
}

Format target_files() {
  Format f{.name = "target-json", .words = {"true", "null", "\"avx2\"", "{}", "[]"}, .json = true};
  for (const char* name : {"zen3", "neoverse-v1", "h100", "x86-64-v2"})
    f.samples.push_back(Target::parse(name).to_json());
  f.read = [](const std::string& text, std::size_t) { read_target(Target::from_json(text)); };
  return f;
}

/// Small programs of every kind.
std::vector<Program> small_programs() {
  std::vector<Program> out;
  for (const char* spec : {"matmul(m=6,n=17,k=5)", "conv2d_bias_relu(h=5,w=6,ci=3,co=8,k=3,p=1)",
                           "softmax(m=3,n=17)", "attention(b=1,heads=2,seq=5,dim=4)"})
    out.push_back(Workload::parse(spec).program);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<std::int64_t> sizes;
    out.push_back(random_program(seed, sizes));
  }
  return out;
}

Format programs() {
  Format f{.name = "program",
           .words = {"[\"var\",0]", "\"index\"", "\"f16\"", "[\"f32\",1.0]", "{}"},
           .json = true};
  for (const Program& p : small_programs()) f.samples.push_back(to_json(p));
  f.read = [](const std::string& text, std::size_t) { go_on_with(program_from_json(text)); };
  return f;
}

/// A program with the trace of its default schedule.
struct Scheduled {
  Program program;
  Trace trace;
};

std::vector<Scheduled> scheduled_programs() {
  std::vector<Scheduled> out;
  for (const Program& p : small_programs()) {
    for (const Choices choices : {Choices::Fixed, Choices::Open}) {
      Schedule s(p);
      apply_rules(s, zen3(), {.choices = choices});
      if (!s.trace().steps.empty()) out.push_back({p, s.trace()});
    }
  }
  return out;
}

void read_trace(const std::string& text, const Program& program) {
  const Trace trace = Trace::from_json(text);
  const std::string written = trace.to_json();
  must(Trace::from_json(written).to_json() == written, "it comes back from JSON as another trace");
  Schedule s(program);
  s.replay(trace);
  must(well_formed(s.program()).empty(), "it makes a program that is not well formed");
  must(trace.steps.empty() || !s.trace().to_cpp().empty(), "it does not print as C++");
  Schedule again(program);
  again.replay(Trace::from_json(s.trace().to_json()));
  must(structural_equal(again.program(), s.program()), "replayed again it makes another program");
}

Format traces() {
  static const std::vector<Scheduled> all = scheduled_programs();
  Format f{.name = "trace",
           .words = {"\"l0\"", "\"b0\"", "\"f0\"", "\"_\"", "\"l\"", "[]", "{\"expr\":[\"+\",1,2]}"}};
  f.json = true;
  for (const Scheduled& s : all) f.samples.push_back(s.trace.to_json());
  f.read = [](const std::string& text, std::size_t sample) { read_trace(text, all[sample].program); };
  return f;
}

}  // namespace

std::vector<Format> language_formats() {
  return {specifications(), targets(), target_files(), programs(), traces()};
}

}  // namespace lathe::fuzz
