#pragma once
// The C header beside an object file of kernels.

#include <string>
#include <vector>

#include "lathe/program.h"
#include "lathe/target.h"

namespace lathe::driver {

struct HeaderKernel {
  std::string name;
  Program program;
};

/// Can it be the name of a C function?
bool is_c_identifier(const std::string& name);

/// `needs`: functions of libm or the user's that the object calls.
std::string c_header(const std::string& module_name, const Target& target,
                     const std::vector<HeaderKernel>& kernels, const std::vector<std::string>& needs);

}  // namespace lathe::driver
