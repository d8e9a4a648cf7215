#pragma once
// From a schedule to a kernel that runs.
//
//   Kernel kernel = compile(s, Target::host());
//   kernel({&x, &k, &b, &out});
//
// A kernel is immutable and re-entrant: copies are cheap and calls may run at once on many threads.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lathe/program.h"
#include "lathe/runtime/c_api.h"
#include "lathe/runtime/tensor.h"
#include "lathe/schedule.h"
#include "lathe/target.h"

namespace lathe {

struct CompileOptions {
  /// Runs as scheduled: vectors, unrolling, loop partition, fused multiply-adds as the target allows. False: plain scalar
  /// loops without contraction, the reference that candidates are verified against.
  bool optimize = true;
  /// Called after each lowering pass with its name and the program.
  std::function<void(const char* pass, const Program& program)> on_pass;
};

class Kernel {
 public:
  /// As it was compiled.
  const Program& program() const;
  const Target& target() const;
  const std::string& name() const;

  /// Runs on tensors in the order of the program's buffer parameters, and the sizes in the order of its Size parameters.
  /// Shapes and types are checked; throws UserError (LTH-C…, or what the kernel reports) and does nothing otherwise.
  void operator()(const std::vector<runtime::Tensor*>& tensors,
                  const std::vector<std::int64_t>& sizes = {}) const;
  /// Runs on addresses, unchecked; returns the kernel's code (lathe_last_error() has the text).
  std::int32_t run(void* const* buffers, const std::int64_t* sizes) const {
    return function_(buffers, sizes);
  }
  lathe_kernel function() const { return function_; }

  /// The object file that is running.
  const std::vector<char>& object() const;

 private:
  friend Kernel compile(const Program&, const Target&, const CompileOptions&);
  friend Kernel link(const Program&, const Target&, std::vector<char>);
  struct State;
  std::shared_ptr<const State> state_;
  lathe_kernel function_ = nullptr;
};

/// Verifies the schedule for the target, lowers it, generates code and links it into this process. Throws ScheduleError
/// from `verify`, and UserError LTH-C010 when this machine cannot run code for the target.
Kernel compile(const Schedule& schedule, const Target& target, const CompileOptions& options = {});
Kernel compile(const Program& program, const Target& target, const CompileOptions& options = {});

/// The object file alone: for any CPU target, not only this machine. The same input gives the same bytes.
std::vector<char> compile_object(const Program& program, const Target& target,
                                 const CompileOptions& options = {});
/// Links an object of `compile_object` for the same program into this process.
Kernel link(const Program& program, const Target& target, std::vector<char> object);

/// The program after the lowering pass (all passes when empty); UserError LTH-C011 for an unknown pass.
Program lower_until(const Program& program, const Target& target, const std::string& pass = {},
                    const CompileOptions& options = {});
/// Names and summaries of the lowering passes for the target, in order.
std::vector<std::pair<std::string, std::string>> lowering_passes(const Target& target);
std::string llvm_ir(const Program& program, const Target& target, const CompileOptions& options = {});
std::string assembly(const Program& program, const Target& target, const CompileOptions& options = {});

}  // namespace lathe
