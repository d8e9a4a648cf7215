#include "tuner/session/shipped_model.h"

#include "lathe/error.h"
#include "tuner/features/statement_features.h"

namespace lathe::tuner {

/// The file tuner/session/shipped/x86_64_avx2.model (cmake/EmbedFile.cmake).
extern const unsigned char kShippedModel[];
extern const std::size_t kShippedModelSize;

namespace {

std::shared_ptr<const PretrainedModel> load() {
  try {
    return std::make_shared<PretrainedModel>(
        PretrainedModel::from_bytes({kShippedModel, kShippedModelSize}, "shipped model",
                                    statement_feature_set(), statement_feature_names().size()));
  } catch (const UserError&) {
    return nullptr;  // of other features: it would mean nothing
  }
}

}  // namespace

std::shared_ptr<const PretrainedModel> shipped_model(const Target& target) {
  if (!target.is_cpu()) return nullptr;
  const CpuTarget& cpu = target.cpu();
  if (cpu.arch != "x86_64" || cpu.vector_bits != 256 || cpu.vector_registers != 16) return nullptr;
  static const std::shared_ptr<const PretrainedModel> model = load();
  return model;
}

bool shipped_model_is_current() { return load() != nullptr; }

}  // namespace lathe::tuner
