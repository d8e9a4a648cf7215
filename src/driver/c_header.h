#pragma once
// The C header beside an object file of kernels.

#include <string>
#include <vector>

#include "driver/c_kernels.h"
#include "lathe/target.h"

namespace lathe::driver {

/// Can it be the name of a C function?
bool is_c_identifier(const std::string& name);

/// Throws UserError C003 for kernels whose functions no C program can have, or which would be called alike.
void check_names(const std::vector<std::string>& names);

/// `targets` names them for the reader. `needs`: functions of libm or the user's that the object calls.
std::string c_header(const std::string& module_name, const std::string& targets,
                     const std::vector<CKernel>& kernels, const std::vector<std::string>& needs);

}  // namespace lathe::driver
