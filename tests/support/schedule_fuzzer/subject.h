#pragma once
// What a schedule fuzzer schedules: an operator of the library at a random shape, or a random program of the
// tensor-expression language, made by a seed alone.

#include <string>
#include <vector>

#include "lathe/interp.h"
#include "lathe/program.h"

namespace lathe::fuzz {

struct Subject {
  std::string what;  ///< the specification, or the seed of the random program
  Program program;
  std::vector<std::int64_t> sizes;  ///< of its run-time sizes
  /// How far floats may be apart, relative to max(|value|, 1). 0: equal bits, for programs whose every intermediate
  /// value is an integer that its type represents, in any order of summation.
  double tolerance = 0;
  std::vector<interp::Array> inputs;
  std::vector<interp::Array> expected;  ///< the outputs of the unscheduled program, by the interpreter
};

Subject make_subject(std::uint64_t seed);

/// A random program: one to four stages of elementwise maps, stencils, padding, reductions, argmax, gathers, reshapes,
/// tuples, with extents round vector widths, 1 and 0, some of them run-time sizes.
Program random_program(std::uint64_t seed, std::vector<std::int64_t>& sizes);

}  // namespace lathe::fuzz
