#pragma once
// A scheduled program as a cost model sees it: for each innermost store its loops, its arithmetic, and what each of its
// accesses touches while the inner loops run.
//
//     for i_0 (parallel)             level 0    elements[0] = all that the statement ever touches
//       for k_0                      level 1
//         for i_1 (unrolled)         level 2    elements[2] = what one iteration of k_0 touches
//           for j_1 (vectorised)     level 3    the *body*: from here inwards only unrolled and vectorised loops
//             C[..] += A[..]*B[..]   level 4    elements[4] = 1
//
// It is read off the block form, without lowering.

#include <cstdint>
#include <string>
#include <vector>

#include "lathe/program.h"
#include "lathe/target.h"
#include "tuner/features/index_form.h"

namespace lathe::tuner {

/// Operations of one iteration.
struct OperationCounts {
  double float_multiply_add = 0, float_add = 0, float_multiply = 0, float_divide = 0, float_compare = 0,
         float_math = 0;
  double int_add = 0, int_multiply = 0, int_divide = 0, int_compare = 0;
  double logic = 0, select = 0, convert = 0, other = 0;
  double floating() const {
    return 2 * float_multiply_add + float_add + float_multiply + float_divide + float_compare + float_math;
  }
  double integral() const { return int_add + int_multiply + int_divide + int_compare; }
  double all() const {
    return float_multiply_add + float_add + float_multiply + float_divide + float_compare + float_math +
           integral() + logic + select + convert + other;
  }
};

struct LoopView {
  const VarNode* var = nullptr;
  std::int64_t extent = 1;
  ForKind kind = ForKind::Serial;
};

struct AccessView {
  const BufferNode* buffer = nullptr;
  bool read = false, written = false;
  std::int64_t element_bytes = 4;
  std::vector<std::int64_t> stride;  ///< elements that an iteration of each loop moves the address
  std::vector<double> elements,
      lines;  ///< touched by the loops from a level inwards; one more than there are loops
  bool local() const { return buffer->scope == Scope::Local || buffer->scope == Scope::Fragment; }
};

struct StatementView {
  std::string block;
  std::vector<LoopView> loops;  ///< outermost first
  std::vector<std::int64_t> extents;
  OperationCounts operations;
  std::vector<AccessView> accesses;  ///< the written one first
  bool reduction = false, guarded = false;
  double useful =
      1;  ///< share of the iterations that the predicate lets through, as far as the block's domains tell
  int bits = 32;  ///< of the stored elements

  double iterations(std::size_t from, std::size_t to) const;
  double iterations() const { return iterations(0, loops.size()); }
  /// The first level from which on all loops are unrolled, vectorised or of one iteration.
  std::size_t body = 0;
  /// The vectorised loop, or -1.
  int vector_loop = -1;
};

struct ProgramView {
  std::vector<StatementView> statements;
  double temporary_bytes = 0;      ///< of all intermediate buffers that are not local
  double largest_local_bytes = 0;  ///< that one body touches of a local buffer
};

ProgramView view(const Program& program);

}  // namespace lathe::tuner
