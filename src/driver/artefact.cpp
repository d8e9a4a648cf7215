#include "lathe/artefact.h"

#include <algorithm>
#include <filesystem>

#include "codegen/llvm/compile.h"
#include "driver/files.h"
#include "driver/manifest.h"
#include "support/error_codes/build.h"

namespace lathe {

struct LoadedArtefact::State {
  driver::Manifest manifest;
  codegen::cpu::LoadedCode code;
};

LoadedArtefact LoadedArtefact::load(const std::string& folder, const std::string& name) {
  const std::filesystem::path root(folder);
  const std::string origin = (root / (name + ".json")).string();
  auto state = std::make_shared<State>();
  state->manifest = driver::read_manifest(driver::read_file(origin), origin);
  std::vector<std::vector<char>> objects;
  for (std::size_t i = 0; i < state->manifest.files.size(); ++i) {
    const std::string& file = state->manifest.files[i];
    const std::string content = driver::read_file((root / file).string());
    if (digest_of(content) != state->manifest.digests[i])
      throw UserError(code::B005,
                      "artefact \"" + origin + "\": \"" + file + "\" is not the file that was built");
    if (file.ends_with(".o")) objects.emplace_back(content.begin(), content.end());
  }
  const Target host = Target::host();
  for (ArtefactLevel& level : state->manifest.levels)
    level.runs_here = level.target.is_cpu() && level.target.cpu().arch == host.cpu().arch &&
                      std::ranges::all_of(level.target.cpu().features,
                                          [&](const std::string& f) { return host.cpu().has(f); });
  state->code = codegen::cpu::load(objects, name);
  LoadedArtefact out;
  out.state_ = std::move(state);
  return out;
}

const std::vector<ArtefactKernel>& LoadedArtefact::kernels() const { return state_->manifest.kernels; }
const std::vector<ArtefactLevel>& LoadedArtefact::levels() const { return state_->manifest.levels; }
lathe_kernel LoadedArtefact::function(const std::string& name) const {
  return reinterpret_cast<lathe_kernel>(state_->code.find(name + "_kernel"));
}

}  // namespace lathe
