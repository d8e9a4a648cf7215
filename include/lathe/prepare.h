#pragma once
// Weights laid out once, ahead of the calls.
//
// A schedule may mark a block that depends on one constant parameter alone (`Schedule::prepare`, or `transform_layout` on
// the constant). The program then still says the whole computation, and `compile` makes a kernel that does all of it in
// every call. Here it is divided into two programs, of which the first runs once:
//
//     matmul(A, B constant, C):                      matmul_prepare(B constant, packed output):
//       packed[j//16, k, j%16] = B[k, j]      =>       packed[j//16, k, j%16] = B[k, j]
//       C[i, j] += A[i, k] * packed[…]               matmul(A, packed constant, C):
//                                                      C[i, j] += A[i, k] * packed[…]
//
//     PreparedKernel kernel = compile_prepared(s, Target::host());
//     std::vector<runtime::Tensor> weights = kernel.prepare({&a, &b, &c});   // once
//     kernel({&a, &b, &c}, weights);                                         // often
//
// Where nothing is marked there is nothing to prepare, and the same calls work.

#include "lathe/compile.h"

namespace lathe {

/// A scheduled program divided at what was marked.
struct PreparedProgram {
  Program
      prepare;  ///< NAME_prepare: sizes, the constants, then what becomes of them, as outputs. Undefined: nothing marked
  Program kernel;  ///< NAME: the same parameters in the same order, prepared ones in their constants' places
  std::vector<std::size_t> constants;  ///< which buffer parameters are prepared: positions, ascending
};

/// Elements that a layout adds as padding are made zero. The program must have passed `verify`.
PreparedProgram divide_prepared(const Program& scheduled);

/// A kernel whose constants may be prepared. Immutable and re-entrant, as Kernel.
class PreparedKernel {
 public:
  const Kernel& kernel() const { return kernel_; }
  bool prepares() const { return prepare_.has_value(); }

  /// What the kernel takes in the constants' places. `tensors` are all of the program's, in order, and `sizes` its sizes;
  /// only the constants are read. Throws as a Kernel's call does.
  std::vector<runtime::Tensor> prepare(const std::vector<runtime::Tensor*>& tensors,
                                       const std::vector<std::int64_t>& sizes = {}) const;
  /// Runs on the program's tensors, in order; of the constants it uses what `prepare` made of them.
  void operator()(std::vector<runtime::Tensor*> tensors, std::vector<runtime::Tensor>& prepared,
                  const std::vector<std::int64_t>& sizes = {}) const;
  /// The addresses that `kernel().run` takes, for a caller that times it.
  std::vector<void*> addresses(const std::vector<runtime::Tensor*>& tensors,
                               std::vector<runtime::Tensor>& prepared) const;

 private:
  friend PreparedKernel compile_prepared(const Program&, const Target&, const CompileOptions&);
  PreparedProgram program_;
  std::optional<Kernel> prepare_;
  Kernel kernel_;
};

/// Throws what `compile` throws.
PreparedKernel compile_prepared(const Schedule& schedule, const Target& target,
                                const CompileOptions& options = {});
PreparedKernel compile_prepared(const Program& scheduled, const Target& target,
                                const CompileOptions& options = {});

// ---- as objects, for who compiles in one process and runs in another ---------------------------------------------------

/// The object file of NAME and, where something is marked, NAME_prepare; it says itself what is prepared. The same input gives
/// the same bytes. Sizes must be constants where they decide how much memory a constant needs (UserError C014).
std::vector<char> compile_prepared_object(const Program& scheduled, const Target& target,
                                          const CompileOptions& options = {});

/// Such an object in this process.
class PreparedCode {
 public:
  /// Prepares the constants, in memory of this object's, and puts the addresses of that into their places: `addresses` are
  /// those of all of the program's tensors, in order. Returns the kernel's code.
  std::int32_t prepare(std::vector<void*>& addresses);
  /// Runs on what `prepare` left in `addresses`; with `sizes`, unchecked; returns the kernel's code.
  std::int32_t run(void* const* addresses, const std::int64_t* sizes = nullptr) const {
    return kernel_(addresses, sizes);
  }

 private:
  friend PreparedCode link_prepared(const std::string&, const Target&, const std::vector<char>&);
  struct Constant {
    std::size_t tensor;
    runtime::Tensor memory;
  };
  std::shared_ptr<const void> code_;
  lathe_kernel kernel_ = nullptr, prepare_ = nullptr;
  std::vector<Constant> constants_;
};

/// Links an object of `compile_prepared_object` for the program of that name.
PreparedCode link_prepared(const std::string& name, const Target& target, const std::vector<char>& object);

}  // namespace lathe
