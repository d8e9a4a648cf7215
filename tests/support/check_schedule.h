#pragma once
// The oracle of schedule tests: a scheduled program, run by the interpreter in block form and lowered, gives what the
// unscheduled program gives, and its trace survives JSON and replay.

#include "lathe/interp.h"
#include "lathe/schedule.h"
#include "lathe/target.h"
#include "lower/lower.h"

namespace lathe::test {

/// A CPU with 256-bit vectors, whatever the machine.
inline const Target& avx2() {
  static const Target target = Target::parse("x86-64-v3");
  return target;
}

/// "" when all is well, else what differs. Inputs are small integers, so that any order of summation gives the same bits;
/// `tolerance` is for programs that compute with more than + - * min max.
inline std::string disagreement(const Schedule& s, const std::vector<std::int64_t>& sizes = {},
                                double tolerance = 0) {
  const std::vector<interp::Array> inputs = interp::integer_inputs(s.original(), 7, sizes);
  const interp::Outcome want = interp::run(s.original(), inputs, sizes);
  if (!want.report.ok()) return "the program itself: " + want.report.text();
  auto compare = [&](const char* form, const Program& program) -> std::string {
    const interp::Outcome have = interp::run(program, inputs, sizes);
    if (!have.report.ok()) return std::string(form) + ": " + have.report.text() + "\n" + to_string(program);
    for (std::size_t i = 0; i < want.outputs.size(); ++i) {
      interp::Array flat = have.outputs[i];
      const interp::Difference d = interp::difference(flat, want.outputs[i]);
      if (d.different > 0 && !(d.max_relative <= tolerance))
        return std::string(form) + ": " + d.text + "\n" + to_string(program);
    }
    return "";
  };
  if (std::string why = compare("scheduled", s.program()); !why.empty()) return why;
  if (std::string why = compare("lowered", lower::lower(s.program(), avx2())); !why.empty())
    return why + "\nfrom\n" + to_string(s.program());
  Schedule again(s.original());
  again.replay(Trace::from_json(s.trace().to_json()));
  if (!structural_equal(again.program(), s.program()))
    return "the replayed trace gives another program:\n" + to_string(again.program());
  return "";
}

}  // namespace lathe::test
