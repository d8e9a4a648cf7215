#include "driver/manifest.h"

#include <nlohmann/json.hpp>

#include "codegen/llvm/version.h"
#include "runtime/cpu_features.h"
#include "support/error_codes/build.h"
#include "support/json_depth.h"

namespace lathe::driver {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kManifestFormat = 1;
constexpr int kMaxBrackets = 5000;  ///< programs have up to 4000

/// The constants that NAME_prepare prepares, with their positions among the tensors of NAME.
Json prepared_json(const std::string& name, const std::vector<CKernel>& functions) {
  Json out = Json::array();
  const CKernel *prepare = nullptr, *kernel = nullptr;
  for (const CKernel& f : functions) {
    if (f.name == name) kernel = &f;
    if (f.name == name + "_prepare" && f.prepares) prepare = &f;
  }
  if (!prepare || !kernel) return out;
  for (const Param& p : prepare->shown->params) {
    if (p.role != ParamRole::Output) continue;
    std::size_t tensor = 0, at = 0;
    for (const Param& q : kernel->shown->params) {
      if (!q.buffer) continue;
      if (q.name() == p.name()) tensor = at;
      ++at;
    }
    out.push_back(
        {{"parameter", p.name()}, {"tensor", tensor}, {"bytes", as_int(p.buffer->shape[0]).value_or(-1)}});
  }
  return out;
}

Json schedules_json(const std::string& kernel, const Artefact& artefact) {
  Json out = Json::array();
  for (const BuiltSchedule& s : artefact.schedules)
    if (s.kernel == kernel)
      out.push_back({{"target", s.target},
                     {"from", s.recorded ? "record" : "default schedule"},
                     {"record", s.record},
                     {"note", s.note}});
  return out;
}

}  // namespace

std::string manifest_text(const std::vector<NamedWorkload>& workloads, const std::vector<Target>& levels,
                          const Artefact& artefact, const std::vector<CKernel>& functions,
                          const BuildOptions& options) {
  Json files = Json::array(), targets = Json::array(), kernels = Json::array();
  for (const BuiltFile& file : artefact.files)
    files.push_back(
        {{"name", file.name}, {"bytes", file.content.size()}, {"digest", digest_of(file.content).hex()}});
  for (const Target& t : levels)
    targets.push_back({{"fingerprint", t.fingerprint().hex()}, {"target", Json::parse(t.to_json())}});
  for (const NamedWorkload& w : workloads) {
    const std::string name = options.prefix + w.name;
    kernels.push_back({{"name", name},
                       {"workload", w.workload.spec},
                       {"prepared", prepared_json(name, functions)},
                       {"schedules", schedules_json(name, artefact)},
                       {"program_hash", structural_hash(w.workload.program).hex()},
                       {"program", Json::parse(to_json(w.workload.program))}});
  }
  const Json manifest = {{"lathe_artefact", kManifestFormat},
                         {"name", options.name},
                         {"lathe", version()},
                         {"llvm", codegen::cpu::llvm_version()},
                         {"runtime_abi", LATHE_RUNTIME_ABI},
                         {"files", files},
                         {"targets", targets},
                         {"kernels", kernels}};
  return manifest.dump(1) + "\n";
}

Manifest read_manifest(const std::string& text, const std::string& origin) {
  Manifest out;
  if (bracket_deeper_than(text, kMaxBrackets) > 0)
    throw UserError(code::B005, "artefact \"" + origin +
                                    "\": its manifest is damaged: it nests brackets more than " +
                                    std::to_string(kMaxBrackets) + " deep");
  try {
    const Json manifest = Json::parse(text);
    if (manifest.at("lathe_artefact") != kManifestFormat || manifest.at("runtime_abi") != LATHE_RUNTIME_ABI)
      throw UserError(code::B005, "artefact \"" + origin + "\": it has format " +
                                      manifest.at("lathe_artefact").dump() + " and runtime ABI " +
                                      manifest.at("runtime_abi").dump() + ", this Lathe has " +
                                      std::to_string(kManifestFormat) + " and " +
                                      std::to_string(LATHE_RUNTIME_ABI) + "; build it again");
    for (const Json& file : manifest.at("files")) {
      out.files.push_back(file.at("name").get<std::string>());
      out.digests.push_back(Digest::parse(file.at("digest").get<std::string>()).value_or(Digest()));
    }
    for (const Json& level : manifest.at("targets")) {
      ArtefactLevel& l = out.levels.emplace_back();
      l.target = Target::from_json(level.at("target").dump(), origin);
      for (const std::string& feature : l.target.cpu().features)
        l.features |= runtime::feature_bit(l.target.cpu().arch, feature).value_or(0);
    }
    for (const Json& kernel : manifest.at("kernels")) {
      ArtefactKernel& k = out.kernels.emplace_back();
      k.name = kernel.at("name").get<std::string>();
      k.workload = kernel.at("workload").get<std::string>();
      k.program = program_from_json(kernel.at("program").dump());
      for (const Json& p : kernel.at("prepared"))
        k.prepared.push_back({p.at("tensor").get<std::size_t>(), p.at("bytes").get<std::int64_t>()});
      for (const Json& s : kernel.at("schedules"))
        k.schedules.push_back({k.name, k.workload, s.at("target").get<std::string>(),
                               s.at("from") == "record", s.at("record").get<std::string>(),
                               s.at("note").get<std::string>()});
    }
  } catch (const nlohmann::json::exception& e) {
    throw UserError(code::B005, "artefact \"" + origin + "\": its manifest is damaged: " + e.what());
  }
  return out;
}

}  // namespace lathe::driver
