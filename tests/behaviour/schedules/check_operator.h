#pragma once
// How operators of the library are tested: against plain loops written down independently, as the program itself, as its
// default schedule under the interpreter, and as that schedule compiled for this machine.

#include <cstring>
#include <functional>
#include <random>

#include "lathe/compile.h"
#include "lathe/workload.h"
#include "support/check_schedule.h"

namespace lathe::test {

using Arrays = std::vector<interp::Array>;
/// Fills `out` (f64, of the outputs' shapes) from `in`, the inputs in order.
using Reference = std::function<void(const Arrays& in, Arrays& out)>;

enum class Data { Integers, Reals };

/// "" when `have` is `want` rounded to its type, up to `tolerance`.
inline std::string far_from(const interp::Array& have, const interp::Array& want, double tolerance) {
  interp::Array rounded(have.dtype(), have.shape());
  for (std::int64_t i = 0; i < have.size(); ++i) rounded.set(i, want.get(i));
  const interp::Difference d = interp::difference(have, rounded);
  return d.different > 0 && !(d.max_relative <= tolerance) ? d.text : "";
}

/// What the compiled kernel makes of `inputs`: the outputs in order.
inline Arrays run_compiled(const Program& program, const Kernel& kernel, const Arrays& inputs) {
  std::vector<runtime::Tensor> tensors;
  std::size_t next = 0;
  for (const Param& p : program->params) {
    const std::vector<std::int64_t> shape = interp::shape_of(program, p, {});
    tensors.emplace_back(p.buffer->dtype, shape);
    if (p.role == ParamRole::Output)
      std::memset(tensors.back().data(), 0xff, tensors.back().bytes());
    else if (const interp::Array& in = inputs[next++]; in.bytes() > 0)
      std::memcpy(tensors.back().data(), in.data(), in.bytes());
  }
  std::vector<runtime::Tensor*> pointers;
  for (runtime::Tensor& t : tensors) pointers.push_back(&t);
  kernel(pointers);
  Arrays out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Param& p = program->params[i];
    if (p.role != ParamRole::Output) continue;
    out.emplace_back(p.buffer->dtype, interp::shape_of(program, p, {}));
    if (out.back().bytes() > 0) std::memcpy(out.back().data(), tensors[i].data(), out.back().bytes());
  }
  return out;
}

/// "" when all is well, else what is wrong.
inline std::string check_operator(const std::string& spec, const Reference& reference,
                                  Data data = Data::Integers, double tolerance = 0) {
  const Workload w = Workload::parse(spec);
  if (Workload::parse(w.spec).spec != w.spec) return "the canonical form " + w.spec + " is not read back";
  const Arrays inputs =
      data == Data::Integers ? interp::integer_inputs(w.program, 11) : interp::random_inputs(w.program, 11);
  const interp::Outcome plain = interp::run(w.program, inputs);
  if (!plain.report.ok()) return w.spec + ": " + plain.report.text();
  Arrays want;
  for (const interp::Array& out : plain.outputs) want.emplace_back(f64, out.shape());
  reference(inputs, want);

  const Schedule s = w.default_schedule(avx2());
  if (std::string why = disagreement(s, {}, data == Data::Integers ? tolerance : tolerance + 1e-5);
      !why.empty())
    return w.spec + ", default schedule: " + why;
  const Arrays compiled =
      run_compiled(w.program, compile(w.default_schedule(Target::host()), Target::host()), inputs);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::string why = far_from(plain.outputs[i], want[i], tolerance); !why.empty())
      return w.spec + ", as written: " + why;
    if (std::string why = far_from(compiled[i], want[i], tolerance); !why.empty())
      return w.spec + ", compiled: " + why;
  }
  return "";
}

/// Calls f for every position in a box.
inline void each_position(const std::vector<std::int64_t>& shape,
                          const std::function<void(const std::vector<std::int64_t>&)>& f) {
  for (std::int64_t e : shape) {
    if (e == 0) return;
  }
  std::vector<std::int64_t> at(shape.size(), 0);
  for (;;) {
    f(at);
    std::size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

/// Seeded choices.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::int64_t of(std::initializer_list<std::int64_t> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(engine_)];
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_;
};

inline std::string str(std::int64_t v) { return std::to_string(v); }
inline std::string joined(const std::vector<std::int64_t>& values, char by) {
  std::string out;
  for (std::int64_t v : values) {
    if (!out.empty()) out += by;
    out += str(v);
  }
  return out;
}

}  // namespace lathe::test
