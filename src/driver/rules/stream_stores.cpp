// Where the operands and results of a program do not fit the last cache together, its results go past the caches: nobody
// would find them there, and an ordinary store reads each line first. A small result beside large operands stays.

#include "driver/rules/rule.h"

namespace lathe::rules {
namespace {

constexpr double kLargeResult = 0.25;  ///< of the last cache; a smaller one is still there when it is read

bool applies(Schedule& s, BlockRef b, const Context& c) {
  const Block& block = s.get(b);
  if (block.is_reduction() || block.writes.size() != 1 || !writes_output(s, b)) return false;
  const double cache = static_cast<double>(c.last_level_bytes());
  double bytes = 0;
  for (const Param& p : s.program()->params) {
    if (p.buffer.defined()) bytes += bytes_of(p.buffer);
  }
  return bytes >= cache && bytes_of(block.writes[0].buffer) >= kLargeResult * cache &&
         has_loop_of_kind(s, b, ForKind::Vectorized);
}

void apply(Schedule& s, BlockRef b, const Context&) { s.store_hint(b, true); }

}  // namespace

const Rule stream_stores = {"stream_stores", "let results bypass caches that do not hold the operands",
                            applies, apply};

}  // namespace lathe::rules
