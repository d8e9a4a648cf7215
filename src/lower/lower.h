#pragma once
// Lowering: from a scheduled program in block form to loops that a back end prints one to one.
//
// The passes are a table (name, function, check), each printable, timed and checked. The lowered form has
//   - no blocks, no regions; intermediates are Allocate; scalars that are computed once are Let;
//   - every buffer one-dimensional (one subscript, in elements, row-major); subscripts of index_type,
//   narrowed to
//     DataType{Index, 32} where proved safe;
//   - For of kind Serial, Parallel (outermost only, never nested) or, for the GPU, ThreadBound; Vectorized
//   and Unrolled
//     are gone;
//   - vectors of at most the target's native width, or a small multiple, as Ramp / Broadcast / vector
//   operators; loads and
//     stores of lanes that may be off carry masks. A vector Select may be evaluated eagerly (loads and
//     divisions under it were masked); a scalar Select must branch when a side loads;
//   - fma formed; no intrinsic that the target's back end does not know, bf16/f16 arithmetic legalised to f32
//   where the
//     target has none.

#include <functional>

#include "lathe/program.h"
#include "lathe/target.h"

namespace lathe::lower {

/// The note of a block's math mode (`Schedule::math`). Lowered, a loop of one iteration has it, round what a block of mode
/// "MathMode::Fast" computes.
inline constexpr const char* kMathNote = "math";

struct Options {
  bool form_fma = true;   ///< contract a*b + c
  bool partition = true;  ///< cut loops so that the steady state has no guard
  bool vectorize = true;  ///< false: vectorised loops run serially (for references and debugging)
  bool unroll = true;     ///< false: unrolled loops stay loops
  std::int64_t stack_limit = 64 * 1024;  ///< bytes; larger temporaries come from the workspace
  /// Called after each pass with its name and the program.
  std::function<void(const char* pass, const Program&)> on_pass;
};

struct Pass {
  const char* name;
  const char* summary;  ///< one line for `lathe show --after`
  Program (*run)(const Program&, const Target&, const Options&);
};
/// In the order they run for the target.
const std::vector<Pass>& passes(const Target& target);

/// Runs them all. The program must be scheduled legally (`verify` has passed); throws InternalError
/// otherwise.
Program lower(const Program& program, const Target& target, const Options& options = {});

}  // namespace lathe::lower
