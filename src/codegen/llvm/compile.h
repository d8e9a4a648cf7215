#pragma once
// Machine code for lowered programs (see lower/lower.h) on a CPU, through LLVM.
//
// A program becomes a function `int32_t NAME(void* const* buffers, const int64_t* scalars)`, as
// lathe/runtime/c_api.h describes it. The same input gives the same bytes, on any machine.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/llvm/machine.h"
#include "lathe/program.h"

namespace lathe::codegen::cpu {

struct Options {
  bool nnan = false;       ///< min and max may take the one-instruction form, wrong for NaN and -0
  bool fast_math = false;  ///< LLVM may reassociate, contract and divide by reciprocals; implies nnan
  std::int64_t stack_limit = 64 * 1024;  ///< bytes; larger temporaries come from the workspace
  std::string symbol;                    ///< of the kernel; empty: kernel_symbol(program)
  std::string tune;                      ///< the CPU to order instructions for; empty: the machine's
  bool hidden = false;                   ///< symbols are not exported from a shared object
};

/// NAME_kernel: so that no program's name is that of a function which its own code calls.
inline std::string kernel_symbol(const Program& program) { return program->name + "_kernel"; }

/// The object file of one kernel.
std::vector<char> compile_lowered(const Program& program, const Machine& machine,
                                  const Options& options = {});
/// The object file of several kernels, and under the symbol `table` constant numbers for who links it.
std::vector<char> compile_lowered(const std::vector<Program>& programs, const std::string& table,
                                  const std::vector<std::int64_t>& numbers, const Machine& machine,
                                  const Options& options = {});
/// The same as text: LLVM IR before or after its passes, or assembly.
std::string llvm_ir(const Program& program, const Machine& machine, const Options& options = {},
                    bool optimized = true);
std::string assembly(const Program& program, const Machine& machine, const Options& options = {});

/// A kernel of an object file for C programs.
struct ModuleKernel {
  std::string name;   ///< a C identifier
  std::string label;  ///< what messages call it
  Program source;     ///< as its user knows it: parameters with their shapes
  Program lowered;
};
struct ModuleObject {
  std::vector<char> bytes;
  std::vector<std::string> needs;  ///< functions that are neither in it nor in lathe/runtime/c_api.h, sorted
};
/// One object file: for each kernel NAME_kernel, and NAME and NAME_dlpack, which check their arguments (see entry.h);
/// and lathe_module_abi. `options.symbol` is not used.
ModuleObject compile_module(const std::vector<ModuleKernel>& kernels, const std::string& module_name,
                            const Machine& machine, const Options& options = {});

/// A kernel that exists in a version for each level.
struct DispatchKernel {
  std::string name;  ///< a C identifier
  Program source;    ///< its parameters as callers see them
};
struct DispatchLevel {
  std::string name;            ///< for messages
  std::string suffix;          ///< of the version's functions: NAME + suffix, NAME + suffix + "_dlpack", …
  std::uint64_t features = 0;  ///< that it needs, as bits of lathe_cpu_features()
};
/// The functions that choose among the versions, the first level that fits; for the least CPU of the machine's
/// architecture. The versions are expected in the same shared object or program.
std::vector<char> compile_dispatch(const std::vector<DispatchKernel>& kernels,
                                   const std::vector<DispatchLevel>& levels, const std::string& module_name,
                                   const Machine& machine, const Options& options = {});

using KernelFunction = std::int32_t (*)(void* const* buffers, const std::int64_t* scalars);

/// Machine code in this process; released with the last copy.
class LoadedCode {
 public:
  LoadedCode() = default;
  KernelFunction function() const { return function_; }
  /// The address of a function or of constants by their symbol; throws UserError C002 when it, or a function that it calls,
  /// is missing.
  void* find(const std::string& symbol) const;

 private:
  friend LoadedCode load(const std::vector<char>&, const std::string&);
  friend LoadedCode load(const std::vector<std::vector<char>>&, const std::string&);
  std::shared_ptr<void> memory_;
  KernelFunction function_ = nullptr;
};

/// Links an object of `compile_lowered` into this process. The hooks are those of the linked runtime; other
/// symbols are looked up in the process. Throws UserError when one is missing. Thread-safe.
LoadedCode load(const std::vector<char>& object, const std::string& symbol);
/// Links several objects with one another; `name` is for errors, and `function()` is null.
LoadedCode load(const std::vector<std::vector<char>>& objects, const std::string& name);

}  // namespace lathe::codegen::cpu
