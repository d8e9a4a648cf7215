#pragma once
// The cost model that comes with Lathe: what a session believes of a CPU's schedules before its first measurement.
//
// It was learned from tuning sessions of one CPU (docs/measurements.md says which, and how well it orders workloads that it
// never saw) and is part of the program. It serves the kind of CPU it knows, with warm caches; for another the analytic
// draft is the better start. `lathe model train` makes one for any machine.

#include <memory>

#include "lathe/target.h"
#include "tuner/model/pretrained.h"

namespace lathe::tuner {

/// The shipped model where it fits `target` and this build's features, else null.
std::shared_ptr<const PretrainedModel> shipped_model(const Target& target);

/// Whether the shipped model was made for the features that this build computes. Where it is not, it has to be trained
/// again: `lathe model train --trees 100 --depth 5 -o tuner/session/shipped/x86_64_avx2.model`.
bool shipped_model_is_current();

}  // namespace lathe::tuner
