#pragma once
// The manifest of an artefact: JSON, a version in it, the same bytes for the same build.

#include "driver/c_kernels.h"
#include "lathe/artefact.h"
#include "lathe/build.h"

namespace lathe::driver {

/// `artefact` holds all other files. `functions`: those of one level.
std::string manifest_text(const std::vector<NamedWorkload>& workloads, const std::vector<Target>& levels,
                          const Artefact& artefact, const std::vector<CKernel>& functions,
                          const BuildOptions& options);

struct Manifest {
  std::vector<std::string> files;     ///< other than the manifest
  std::vector<Digest> digests;        ///< of each
  std::vector<ArtefactLevel> levels;  ///< without `runs_here`
  std::vector<ArtefactKernel> kernels;
};

/// Throws UserError B005; `origin` names the file in it.
Manifest read_manifest(const std::string& text, const std::string& origin);

}  // namespace lathe::driver
