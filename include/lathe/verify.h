#pragma once
// Do the kernels of an artefact compute what they should, on this machine?

#include <string>
#include <vector>

#include "lathe/artefact.h"
#include "lathe/tuner.h"

namespace lathe {

/// A kernel in its version for one target.
struct VerifiedKernel {
  std::string kernel, target;
  bool ran =
      false;  ///< this machine has what the version needs, and no size of the program is known at run time only
  std::string note;  ///< why it did not run, or what is wrong
  double error = 0;  ///< greatest |difference| / tolerance of one element
  bool right() const { return ran && note.empty(); }
};

/// Runs every kernel in every version that this machine has, on signed random data with edge values and on small integers,
/// and compares with the unscheduled program (the rules of tuner/measure/verify.h). What the process sees of the CPU's
/// features is limited meanwhile, so no other kernel of the process may run.
std::vector<VerifiedKernel> verify_artefact(const LoadedArtefact& artefact);

}  // namespace lathe
