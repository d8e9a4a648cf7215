#pragma once
// A scheduled program as the C functions of an object.
//
// Callers of C see a prepared constant as bytes: what is in them is between NAME_prepare and NAME, and may differ between
// versions of the kernel for different CPUs.

#include <string>
#include <vector>

#include "lathe/prepare.h"

namespace lathe::driver {

struct CKernel {
  std::string name;       ///< of the function
  Program shown;          ///< parameters as callers see them
  Program scheduled;      ///< what it computes, in block form
  bool prepares = false;  ///< it is a NAME_prepare
};

/// The bytes of each prepared constant, over the program's sizes.
std::vector<Expr> prepared_bytes(const PreparedProgram& program);

/// NAME and, where something is prepared, NAME_prepare before it. `bytes`: what callers are to provide for each prepared
/// constant, at least `prepared_bytes`.
std::vector<CKernel> c_kernels(const std::string& name, const PreparedProgram& program,
                               const std::vector<Expr>& bytes);

}  // namespace lathe::driver
