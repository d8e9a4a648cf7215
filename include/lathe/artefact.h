#pragma once
// Artefacts that `build` made, loaded into this process: for checking them on the machine they are meant for. (Production
// programs link the objects and include the header; they need none of this.)
//
//     LoadedArtefact a = LoadedArtefact::load("build/kernels", "kernels");
//     for (const ArtefactKernel& kernel : a.kernels()) a.function(kernel.name)(buffers, sizes);

#include <memory>
#include <string>
#include <vector>

#include "lathe/build.h"
#include "lathe/runtime/c_api.h"

namespace lathe {

struct ArtefactKernel {
  std::string name, workload;
  Program program;  ///< as written: what the kernel must compute
  struct Prepared {
    std::size_t tensor = 0;  ///< position among the program's buffer parameters
    std::int64_t bytes = 0;  ///< that NAME_prepare fills; -1 when a run-time size decides
  };
  std::vector<Prepared> prepared;  ///< constants, in the order of NAME_prepare's parameters
  std::vector<BuiltSchedule> schedules;
};

struct ArtefactLevel {
  Target target;
  std::uint64_t features = 0;  ///< as lathe_cpu_features() numbers them
  bool runs_here = false;
};

class LoadedArtefact {
 public:
  /// Reads NAME.json in the folder, checks every file against it and links the objects. Throws UserError: C005 unreadable,
  /// B005 another version, damaged, or files that are not those of the manifest.
  static LoadedArtefact load(const std::string& folder, const std::string& name = "kernels");

  const std::vector<ArtefactKernel>& kernels() const;
  /// In the order in which they are tried.
  const std::vector<ArtefactLevel>& levels() const;
  /// NAME_kernel of the artefact: it runs the first level that `lathe_cpu_features` allows.
  lathe_kernel function(const std::string& name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace lathe
