#pragma once
// What an x86 CPU is, from what it says of itself.

#include <string>
#include <vector>

#include "lathe/target.h"
#include "runtime/cpu_features.h"

namespace lathe {

using runtime::ask_cpuid;
using runtime::CpuidAnswers;

/// The features of feature_table("x86_64") that the CPU has and the system has enabled, sorted.
std::vector<std::string> features_of(const CpuidAnswers& cpu);

/// LLVM's name; the level of the psABI ("x86-64-v3") for a CPU that is not in our list.
std::string microarchitecture_of(const CpuidAnswers& cpu, const std::vector<std::string>& features);

}  // namespace lathe
