#pragma once
// Damaging texts: what files, logs and command lines look like after a merge gone wrong, a disk that lied, or a hand that slipped.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/schedule_fuzzer/random.h"

namespace lathe::fuzz {

/// Changes one to three places of `text`: bytes changed, put in or taken out; ranges dropped, doubled or exchanged; the end
/// cut off; numbers replaced by edge values; words of `words` put in; brackets nested by the thousand.
std::string damaged(std::string text, const std::vector<std::string>& words, Random& random);

/// Changes one element of a document: erases it, adds to it, shifts a number, or replaces it by one of `values` or by another
/// element of the document.
void damage(nlohmann::json& document, const std::vector<nlohmann::json>& values, Random& random);

/// Numbers, texts and containers that fit badly anywhere.
const std::vector<nlohmann::json>& odd_values();

}  // namespace lathe::fuzz
