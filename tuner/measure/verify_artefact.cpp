#include "lathe/verify.h"
#include "tuner/measure/verify.h"

namespace lathe {
namespace {

/// While it lives, kernels see these features of the CPU alone.
class LimitedFeatures {
 public:
  explicit LimitedFeatures(std::uint64_t features) { lathe_limit_cpu_features(features); }
  ~LimitedFeatures() { lathe_limit_cpu_features(~std::uint64_t{0}); }
  LimitedFeatures(const LimitedFeatures&) = delete;
  LimitedFeatures& operator=(const LimitedFeatures&) = delete;
};

void fail_unless_done(std::int32_t code, const std::string& name) {
  if (code != LATHE_OK)
    throw std::runtime_error(name + " returned " + std::to_string(code) + ": " + lathe_last_error());
}

/// Prepares the constants and calls the kernel.
void call(const LoadedArtefact& artefact, const ArtefactKernel& kernel, std::vector<void*> addresses) {
  std::vector<runtime::Tensor> prepared;
  std::vector<void*> once;
  for (const ArtefactKernel::Prepared& p : kernel.prepared) {
    prepared.emplace_back(u8, std::vector<std::int64_t>{p.bytes});
    once.push_back(addresses.at(p.tensor));
  }
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    once.push_back(prepared[i].data());
    addresses[kernel.prepared[i].tensor] = prepared[i].data();
  }
  if (!prepared.empty())
    fail_unless_done(artefact.function(kernel.name + "_prepare")(once.data(), nullptr),
                     kernel.name + "_prepare");
  fail_unless_done(artefact.function(kernel.name)(addresses.data(), nullptr), kernel.name);
}

/// A kernel's programs and data, made once for all its versions.
class Verification {
 public:
  explicit Verification(const ArtefactKernel& kernel)
      : kernel_(kernel),
        random_(kernel.program, tuner::Data::Random),
        integers_(kernel.program, tuner::Data::Integers),
        memory_(u8, {static_cast<std::int64_t>(tuner::Reference::bytes(kernel.program))}),
        reference_(kernel.program, memory_.data()) {
    reference_.compute(Target::host());
  }

  void run(const LoadedArtefact& artefact, VerifiedKernel& out) {
    out.ran = true;
    Measurement m;
    if (compare(artefact, random_, tuner::Data::Random, m) && reference_.exact())
      compare(artefact, integers_, tuner::Data::Integers, m);
    out.error = m.max_error;
    if (m.failure != records::Failure::None)
      out.note = std::string(records::to_string(m.failure)) + ": " + m.error_text;
  }

 private:
  bool compare(const LoadedArtefact& artefact, const tuner::Inputs& inputs, tuner::Data data,
               Measurement& m) {
    tuner::Arguments arguments = inputs.arguments();
    call(artefact, kernel_, arguments.addresses());
    return reference_.accepts(m, arguments, data);
  }

  const ArtefactKernel& kernel_;
  tuner::Inputs random_, integers_;
  runtime::Tensor memory_;
  tuner::Reference reference_;
};

bool has_sizes(const Program& program) {
  for (const Param& p : program->params)
    if (p.role == ParamRole::Size) return true;
  return false;
}

}  // namespace

std::vector<VerifiedKernel> verify_artefact(const LoadedArtefact& artefact) {
  std::vector<VerifiedKernel> out;
  for (const ArtefactKernel& kernel : artefact.kernels()) {
    std::optional<Verification> verification;
    for (const ArtefactLevel& level : artefact.levels()) {
      VerifiedKernel& result = out.emplace_back(VerifiedKernel{kernel.name, level.target.name, false, {}, 0});
      if (!level.runs_here) {
        result.note = "this machine has not all its features";
        continue;
      }
      if (has_sizes(kernel.program)) {
        result.note = "its sizes are known at run time only";
        continue;
      }
      const LimitedFeatures limit(level.features);
      try {
        if (!verification) verification.emplace(kernel);
        verification->run(artefact, result);
      } catch (const std::exception& e) {
        result.note = e.what();
      }
    }
  }
  return out;
}

}  // namespace lathe
