#pragma once
// When is a candidate's output right?
//
// The reference is the unscheduled program, compiled as plain scalar loops and run at full size. Two runs are compared:
// signed random data with edge values, within a tolerance, and small integers, exactly, where the program only adds and
// multiplies, so that no rounding can hide an error. The tolerance of an element is
//
//     c * eps * (1 + log2(1 + K)) * max(|y|, |y'|, r / 16)
//
// with c = 32, eps of the output's type, K the greatest reduce extent, y the reference, y' the reference on absolute values
// (the rounding errors of a sum are bounded by its absolute terms, not by its value; where the program only adds and multiplies,
// differences count as sums there) and r the root mean square of the
// output (a result that cancels out has the error of what it came from, also where y' cancels too).
//
// Outputs are poisoned before each run, and every tensor lies between guard zones.

#include <optional>
#include <vector>

#include "lathe/compile.h"
#include "lathe/runtime/tensor.h"
#include "lathe/target.h"
#include "lathe/tuner.h"

namespace lathe::tuner {

enum class Data { Random, Absolute, Integers };

/// What a kernel of a program is called with.
struct Arguments {
  std::vector<runtime::Tensor> tensors;  ///< in the order of the parameters
  std::vector<bool> written;             ///< outputs and in-outs

  std::vector<void*> addresses();
};

/// The inputs of a program: the same for every candidate.
class Inputs {
 public:
  /// Throws UserError (LTH-U020) for a program with sizes known at run time only.
  Inputs(const Program& program, Data data);

  /// Inputs shared, in-outs copied, outputs new and poisoned.
  Arguments arguments() const;
  /// As they were before the first call. In-outs get their values back: a kernel that works in place must not feed on its
  /// own results. Outputs are poisoned.
  void restore(Arguments& arguments) const;
  /// Whether what is only read is as it was: notes failure and text in `m` where a kernel has written it.
  bool untouched(Measurement& m, const Arguments& arguments) const;
  bool in_place() const { return in_place_; }

 private:
  Program program_;
  std::vector<std::optional<runtime::Tensor>> tensors_;  ///< one a parameter; none for an output
  std::vector<std::uint64_t> checksums_;                 ///< one a parameter
  bool in_place_ = false;
};

/// What the unscheduled program gives, in memory of the caller's, which may be shared between processes.
class Reference {
 public:
  static std::size_t bytes(const Program& program);
  /// `memory`: at least bytes(program), and it outlives the reference.
  Reference(const Program& program, void* memory);

  /// Compiles and runs the program. Throws UserError when it cannot be compiled or fails.
  void compute(const Target& target);

  /// Whether `arguments` hold the right results for `data` (Random or Integers): notes failure, text and greatest error in
  /// `m`.
  bool accepts(Measurement& m, Arguments& arguments, Data data) const;

  /// Whether the program only adds and multiplies, so that integers must come out exactly.
  bool exact() const { return exact_; }

 private:
  /// The tensors of one run that are compared.
  struct Run {
    std::vector<std::optional<runtime::Tensor>> outputs;  ///< one a parameter
  };
  void run(const Kernel& kernel, Data data, Run& out) const;

  Program program_;
  bool exact_ = false;
  double rounding_ = 0;  ///< c * (1 + log2(1 + K))
  Run random_, absolute_, integers_;
};

}  // namespace lathe::tuner
