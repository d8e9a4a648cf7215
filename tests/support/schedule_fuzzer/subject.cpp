#include "support/schedule_fuzzer/subject.h"

#include "lathe/workload.h"
#include "support/schedule_fuzzer/random.h"

namespace lathe::fuzz {
namespace {

/// Iterations of the unscheduled program beyond which a shape is too slow for thousands of runs.
constexpr std::uint64_t kMaxIterations = 30'000;

/// A value near a small tile or vector width; of what is small by default (kernel sizes, strides, padding) a smaller one.
std::int64_t random_number(Random& random, std::int64_t usual) {
  if (usual <= 4) return random.between(usual == 0 || random.chance(3) ? 0 : 1, 3);
  static const std::vector<std::int64_t> often = {1, 2, 3, 4, 5, 7, 8, 9},
                                         seldom = {0, 6, 13, 15, 16, 17, 31, 32, 33, 37};
  return random.pick(random.chance(70) ? often : seldom);
}

WorkloadValue random_value(Random& random, const WorkloadParam& param) {
  const WorkloadValue& usual = param.default_value;
  std::vector<std::int64_t> items;
  const std::size_t count =
      usual.joint == '+' && !param.words.empty() ? 1 + random.below(3) : usual.items.size();
  for (std::size_t k = 0; k < count; ++k) {
    if (!param.words.empty())
      items.push_back(static_cast<std::int64_t>(random.below(param.words.size())));
    else if (usual.joint == '+')
      items.push_back(usual.items[k]);
    else
      items.push_back(random_number(random, usual.items[k]));
  }
  if (usual.joint == '+') {  // positions: in another order, maybe fewer
    for (std::size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[random.below(k)]);
    if (items.size() > 1 && random.chance(30)) items.pop_back();
    return WorkloadValue::list(items);
  }
  return usual.joint == 'x' ? WorkloadValue::extents(items) : WorkloadValue(items[0]);
}

/// A specification with random values, which may be unfit.
std::string random_spec(Random& random) {
  const std::vector<WorkloadKind> kinds = workload_kinds();
  const WorkloadKind& kind = kinds[random.below(kinds.size())];
  std::string values;
  for (const WorkloadParam& p : kind.params)
    values += (values.empty() ? "" : ",") + p.key + "=" + p.spell(random_value(random, p));
  static const std::vector<std::string> types = {"f32", "f32",  "f32", "f32", "f32", "f64",
                                                 "f16", "bf16", "i32", "i8",  "u8",  "i64"};
  return kind.name + "(" + values + "):" + random.pick(types);
}

double tolerance_of(const Program& program) {
  double out = 1e-12;
  for (const Param& p : program->params) {
    if (p.role == ParamRole::Size) continue;
    const DataType t = p.buffer->dtype;
    if (!t.is_float()) continue;
    out = std::max(out, t == f64 ? 1e-12 : t == f32 ? 2e-4 : t == f16 ? 0.03 : 0.2);
  }
  return out;
}

/// Runs the program unscheduled; false when it is too large or, being no fault of the scheduler's, wrong itself.
bool complete(Subject& subject, std::uint64_t seed) {
  subject.inputs = interp::integer_inputs(subject.program, seed, subject.sizes, 3);
  interp::Options options;
  options.step_limit = kMaxIterations;
  try {
    interp::Outcome outcome = interp::run(subject.program, subject.inputs, subject.sizes, options);
    if (!outcome.report.ok()) return false;
    subject.expected = std::move(outcome.outputs);
  } catch (const UserError&) {
    return false;
  }
  return true;
}

}  // namespace

Subject make_subject(std::uint64_t seed) {
  Random random(Random::mix(seed));
  for (;;) {
    Subject subject;
    if (random.chance(40)) {
      try {
        subject.what = random_spec(random);
        subject.program = Workload::parse(subject.what).program;
        subject.tolerance = tolerance_of(subject.program);
      } catch (const UserError&) {
        continue;  // the values do not fit one another, or the operator does not have the type
      }
    } else {
      const std::uint64_t program_seed = random.next() % 1'000'000'000;
      subject.what = "random_program(" + std::to_string(program_seed) + ")";
      subject.program = random_program(program_seed, subject.sizes);
    }
    if (complete(subject, seed)) return subject;
  }
}

}  // namespace lathe::fuzz
