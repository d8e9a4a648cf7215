#pragma once
// The row of numbers that describes one innermost store to a cost model.
//
// After Ansor (Zheng et al. 2020): arithmetic by kind, annotations, and for the five accesses with most traffic what they
// touch and reuse, a curve of arithmetic intensity from the innermost loop outwards; and what the CPU's own limits make
// of it (accumulators, traffic into each cache level, parallel fill, the analytic draft's parts). Magnitudes are
// slog2(x) = sign(x)·log2(1 + |x|). Every row has the same length.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tuner/features/cpu_draft.h"
#include "tuner/model/features.h"

namespace lathe::tuner {

/// The columns' names, in order.
const std::vector<std::string>& statement_feature_names();
/// What model files are bound to (model_file.h): changes when a column does.
std::uint64_t statement_feature_set();

/// Appends one row for each statement of the program, and ends it.
void add_features(const ProgramView& program, const CpuModel& cpu, FeatureTable& table);

}  // namespace lathe::tuner
