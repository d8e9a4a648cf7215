#include "support/schedule_fuzzer/oracle.h"

#include <algorithm>

#include "lathe/compile.h"
#include "support/schedule_fuzzer/guarded_memory.h"

namespace lathe::fuzz {
namespace {

std::string differing(const Subject& subject, const std::vector<interp::Array>& outputs) {
  for (std::size_t i = 0; i < subject.expected.size(); ++i) {
    interp::Array have = outputs[i];
    const interp::Difference d = interp::difference(have, subject.expected[i]);
    const bool exact = subject.tolerance == 0 || !have.dtype().is_float();
    if (d.different > 0 && (exact || !(d.max_relative <= subject.tolerance)))
      return "output " + std::to_string(i) + ": " + d.text;
  }
  return "";
}

std::string interpreted(const Subject& subject, const Program& program, const char* form) {
  const interp::Outcome outcome = interp::run(program, subject.inputs, subject.sizes);
  std::string why = outcome.report.ok() ? differing(subject, outcome.outputs) : outcome.report.text();
  if (why.empty()) return "";
  return std::string(form) + (outcome.report.ok() ? " is wrong\n" : " breaks a rule\n") + why + "\n" +
         to_string(program);
}

std::string executed(const Subject& subject, const Schedule& schedule, const Kernel& kernel) {
  const auto side =
      subject.program->params.size() % 2 ? GuardedMemory::Against::Start : GuardedMemory::Against::End;
  const std::string why =
      differing(subject, run_guarded(kernel, subject.program, subject.inputs, subject.sizes, side));
  return why.empty() ? ""
                     : "compiled code is wrong\n" + why + "\n" +
                           to_string(lower_until(schedule.program(), kernel.target()));
}

/// verify's verdict and compile's agree; compiled code computes the same.
std::string compiled(const Subject& subject, const Schedule& schedule) {
  const Target target = Target::host();
  bool accepted = true;
  try {
    verify(schedule, target);
  } catch (const ScheduleError& error) {
    if (std::string(error.what()).empty()) return "an error has no text";
    accepted = false;
  }
  try {
    const Program lowered = lower_until(schedule.program(), target);
    if (!accepted) return "compile takes what verify refuses";
    // The interpreter does not call the functions that tensorize puts in.
    const bool calls = std::ranges::any_of(schedule.trace().steps,
                                           [](const Instruction& step) { return step.op == "tensorize"; });
    if (std::string why = calls ? "" : interpreted(subject, lowered, "the lowered form"); !why.empty())
      return why + "\nfrom\n" + to_string(schedule.program());
    const Kernel kernel = compile(schedule, target);
    return executed(subject, schedule, kernel);
  } catch (const UserError& error) {
    if (accepted) return std::string("compile refuses what verify takes\n") + error.what();
  }
  return "";
}

/// True for programs without thread axes.
bool fits_a_gpu(const Schedule& schedule) {
  static const Target gpu = Target::parse("a100");
  bool threads = false;
  for (const Instruction& step : schedule.trace().steps) threads = threads || step.op == "bind";
  try {
    if (threads) verify(schedule, gpu);
    return true;
  } catch (const ScheduleError&) {
    return false;
  }
}

std::string kept_in_json(const Program& program) {
  try {
    if (structural_equal(program_from_json(to_json(program)), program)) return "";
  } catch (const UserError& error) {
    return std::string("the program cannot be read back\n") + error.what() + "\n" + to_string(program);
  }
  return "the program comes back from JSON as another\n" + to_string(program);
}

std::string replayed(const Schedule& schedule) {
  const std::string text = schedule.trace().to_json(), bare = schedule.trace().to_json(true);
  for (const std::string& t : {text, bare}) {
    Schedule again(schedule.original());
    try {
      again.replay(Trace::from_json(t));
    } catch (const UserError& error) {
      return std::string("the recorded trace does not replay\n") + error.what();
    }
    if (structural_hash(again.program()) != structural_hash(schedule.program()) ||
        !structural_equal(again.program(), schedule.program()))
      return "the replayed trace gives another program\n" + to_string(again.program()) + "\ninstead of\n" +
             to_string(schedule.program());
    if (t == bare ? again.trace().to_json(true) != bare : false)
      return "the replayed trace reads differently";
  }
  return "";
}

}  // namespace

std::string violated(const Subject& subject, const Schedule& schedule, const OracleOptions& options) {
  try {
    if (const std::vector<std::string> problems = well_formed(schedule.program()); !problems.empty())
      return "the program is malformed\n" + problems[0] + "\n" + to_string(schedule.program());
    if (std::string why = replayed(schedule); !why.empty()) return why;
    if (std::string why = kept_in_json(schedule.program()); !why.empty()) return why;
    if (!fits_a_gpu(schedule)) return "";  // and has no meaning on a CPU either
    if (std::string why = interpreted(subject, schedule.program(), "the scheduled form"); !why.empty())
      return why;
    return options.compile ? compiled(subject, schedule) : "";
  } catch (const InternalError& error) {
    return std::string("internal error: ") + error.what() + "\n" + to_string(schedule.program());
  } catch (const std::exception& error) {
    return std::string("an exception: ") + error.what() + "\n" + to_string(schedule.program());
  }
}

}  // namespace lathe::fuzz
