#pragma once
// Field reports: programs on which some compiler of this field was once wrong. Each runs in block form, lowered and compiled
// (with its tensors between forbidden pages), and every form must give the value that was derived by hand.

#include "lathe/lathe.h"
#include "support/error_text.h"
#include "support/schedule_fuzzer/guarded_memory.h"
#include "support/schedule_fuzzer/oracle.h"

namespace lathe::cases {

/// The outputs of the compiled schedule. Throws std::runtime_error when one of the forms differs from the unscheduled
/// program, or breaks a rule.
inline std::vector<interp::Array> outputs(const Schedule& s, const std::vector<interp::Array>& inputs,
                                          const std::vector<std::int64_t>& sizes = {}) {
  fuzz::Subject subject;
  subject.program = s.original();
  subject.sizes = sizes;
  subject.inputs = inputs;
  const interp::Outcome plain = interp::run(s.original(), inputs, sizes);
  if (!plain.report.ok()) throw std::runtime_error("unscheduled: " + plain.report.text());
  subject.expected = plain.outputs;
  if (std::string why = fuzz::violated(subject, s); !why.empty()) throw std::runtime_error(why);
  const Target host = Target::host();
  return fuzz::run_guarded(compile(s, host), s.original(), inputs, sizes, fuzz::GuardedMemory::Against::End);
}

/// The only output, as numbers in row-major order.
inline std::vector<double> values(const Schedule& s, const std::vector<interp::Array>& inputs,
                                  const std::vector<std::int64_t>& sizes = {}) {
  const interp::Array out = outputs(s, inputs, sizes).at(0);
  std::vector<double> all;
  for (std::int64_t i = 0; i < out.size(); ++i) all.push_back(out.get(i));
  return all;
}

inline std::vector<double> repeated(std::int64_t count, double value) {
  return std::vector<double>(static_cast<std::size_t>(count), value);
}
inline interp::Array filled(DataType t, std::vector<std::int64_t> shape, double value) {
  return interp::Array::full(t, std::move(shape), value);
}

}  // namespace lathe::cases
