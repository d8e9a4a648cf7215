#pragma once
// Kernels in shared objects.
//
//   Module kernels = Module::open("libkernels.so");
//   Kernel conv = kernels.kernel("conv_bias_relu");
//   conv({&x, &k, &b, &y});                     // throws with the kernel's own message when it fails
//
// A shared object of kernels calls back into lathe::runtime for threads and memory. Either it is linked against the
// shared library of the runtime, or the program exports its own: with a static runtime, set ENABLE_EXPORTS on the
// program (-rdynamic).

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lathe/runtime/c_api.h"
#include "lathe/runtime/tensor.h"

namespace lathe::runtime {

/// A kernel, and what keeps its code loaded. Copies are cheap; calls may run at once on many threads.
class Kernel {
 public:
  Kernel(std::string name, lathe_kernel function, std::shared_ptr<void> code = nullptr)
      : name_(std::move(name)), function_(function), code_(std::move(code)) {}

  const std::string& name() const { return name_; }
  lathe_kernel function() const { return function_; }

  /// Runs it on addresses in the order of its parameters; returns its code (lathe_last_error() has the text).
  std::int32_t try_run(std::span<void* const> buffers, std::span<const std::int64_t> scalars = {}) const {
    return function_(buffers.data(), scalars.data());
  }

  /// Runs it on tensors in the order of its parameters. Shapes are not checked here: the caller knows the kernel, or
  /// uses the DLPack entry beside it, which does. Throws UserError X008 when the kernel returns an error.
  void operator()(std::initializer_list<Tensor*> tensors,
                  std::initializer_list<std::int64_t> scalars = {}) const;

 private:
  std::string name_;
  lathe_kernel function_;
  std::shared_ptr<void> code_;
};

/// A loaded shared object. Stays loaded while it or one of its kernels lives.
class Module {
 public:
  /// Throws UserError X005 when the file cannot be loaded, X006 when it is no module of kernels or was built for
  /// another runtime ABI. A name without '/' is searched as the system's loader does.
  static Module open(const std::string& path);

  const std::string& path() const { return path_; }

  /// The kernel of that name: the symbol NAME_kernel. Throws UserError X007 when there is none.
  Kernel kernel(const std::string& name) const;
  bool has(const std::string& name) const;  ///< a kernel of that name

  /// The DLPack entry of a kernel, or anything else it exports; null when there is none.
  void* symbol(const std::string& name) const;

 private:
  Module(std::string path, std::shared_ptr<void> handle)
      : path_(std::move(path)), handle_(std::move(handle)) {}
  std::string path_;
  std::shared_ptr<void> handle_;
};

/// A function that generated code may call, for whoever links it in memory.
struct RuntimeSymbol {
  std::string_view name;
  void* address;
};

/// All of them, ordered by name.
std::span<const RuntimeSymbol> runtime_symbols();

}  // namespace lathe::runtime
