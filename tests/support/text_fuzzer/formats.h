#pragma once
// Every text that Lathe reads from outside, with undamaged samples of it, and what must hold of any text given in its place:
// it is refused with a UserError, or it means something that prints, comes back as itself and can be gone on with. Nothing
// else may happen: no crash, no other exception, no InternalError.

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/text_fuzzer/damage.h"

namespace lathe::fuzz {

/// A text was accepted, and something that must hold of it does not.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void must(bool holds, const char* what) {
  if (!holds) throw Violation(what);
}

struct Format {
  std::string name;
  std::vector<std::string> samples = {};
  std::vector<std::string> words = {};  ///< of its vocabulary, put in by `damaged`
  bool json = false;                    ///< damaged as a document as well; `lines`: one line of it
  bool lines = false;
  /// Reads a text that was made from sample `sample`. Throws UserError where it is refused.
  std::function<void(const std::string& text, std::size_t sample)> read = {};
};

/// Specifications, targets, targets in JSON; programs and traces in JSON; logs and databases of records; manifests; models;
/// frames from a worker.
std::vector<Format> formats();

std::vector<Format> language_formats();
std::vector<Format> store_formats();
std::vector<Format> file_formats();

struct Outcome {
  bool accepted = false;
  std::string failure;  ///< "" when all is well
};

/// The input of a seed, made from one sample of the format.
std::string input_of(const Format& format, std::uint64_t seed, std::size_t& sample);
Outcome try_text(const Format& format, const std::string& text, std::size_t sample);

}  // namespace lathe::fuzz
